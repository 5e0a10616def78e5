"""Patterns on networks that grow: all bits delivered per second, over networks and message sizes.

kind = "networks"
networks = [["1", "myrinet:1"], ["2", "myrinet:2"]]     what the axis says, and the cluster
sizes = [1536, 49152]                                   of a message
[options]                                               of every run
[[curve]]
label = "all-to-all"
algorithm = "direct"
options = { pattern = "alltoall-phased" }               or matrix, or nothing: an all-to-all
drawn = false                                           it has rows alone
[[panel]]                                               of the plot; without any: one of all curves
title = "Figure 12"
network = "1"                                           over message sizes; without: best sizes over
curves = ["all-to-all"]                                 the networks; without: all drawn
[[published]]                                           one row: a value, or its part of another
point = "all-to-all: bisection 9, of bisection 4"
value = ["all-to-all", "9"]                             the best size; with a third entry that size
of = ["all-to-all", "4"]
published = 1.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from allemande.plot_look import line_style, save, share_legend, styled_canvas
from allemande.quantities import format_size
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases

PANEL_INCHES = 4.8

# curve -> network -> size -> Gbit/s
Values = Mapping[str, Mapping[str, Mapping[int, float]]]


def run_networks(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
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
        experiment.row(
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
    panels = experiment.data.get("panel", [{}])
    drawn = [one["label"] for one in experiment.data["curve"] if one.get("drawn", True)]
    styles = {label: line_style(index) for index, label in enumerate(drawn)}
    with styled_canvas(max(6.4, PANEL_INCHES * len(panels)), 4.6) as canvas:
        for axes, panel in zip(
            canvas.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            for label in panel.get("curves", drawn):
                x, y = _line(experiment, values[label], panel)
                axes.plot(x, y, label=label, **styles[label])
            _dress(axes, experiment, panel)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)


def _line(
    experiment: Experiment, of_networks: Mapping[str, Mapping[int, float]], panel: Mapping[str, Any]
) -> tuple[Sequence[float], Sequence[float]]:
    if "network" in panel:
        of_sizes = of_networks[panel["network"]]
        return list(of_sizes), list(of_sizes.values())
    names = [str(name) for name, _ in experiment.data["networks"]]
    return range(len(names)), [max(of_networks[name].values()) for name in names]


def _dress(axes: Axes, experiment: Experiment, panel: Mapping[str, Any]) -> None:
    if "network" in panel:
        sizes = experiment.data["sizes"]
        axes.set_xscale("log")
        axes.set_xticks(sizes, [format_size(size) for size in sizes])
        axes.tick_params(axis="x", which="minor", length=0)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("bytes of a message")
        axes.set_ylabel("delivered, Gbit/s")
    else:
        names = [str(name) for name, _ in experiment.data["networks"]]
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel(str(experiment.data["x_label"]))
        axes.set_ylabel("delivered at the best size, Gbit/s")
    axes.set_ylim(bottom=0)
    if "title" in panel:
        axes.set_title(panel["title"], loc="left", fontsize=11, fontweight="bold")
