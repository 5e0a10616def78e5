"""001 Figures 3, 6 and 8: how many connections meet on links or switches, by routes alone."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from allemande import _core
from allemande.errors import BadInput
from allemande.flow_limit import flow_limit
from allemande.plot_look import COLOURS, save, share_legend, styled_canvas
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.stream_pairs import mappings, stream_pairs
from allemande.topology import Cluster

TOLERANCE = 1e-9


@dataclass(frozen=True)
class _Line:
    label: str
    loads: list[list[float]]  # of every place, the largest first; by mapping

    def take(self, what: str) -> float:
        """`most`, `idle` (places), `most of mean`, `at most` (places as loaded as the fullest)."""
        match what:
            case "most":
                return fmean(loads[0] for loads in self.loads)
            case "idle":
                return fmean(sum(load == 0 for load in loads) for loads in self.loads)
            case "most of mean":
                return fmean(loads[0] / fmean(loads) for loads in self.loads)
            case "at most":
                return fmean(
                    sum(load > loads[0] - TOLERANCE for load in loads) for loads in self.loads
                )
        raise BadInput(f"take {what!r} is unknown; expected most, idle, most of mean or at most")


def _places(cluster: Cluster, pattern: str) -> dict[str, float]:
    """Ports `A -> B`, or switches, that the pattern names."""
    if "->" not in pattern:
        return {s.name: 0.0 for s in cluster.switches if fnmatchcase(s.name, pattern)}
    names = [f"{link.from_} -> {link.to}" for link in cluster.links]
    names += [f"{link.to} -> {link.from_}" for link in cluster.links if not link.one_way]
    return {name: 0.0 for name in names if fnmatchcase(name, pattern)}


def _loads(cluster: Cluster, data: dict[str, Any], mapping: int | None) -> list[float]:
    """Connections at each place; one whose messages take several routes counts in parts."""
    places = _places(cluster, data["places"])
    routes = _core.make_routes(cluster, data["routing"])
    messages = data.get("messages", 1)
    for from_, to in stream_pairs(cluster, data, mapping):
        for message in range(messages):
            for port in routes.path(from_, to, message):
                for place in (port, port.partition(" -> ")[2]):
                    if place in places:
                        places[place] += 1 / messages
    return sorted(places.values(), reverse=True)


def _split_at_will(experiment: Experiment, data: dict[str, Any]) -> float:
    """Connections on the fullest link if each could be split over any paths."""
    cluster = find_experiment_cluster(experiment, data["cluster"])
    size = 1_000_000
    rows = [[0] * len(cluster.hosts) for _ in cluster.hosts]
    index = {host.name: number for number, host in enumerate(cluster.hosts)}
    for from_, to in stream_pairs(cluster, data, None):
        rows[index[from_]][index[to]] = size
    rate = max(link.rate_up_mbit_s for link in cluster.links) * 1e6
    one_s = cluster.framed_bytes(size) * 8 / rate
    return flow_limit(cluster, None, rows).seconds / one_s


def run_route_loads(experiment: Experiment, _workers: int, watcher: Watcher) -> Outcome:
    """The curves of the experiment, and its rows."""
    data = experiment.data
    lines = {}
    for number, curve in enumerate(data["curve"], 1):
        own = {**data, **curve}
        cluster = find_experiment_cluster(experiment, own["cluster"])
        loads = [_loads(cluster, own, mapping) for mapping in mappings(own)]
        lines[curve["label"]] = _Line(curve["label"], loads)
        if watcher is not None:
            watcher(number / len(data["curve"]))
    rows = [
        experiment.row(
            row["point"],
            row.get("published"),
            lines[row["curve"]].take(row["take"])
            if "curve" in row
            else _split_at_will(experiment, data),
        )
        for row in data["row"]
    ]
    return Outcome(rows, lambda kind: _draw(experiment, list(lines.values()), kind))


def _draw(experiment: Experiment, lines: list[_Line], kind: str) -> bytes:
    with styled_canvas(6.4, 4.0) as canvas:
        axes = canvas.subplots()
        for index, line in enumerate(lines):
            means = [fmean(column) for column in zip(*line.loads, strict=True)]
            width = 0.8 / len(lines)
            places = [place + width * (index - (len(lines) - 1) / 2) for place in range(len(means))]
            axes.bar(places, means, width * 0.95, color=COLOURS[index], label=line.label)
        axes.set_xlabel(f"{experiment.data['what']}, the most loaded first")
        axes.set_ylabel("connections")
        axes.set_xticks([])
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
