"""Figures made of lines (curves.py), drawn in the look of the project's other plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from allemande.plot_look import COLOURS, INK, MARKERS, save, share_legend, styled_canvas
from allemande.quantities import format_seconds, format_size
from allemande.reproduce.curves import Curve, lab_points, rows_of, simulate_curves
from allemande.reproduce.experiment import Experiment, Outcome, Watcher

LAB_COLOURS = ("#6B7280", "#9AA3B2", "#4B5563", "#C4C9D2")
LABELS = {
    "goodput_mb_s": ("bandwidth per host, MB/s", "Achieved bandwidth"),
    "time_s": ("time of one exchange", "Execution time"),
    "fraction_of_limit": ("part of the physical limit", "Part of the limit"),
    "fraction_of_eq2": ("part of what Eq 2 allows", "Efficiency"),
    "per_packet_us": ("time per packet, \N{MICRO SIGN}s", "Per-packet overhead"),
    "dropped": ("packets dropped", "Packets dropped by full queues"),
}
X_LABELS = {
    "size": "message to each other host",
    "packets": "message length k, packets",
    "omega": "group size \N{GREEK SMALL LETTER OMEGA}",
    "hosts": "hosts p",
}
PANEL_INCHES = 5.6


def _draw_lab(axes: Axes, experiment: Experiment, metric: str, panel: dict[str, Any]) -> None:
    points = [one for one in lab_points(experiment) if metric in one and "void" not in one]
    labels = dict.fromkeys(point["label"] for point in points)
    shown = [label for label in labels if label in panel.get("lab_labels", labels)]
    for index, label in enumerate(shown):
        mine = [point for point in points if point["label"] == label]
        axes.plot(
            [point["size"] for point in mine],
            [point[metric] for point in mine],
            color=LAB_COLOURS[index % len(LAB_COLOURS)],
            marker=MARKERS[index + 3],
            markerfacecolor="white",
            linestyle=":",
            linewidth=1.4,
            label=f"{label.removeprefix(panel.get('prefix', ''))} (lab)",
        )


def _draw_bounds(axes: Axes, experiment: Experiment, metric: str) -> None:
    for bound in experiment.data.get("bound", []):
        if bound["metric"] != metric:
            continue
        axes.axhline(bound["value"], color=INK, linewidth=1.4)
        axes.annotate(
            bound["label"],
            (1.0, bound["value"]),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
        )


def _set_x(axes: Axes, experiment: Experiment) -> None:
    kind = experiment.data["x"]
    axes.set_xlabel(X_LABELS[kind])
    values = experiment.data["values"]
    if kind in ("size", "packets"):
        axes.set_xscale("log")
        ticks = experiment.data.get("ticks", values)
        names = [format_size(int(x)) if kind == "size" else f"{x:g}" for x in ticks]
        axes.set_xticks(ticks, names)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", which="minor", length=0)
        return
    axes.set_xticks(values)


def _set_y(axes: Axes, metric: str, log: bool) -> None:
    label, title = LABELS[metric]
    axes.set_ylabel(label)
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="y", which="minor", length=0)
    else:
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.05)
    if metric == "time_s":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    elif metric in ("dropped", "retransmitted") or log:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _draw_panel(
    axes: Axes, experiment: Experiment, curves: Sequence[Curve], panel: dict[str, Any]
) -> None:
    metric = panel["metric"]
    shown = [curve for curve in curves if curve.label in panel.get("curves", [curve.label])]
    # What the panel's title says already.
    prefix, suffix = panel.get("prefix", ""), panel.get("suffix", "")
    for index, curve in enumerate(shown):
        if curve.seeds > 1:
            axes.fill_between(
                [point.x for point in curve.points],
                curve.values(metric, "least"),
                curve.values(metric, "most"),
                color=COLOURS[index % len(COLOURS)],
                alpha=0.15,
                linewidth=0,
            )
        axes.plot(
            [point.x for point in curve.points],
            curve.values(metric),
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.7,
            linewidth=max(1.4, 2.6 - 0.4 * index),
            label=curve.label.removeprefix(prefix).removesuffix(suffix),
            zorder=5 - 0.1 * index,
        )
    if panel.get("lab", True):
        _draw_lab(axes, experiment, metric, panel)
    _draw_bounds(axes, experiment, metric)
    _set_x(axes, experiment)
    _set_y(axes, metric, panel.get("log", metric == "time_s"))
    if "bottom" in panel:
        axes.set_ylim(bottom=panel["bottom"])
    if "title" in panel:
        axes.set_title(panel["title"], loc="left", fontsize=11, fontweight="bold")


def _draw_curves(experiment: Experiment, curves: Sequence[Curve], kind: str) -> bytes:
    panels = experiment.data.get("panel", [{"metric": "goodput_mb_s"}])
    with styled_canvas(max(6.6, PANEL_INCHES * len(panels)), 4.6) as canvas:
        for axes, panel in zip(
            canvas.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            _draw_panel(axes, experiment, curves, panel)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)


def run_curves(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    curves = simulate_curves(experiment, workers, watcher)
    return Outcome(rows_of(experiment, curves), lambda kind: _draw_curves(experiment, curves, kind))
