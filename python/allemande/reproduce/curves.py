"""Figures made of lines: something about an exchange over message size, group size or hosts.

x = "size" | "packets" | "omega" | "hosts"     what `values` are
values = [1000, 2000]
seeds = 20                                      each point is run so often, with seeds from 1 on:
                                                lines and rows are medians, bands the whole spread
[options]                                       of every run
[[curve]]                                       one line; its options go before the common ones
label = "sync+GW+CA"
algorithm = "sync-shuffle"
seeds = 1                                       instead of the common number
[[published]]                                   one row of the comparison
point = "best bandwidth, MB/s"
curve = "sync+GW+CA"
metric = "goodput_mb_s"                         metrics.py
at = 1200000                                    or "best", "worst", "total", or "first":
                                                the first x where it is above 0
of_seeds = "least" | "most"                     instead of the median
lab = true                                      `curve` is what was measured in the lab under that
                                                label (lab_curves.py), `at` a size of it
against = "8x2, both"                           a part of that simulated curve's value
published = 7.67
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from allemande.errors import BadInput, Failed
from allemande.reproduce.cases import cluster_name, find_experiment_cluster, make_case
from allemande.reproduce.experiment import Experiment, Row, Watcher
from allemande.reproduce.kept_measurement import read_kept
from allemande.reproduce.metrics import METRICS, METRICS_LESS_IS_BETTER
from allemande.simulation.case import Result
from allemande.simulation.parallel import run_cases
from allemande.topology import Cluster

OF_SEEDS: dict[str, Callable[[Sequence[float]], float]] = {
    "median": median,
    "least": min,
    "most": max,
}


@dataclass(frozen=True)
class Point:
    x: float
    results: Sequence[Result]  # one for each seed


@dataclass(frozen=True)
class Curve:
    label: str
    points: Sequence[Point]
    cluster: Cluster
    model: Mapping[str, float]

    @property
    def seeds(self) -> int:
        return len(self.points[0].results)

    def of_seed(self, metric: str, index: int) -> list[float]:
        """Over x. A curve that was run once is the same for every seed."""
        measure = METRICS[metric]
        return [
            measure(point.results[index % self.seeds], self.cluster, self.model)
            for point in self.points
        ]

    def values(self, metric: str, of_seeds: str = "median") -> list[float]:
        by_seed = [self.of_seed(metric, index) for index in range(self.seeds)]
        return [OF_SEEDS[of_seeds](values) for values in zip(*by_seed, strict=True)]


def simulate_curves(experiment: Experiment, workers: int, watcher: Watcher) -> list[Curve]:
    data = experiment.data
    plan = [
        (curve, x, seed)
        for curve in data["curve"]
        for x in curve.get("values", data["values"])
        for seed in range(1, curve.get("seeds", data.get("seeds", 1)) + 1)
    ]
    cases = [make_case(experiment, curve, x, seed) for curve, x, seed in plan]
    results = run_cases(cases, workers, watcher)
    curves = []
    for curve in data["curve"]:
        by_x: dict[float, list[Result]] = {}
        for (mine, x, _), result in zip(plan, results, strict=True):
            if mine is curve:
                by_x.setdefault(x, []).append(result)
        points = [Point(x, found) for x, found in by_x.items()]
        cluster = find_experiment_cluster(experiment, cluster_name(experiment, curve))
        model = {**data.get("model", {}), **curve.get("model", {})}
        curves.append(Curve(curve["label"], points, cluster, model))
    return curves


def _first_x(curve: Curve, metric: str, of_seeds: str) -> float | None:
    """Where the metric first is above zero."""
    values = curve.values(metric, of_seeds)
    return next((p.x for p, value in zip(curve.points, values, strict=True) if value > 0), None)


def _pick(experiment: Experiment, curve: Curve, metric: str, at: Any, index: int) -> float:
    values = curve.of_seed(metric, index)
    match at:
        case "best":
            return min(values) if metric in METRICS_LESS_IS_BETTER else max(values)
        case "worst":
            return max(values) if metric in METRICS_LESS_IS_BETTER else min(values)
        case "total":
            return sum(values)
        case _:
            for point, value in zip(curve.points, values, strict=True):
                if point.x == at:
                    return value
    raise BadInput(f"{experiment.folder}: curve {curve.label!r} has no point at {at!r}")


def _ours(
    experiment: Experiment, by_label: Mapping[str, Curve], entry: Mapping[str, Any]
) -> float | None:
    metric, at = entry["metric"], entry["at"]
    if entry.get("lab", False):
        return _of_lab(experiment, by_label, entry)
    curve, of_seeds = by_label[entry["curve"]], entry.get("of_seeds", "median")
    if at == "first":
        return _first_x(curve, metric, of_seeds)
    # Another curve's value, or another point, with the same seed.
    other = None
    if "against" in entry or "at_against" in entry:
        other = by_label[entry.get("against", entry["curve"])]
    found = []
    for index in range(max(curve.seeds, other.seeds if other else 1)):
        one = _pick(experiment, curve, metric, at, index)
        if other is not None:
            one /= _pick(experiment, other, metric, entry.get("at_against", at), index)
        found.append(one / entry.get("bound", 1))
    return OF_SEEDS[of_seeds](found)


def lab_points(experiment: Experiment) -> list[dict[str, Any]]:
    """Measured in the lab and kept beside the experiment."""
    name = experiment.data.get("lab")
    return [] if name is None else list(read_kept(experiment.folder / name)["points"])


def _of_lab(
    experiment: Experiment, by_label: Mapping[str, Curve], entry: Mapping[str, Any]
) -> float:
    label, metric, at = entry["curve"], entry["metric"], entry["at"]
    found = next(
        (one for one in lab_points(experiment) if (one["label"], one["size"]) == (label, at)), None
    )
    if found is None or metric not in found:
        raise BadInput(
            f"{experiment.folder}: the lab has no {metric} of {label!r} at {at!r}; expected what "
            "--lab measures"
        )
    if "void" in found:
        raise Failed(
            f"{experiment.folder}: {label!r} at {at!r} is void: {found['void']}; take it out "
            "of the file of the lab's figures, and measure it again with --lab"
        )
    value = float(found[metric]) / float(entry.get("bound", 1))
    if "against" not in entry:
        return value
    return value / _pick(experiment, by_label[entry["against"]], metric, at, 0)


def rows_of(experiment: Experiment, curves: Sequence[Curve]) -> list[Row]:
    by_label = {curve.label: curve for curve in curves}
    return [
        Row(
            entry.get("figure", experiment.figure),
            f"{entry['curve']}: {entry['point']}",
            entry.get("published"),
            _ours(experiment, by_label, entry),
        )
        for entry in experiment.data.get("published", [])
    ]
