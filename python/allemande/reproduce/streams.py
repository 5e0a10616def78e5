"""001 Figures 5, 7 and 9: what streams between pairs of hosts reach together, by message size."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from allemande import _core
from allemande.errors import BadInput, Failed
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.line_plot import draw_lines
from allemande.reproduce.stream_pairs import mappings, stream_pairs
from allemande.simulation.parallel import SweepWatcher, spread
from allemande.topology import Cluster


@dataclass(frozen=True)
class _Run:
    cluster: Cluster
    pairs: list[tuple[str, str]]
    size: int
    duration_s: float
    warm_up_s: float
    options: dict[str, Any]


def _gbit_s(run: _Run, _: SweepWatcher | None) -> float | None:
    """All streams together; None where ports came to wait for each other."""
    try:
        found = _core.simulate_streams(
            run.cluster, run.pairs, run.size, run.duration_s, run.warm_up_s, run.options
        )
    except Failed:
        return None
    return float(sum(found["bit_s"])) / 1e9


@dataclass(frozen=True)
class _Line:
    label: str
    by_size: dict[int, list[float | None]]  # one for each mapping

    def mean(self, size: int) -> float:
        return fmean(value for value in self.by_size[size] if value is not None)

    @property
    def peak(self) -> float:
        return max(self.mean(size) for size in self.by_size)

    @property
    def standstills(self) -> float:
        """Part of the runs that came to a standstill; they count nowhere else."""
        runs = [value for values in self.by_size.values() for value in values]
        return sum(value is None for value in runs) / len(runs)


def run_streams(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    """The curves of the experiment, and its rows."""
    data = experiment.data
    plan = []
    for curve in data["curve"]:
        own = {**data, **curve}
        cluster = find_experiment_cluster(experiment, own["cluster"])
        options = {**data.get("options", {}), "routing": own["routing"]}
        for size in data["values"]:
            for mapping in mappings(own):
                pairs = stream_pairs(cluster, own, mapping)
                run = _Run(cluster, pairs, size, data["duration_s"], data["warm_up_s"], options)
                plan.append((curve["label"], size, run))
    lines = {curve["label"]: _Line(curve["label"], {}) for curve in data["curve"]}
    costs = [run.duration_s + run.warm_up_s for _, _, run in plan]
    found = spread(_gbit_s, [run for _, _, run in plan], costs, workers, watcher)
    for (label, size, _), value in zip(plan, found, strict=True):
        lines[label].by_size.setdefault(size, []).append(value)
    rows = [
        experiment.row(row["point"], row.get("published"), _value(lines, row))
        for row in data["row"]
    ]
    return Outcome(rows, lambda kind: _draw(experiment, list(lines.values()), kind))


def _value(lines: dict[str, _Line], row: dict[str, Any]) -> float:
    """The peak of a curve or its value `at` a size, as such or as part `of` another.

    `take`: the mean part over all sizes, or which runs came to a standstill.
    """
    match row.get("take"):
        case "standstills":
            return lines[row["curve"]].standstills
        case "mean":
            line, other = lines[row["curve"]], lines[row["of"]]
            return fmean(line.mean(size) / other.mean(size) for size in line.by_size)
        case None:
            pass
        case take:
            raise BadInput(f"take {take!r} is unknown; expected standstills, mean")

    def one(curve: str, at: int | None) -> float:
        return lines[curve].peak if at is None else lines[curve].mean(at)

    value = one(row["curve"], row.get("at"))
    return value / one(row["of"], row.get("of_at", row.get("at"))) if "of" in row else value


def _draw(experiment: Experiment, lines: list[_Line], kind: str) -> bytes:
    def dress(axes: Axes) -> None:
        axes.set_xscale("log", base=2)
        axes.set_xticks(experiment.data["values"], [str(v) for v in experiment.data["values"]])
        axes.tick_params("x", which="minor", bottom=False, labelbottom=False)
        axes.set_xlabel("bytes per message")
        axes.set_ylabel("all streams together, Gbit/s")

    drawn = [
        (one.label, list(one.by_size), [one.mean(size) for size in one.by_size]) for one in lines
    ]
    return draw_lines(experiment.title, drawn, dress, kind)
