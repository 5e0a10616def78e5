"""How many receivers of an exchange lose packets at their switch port, over how late ranks start.

values: mean lateness in microseconds; `at`: the one whose rows are shown; `seeds`: runs of each.
A curve has options of its own, and its own `at` and `seeds` where these differ. Over TCP those
receivers count to which a connection waited for a time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from allemande.plot_look import line_style, save, share_legend, styled_canvas
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.simulation.case import Case, Result
from allemande.simulation.parallel import run_cases


@dataclass(frozen=True)
class _Point:
    """The runs of one lateness."""

    receivers: float  # share of the receivers that lost a packet
    exchanges: float  # share of the exchanges in which any did
    longest_queue: int  # packets
    of_limit: float  # mean
    waiting: float | None  # over TCP: share of the receivers that waited for a time-out

    @property
    def hit(self) -> float:
        return self.receivers if self.waiting is None else self.waiting


def _point(results: Sequence[Result], switch: str) -> _Point:
    ports = [
        [port for port in result.ports if port.name.startswith(f"{switch} -> ")]
        for result in results
    ]
    tcp = [result.raw["tcp"]["waiting_receivers"] for result in results if "tcp" in result.raw]
    waits = [count for of_run in tcp for count in of_run]
    hit = [sum(port.dropped > 0 for port in of_run) for of_run in ports]
    return _Point(
        sum(hit) / sum(len(of_run) for of_run in ports),
        sum(count > 0 for count in hit) / len(hit),
        max(port.queue_high_water for of_run in ports for port in of_run),
        sum(result.fraction_of_limit for result in results) / len(results),
        sum(waits) / (len(waits) * results[0].hosts) if waits else None,
    )


def run_port_losses(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    cluster = find_experiment_cluster(experiment, data["cluster"])
    size = int(data["size"])
    seeds = [int(curve.get("seeds", data["seeds"])) for curve in data["curve"]]
    cases = [
        Case(
            cluster,
            curve["algorithm"],
            size,
            "packet",
            {**curve.get("options", {}), "jitter_us": float(late), "seed": seed},
        )
        for curve, count in zip(data["curve"], seeds, strict=True)
        for late in data["values"]
        for seed in range(1, count + 1)
    ]
    results = iter(run_cases(cases, workers, watcher))
    switch = cluster.switches[0].name
    curves = [
        [_point([next(results) for _ in range(count)], switch) for _ in data["values"]]
        for count in seeds
    ]
    return Outcome(_rows_of(experiment, curves), lambda kind: _draw(experiment, curves, kind))


def _rows_of(experiment: Experiment, curves: Sequence[Sequence[_Point]]) -> list[Row]:
    data = experiment.data
    rows = []
    for curve, points in zip(data["curve"], curves, strict=True):
        at = curve.get("at", data["at"])
        point, published = points[data["values"].index(at)], curve.get("published", {})
        if point.waiting is not None:
            label = f"{curve['label']}: queries that wait for a time-out"
            rows.append(experiment.row(label, published.get("waiting"), point.waiting))
            continue
        for text, key, value in (
            ("queries that lose packets", "receivers", point.receivers),
            ("exchanges that lose packets", "exchanges", point.exchanges),
            ("longest queue, packets", "longest_queue", float(point.longest_queue)),
            ("part of the limit", "of_limit", point.of_limit),
        ):
            label = f"{curve['label']}: {text}"
            rows.append(experiment.row(label, published.get(key), value))
        rows += [
            experiment.row(
                f"{curve['label']}: part of the limit, {late:g} \N{MICRO SIGN}s late",
                None,
                other.of_limit,
            )
            for late, other in zip(data["values"], points, strict=True)
            if late < data["at"]
        ]
    return rows


def _lines(
    axes: Axes,
    experiment: Experiment,
    curves: Sequence[Sequence[_Point]],
    value: Callable[[_Point], float],
) -> None:
    values = experiment.data["values"]
    for index, (curve, points) in enumerate(zip(experiment.data["curve"], curves, strict=True)):
        axes.plot(
            range(len(values)),
            [value(point) for point in points],
            **line_style(index),
            label=curve["label"],
        )
    axes.set_xticks(range(len(values)), [f"{late:g}" for late in values])
    axes.set_xlabel("ranks start late by, mean, \N{MICRO SIGN}s")


def _draw(experiment: Experiment, curves: Sequence[Sequence[_Point]], kind: str) -> bytes:
    with styled_canvas(10, 4.4) as canvas:
        left, right = canvas.subplots(1, 2)
        _lines(left, experiment, curves, lambda point: point.hit)
        published = experiment.data["published_line"]
        left.axhline(published, color="#8a93a3", linestyle="--")
        left.annotate(
            experiment.data["published_label"],
            (0.0, published),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=8.5,
        )
        left.set_ylim(-0.02, 1.05)
        left.yaxis.set_major_formatter(PercentFormatter(1.0))
        left.set_title(
            "Queries that lose packets; TCP: that wait", loc="left", fontsize=11, fontweight="bold"
        )
        _lines(right, experiment, curves, lambda point: point.longest_queue)
        right.set_ylim(bottom=0)
        right.set_ylabel("packets")
        right.set_title("Longest queue at a port", loc="left", fontsize=11, fontweight="bold")
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
