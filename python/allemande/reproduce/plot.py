"""Figures as SVG or PNG, in the look of the project's other plots."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from allemande.bench.formats import format_seconds
from allemande.cli.topology import format_size
from allemande.report.plot import INK, STYLE
from allemande.reproduce.curves import Curve
from allemande.reproduce.experiment import Experiment

COLOURS = ("#D55E00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#8C8C8C", "#E69F00", "#B8A200")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")
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


def save(canvas: Canvas, kind: str) -> bytes:
    output = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context(STYLE):
        canvas.savefig(output, format=kind, dpi=160, metadata=metadata)
    return output.getvalue()


def lab_points(experiment: Experiment) -> list[dict[str, Any]]:
    """Measured in the lab and kept beside the experiment."""
    name = experiment.data.get("lab")
    if name is None:
        return []
    data: dict[str, Any] = json.loads((experiment.folder / name).read_text(encoding="utf-8"))
    return list(data["points"])


def draw_lab(axes: Axes, experiment: Experiment, metric: str) -> None:
    points = [point for point in lab_points(experiment) if metric in point]
    for index, label in enumerate(dict.fromkeys(point["label"] for point in points)):
        mine = [point for point in points if point["label"] == label]
        axes.plot(
            [point["size"] for point in mine],
            [point[metric] for point in mine],
            color=LAB_COLOURS[index % len(LAB_COLOURS)],
            marker=MARKERS[index + 3],
            markerfacecolor="white",
            linestyle=":",
            linewidth=1.4,
            label=f"{label} (lab)",
        )


def draw_bounds(axes: Axes, experiment: Experiment, metric: str) -> None:
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


def set_x(axes: Axes, experiment: Experiment) -> None:
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


def set_y(axes: Axes, metric: str, log: bool) -> None:
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


def draw_panel(
    axes: Axes, experiment: Experiment, curves: Sequence[Curve], panel: dict[str, Any]
) -> None:
    metric = panel["metric"]
    shown = [curve for curve in curves if curve.label in panel.get("curves", [curve.label])]
    # What the panel's title says already.
    prefix, suffix = panel.get("prefix", ""), panel.get("suffix", "")
    for index, curve in enumerate(shown):
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
        draw_lab(axes, experiment, metric)
    draw_bounds(axes, experiment, metric)
    set_x(axes, experiment)
    set_y(axes, metric, panel.get("log", metric == "time_s"))
    if "bottom" in panel:
        axes.set_ylim(bottom=panel["bottom"])
    if "title" in panel:
        axes.set_title(panel["title"], loc="left", fontsize=11, fontweight="bold")


def share_legend(canvas: Canvas, title: str) -> None:
    """One for all panels, below them: inside it would hide points."""
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    canvas.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=min(len(entries), 3 if len(canvas.axes) == 1 else 8),
        frameon=False,
        fontsize=9,
    )
    canvas.suptitle(title, x=0.01, ha="left", fontsize=12)


def draw_curves(experiment: Experiment, curves: Sequence[Curve], kind: str) -> bytes:
    panels = experiment.data.get("panel", [{"metric": "goodput_mb_s"}])
    with matplotlib.rc_context(STYLE):
        width = max(6.6, PANEL_INCHES * len(panels))
        canvas = Canvas(figsize=(width, 4.6), layout="constrained", facecolor="white")
        for axes, panel in zip(
            canvas.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            draw_panel(axes, experiment, curves, panel)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
