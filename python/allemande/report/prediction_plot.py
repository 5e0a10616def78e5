"""Predicted time and bandwidth against size, and where another candidate becomes the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from allemande.model.predict import Row
from allemande.plot_look import COLOURS, INK, MARKERS, save, styled_canvas
from allemande.quantities import format_seconds, format_size

FAINT = 0.13  # intervals
LEGEND_COLUMNS = 3  # names are long


@dataclass(frozen=True)
class Crossover:
    """Between two sizes next to each other another candidate becomes the fastest."""

    size: float  # their geometric mean
    before: str
    after: str


def crossovers(rows: Sequence[Row]) -> list[Crossover]:
    """In order of size; rows of one number of hosts."""
    fastest: dict[int, Row] = {}
    for row in rows:
        if row.size not in fastest or row.time_s < fastest[row.size].time_s:
            fastest[row.size] = row
    found = []
    sizes = sorted(fastest)
    for low, high in pairwise(sizes):
        before, after = fastest[low].candidate, fastest[high].candidate
        if before != after:
            found.append(Crossover(sqrt(low * high), before, after))
    return found


def _draw_times(axes: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        own = [row for row in rows if row.candidate == name]
        sizes = [row.size for row in own]
        colour = COLOURS[index % len(COLOURS)]
        axes.plot(
            sizes,
            [row.time_s for row in own],
            label=name,
            color=colour,
            marker=MARKERS[index % len(MARKERS)],
            markersize=5,
            linewidth=1.5,
        )
        low, high = [row.low_s for row in own], [row.high_s for row in own]
        axes.fill_between(sizes, low, high, color=colour, alpha=FAINT, linewidth=0)
    limits = {row.size: row.limit_s for row in rows if row.limit_s is not None}
    if limits:
        axes.plot(list(limits), list(limits.values()), color=INK, linewidth=1.6, label="limit")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.set_title("Time, with 90 % intervals", loc="left", fontsize=11, fontweight="bold")


def _draw_bandwidth(axes: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        own = [row for row in rows if row.candidate == name]
        axes.plot(
            [row.size for row in own],
            [row.bandwidth_mb_s for row in own],
            label=name,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            markersize=5,
            linewidth=1.5,
        )
    limits = {
        row.size: (row.ranks - 1) * row.size / row.limit_s / 1e6 for row in rows if row.limit_s
    }
    if limits:
        axes.plot(list(limits), list(limits.values()), color=INK, linewidth=1.6, label="limit")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} MB/s"))
    axes.set_title("Payload each rank sends", loc="left", fontsize=11, fontweight="bold")


def _mark(axes: Axes, rows: Sequence[Row]) -> None:
    for crossover in crossovers(rows):
        axes.axvline(crossover.size, color=INK, linewidth=1, linestyle=":")
        axes.annotate(
            format_size(round(crossover.size)),
            (crossover.size, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10),
            textcoords="offset points",
            fontsize=8,
        )


def render(rows: Sequence[Row], title: str, kind: str) -> bytes:
    """The plot of one number of hosts as `svg` or `png`; dotted lines are crossovers."""
    ordered = sorted(rows, key=lambda row: row.size)
    names = list(dict.fromkeys(row.candidate for row in rows))
    with styled_canvas(11, 5.2) as canvas:
        left, right = canvas.subplots(1, 2)
        _draw_times(left, ordered, names)
        _draw_bandwidth(right, ordered, names)
        for axes in (left, right):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(
                FuncFormatter(lambda value, _: format_size(round(value)))
            )
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.tick_params(axis="x", which="minor", bottom=False)
            axes.set_xlabel("message to each other rank")
            _mark(axes, ordered)
        canvas.legend(
            *left.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=LEGEND_COLUMNS,
            frameon=False,
            fontsize=9,
        )
        canvas.suptitle(title, x=0.01, ha="left", fontsize=12)
        return save(canvas, kind)
