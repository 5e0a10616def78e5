"""Patterns on networks that grow: all bits delivered per second, over networks and message sizes.

kind = "networks"
networks = [["1", "myrinet:1"], ["2", "myrinet:2"]]     what the axis says, and the cluster
sizes = [1536, 49152]                                   of a message
[options]                                               of every run
[[curve]]
label = "all-to-all"
algorithm = "direct"
options = { pattern = "alltoall-phased" }               or matrix, or nothing: an all-to-all
[[published]]                                           one row: a value, or its part of another
point = "all-to-all: bisection 9, of bisection 4"
value = ["all-to-all", "9"]                             the best size; with a third entry that size
of = ["all-to-all", "4"]
published = 1.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes

from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row
from allemande.reproduce.line_plot import draw_lines
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases

# curve -> network -> size -> Gbit/s
Values = Mapping[str, Mapping[str, Mapping[int, float]]]


def run_networks(
    experiment: Experiment, workers: int, watcher: Callable[[float], None] | None
) -> Outcome:
    data = experiment.data
    plan: list[tuple[str, str, int]] = []
    cases: list[Case] = []
    for name, text in data["networks"]:
        cluster = find_experiment_cluster(experiment, text)
        for curve in data["curve"]:
            options = {**data.get("options", {}), **curve.get("options", {})}
            algorithm = curve.get("algorithm", "sync-shuffle")
            for size in data["sizes"]:
                plan.append((curve["label"], name, size))
                cases.append(Case(cluster, algorithm, size, "packet", options))
    values: dict[str, dict[str, dict[int, float]]] = {}
    for (label, name, size), result in zip(plan, run_cases(cases, workers, watcher), strict=True):
        values.setdefault(label, {}).setdefault(name, {})[size] = result.delivered_gbit_s
    rows = [
        Row(
            experiment.figure,
            entry["point"],
            entry.get("published"),
            _value(values, entry["value"]) / (_value(values, entry["of"]) if "of" in entry else 1),
        )
        for entry in data["published"]
    ]
    return Outcome(rows, lambda kind: _draw(experiment, values, kind))


def _value(values: Values, where: Sequence[str | int]) -> float:
    """At one size, or the best."""
    label, name, *size = where
    of_sizes = values[str(label)][str(name)]
    return of_sizes[int(size[0])] if size else max(of_sizes.values())


def _draw(experiment: Experiment, values: Values, kind: str) -> bytes:
    names = [str(name) for name, _ in experiment.data["networks"]]
    places = range(len(names))

    def dress(axes: Axes) -> None:
        axes.set_xticks(places, names)
        axes.set_xlabel(str(experiment.data["x_label"]))
        axes.set_ylabel("delivered at the best size, Gbit/s")

    drawn = [
        (label, places, [max(of_networks[name].values()) for name in names])
        for label, of_networks in values.items()
    ]
    return draw_lines(experiment.title, drawn, dress, kind)
