"""Figures made of lines: something about an exchange over message size, group size or hosts.

x = "size" | "packets" | "omega" | "hosts"     what `values` are
values = [1000, 2000]
[options]                                       of every run
[[curve]]                                       one line; its options go before the common ones
label = "sync+GW+CA"
algorithm = "sync-shuffle"
[[published]]                                   one row of the comparison
point = "best bandwidth, MB/s"
curve = "sync+GW+CA"
metric = "goodput_mb_s"                         metrics.py
at = 1200000                                    or "best", "worst", "total", or "first":
                                                the first x where it is above 0
published = 7.67
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allemande.errors import BadInput
from allemande.reproduce.cases import cluster_name, find_experiment_cluster, make_case
from allemande.reproduce.experiment import Experiment, Row
from allemande.reproduce.metrics import METRICS, METRICS_LESS_IS_BETTER
from allemande.simulation.case import Result
from allemande.simulation.parallel import run_cases
from allemande.topology import Cluster


@dataclass(frozen=True)
class Point:
    x: float
    result: Result


@dataclass(frozen=True)
class Curve:
    label: str
    points: Sequence[Point]
    cluster: Cluster
    model: Mapping[str, float]

    def values(self, metric: str) -> list[float]:
        return [METRICS[metric](point.result, self.cluster, self.model) for point in self.points]


def simulate_curves(
    experiment: Experiment, workers: int, watcher: Callable[[float], None] | None
) -> list[Curve]:
    plan = [
        (curve, x)
        for curve in experiment.data["curve"]
        for x in curve.get("values", experiment.data["values"])
    ]
    results = run_cases([make_case(experiment, curve, x) for curve, x in plan], workers, watcher)
    curves = []
    for curve in experiment.data["curve"]:
        points = [
            Point(x, result)
            for (mine, x), result in zip(plan, results, strict=True)
            if mine is curve
        ]
        cluster = find_experiment_cluster(experiment, cluster_name(experiment, curve))
        model = {**experiment.data.get("model", {}), **curve.get("model", {})}
        curves.append(Curve(curve["label"], points, cluster, model))
    return curves


def _first_x(curve: Curve, metric: str) -> float | None:
    """Where the metric first is above zero."""
    values = curve.values(metric)
    return next((p.x for p, value in zip(curve.points, values, strict=True) if value > 0), None)


def _pick(experiment: Experiment, curve: Curve, metric: str, at: Any) -> float:
    values = curve.values(metric)
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


def rows_of(experiment: Experiment, curves: Sequence[Curve]) -> list[Row]:
    by_label = {curve.label: curve for curve in curves}
    rows = []
    for entry in experiment.data.get("published", []):
        metric, at = entry["metric"], entry["at"]
        curve = by_label[entry["curve"]]
        ours = _first_x(curve, metric) if at == "first" else _pick(experiment, curve, metric, at)
        if "against" in entry or "at_against" in entry:  # another curve's value, or another point
            other = by_label[entry.get("against", entry["curve"])]
            ours = (ours or 0.0) / _pick(experiment, other, metric, entry.get("at_against", at))
        if "bound" in entry and ours is not None:
            ours /= entry["bound"]
        rows.append(
            Row(
                entry.get("figure", experiment.figure),
                f"{entry['curve']}: {entry['point']}",
                entry.get("published"),
                ours,
            )
        )
    return rows
