"""The plot: time against message size beside the limit, and how much of the limit is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from allemande.bench.figure_output import by_size
from allemande.bench.figures import Figure
from allemande.plot_look import INK, save, styled_canvas
from allemande.quantities import format_seconds, format_size

# Okabe and Ito's palette: told apart with any colour vision. Ours are the two strongest, and two
# darker ones: no stock candidate has the colour of one of ours.
OUR_COLOURS = ("#D55E00", "#0072B2", "#4B2A6B", "#6B4A1E")
STOCK_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#8C8C8C", "#B8A200")
STOCK_MARKERS = ("s", "D", "^", "v", "P", "X")
OUR_MARKERS = ("o", "o", "h", "h")


LEGEND_MAX = 5  # candidates


@dataclass(frozen=True)
class Look:
    colour: str
    marker: str
    line: str
    width: float


def looks(figures: Sequence[Figure]) -> dict[str, Look]:
    """A look per candidate, in order of appearance; ours solid, stock dashed."""
    result: dict[str, Look] = {}
    counts = {True: 0, False: 0}
    for figure in figures:
        if figure.candidate in result:
            continue
        index = counts[figure.stock]
        counts[figure.stock] += 1
        colours = STOCK_COLOURS if figure.stock else OUR_COLOURS
        markers = STOCK_MARKERS if figure.stock else OUR_MARKERS
        result[figure.candidate] = Look(
            colours[index % len(colours)],
            markers[index % len(markers)],
            "--" if figure.stock else "-",
            # Ours often coincide: each next one is thinner, so that both are seen.
            1.5 if figure.stock else max(1.5, 4.0 - 2.4 * index),
        )
    return result


def _measured(figures: Sequence[Figure], name: str) -> list[Figure]:
    return [f for f in figures if f.candidate == name and f.median_s is not None]


def _draw_times(axes: Axes, figures: Sequence[Figure], style: Mapping[str, Look]) -> None:
    limits = {size: group[0].limit_s for size, group in by_size(figures)}
    floor = min(limits.values()) / 2.2
    axes.fill_between(
        list(limits), list(limits.values()), floor, color=INK, alpha=0.07, linewidth=0
    )
    axes.plot(list(limits), list(limits.values()), color=INK, linewidth=1.6, label="physical limit")
    for name, look in style.items():
        points = _measured(figures, name)
        if not points:
            continue
        medians = [f.median_s or 0.0 for f in points]
        below = [(f.median_s or 0.0) - (f.low_s or 0.0) for f in points]
        above = [(f.high_s or 0.0) - (f.median_s or 0.0) for f in points]
        axes.errorbar(
            [f.size for f in points],
            medians,
            yerr=[below, above],
            label=name,
            color=look.colour,
            marker=look.marker,
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.8,
            linestyle=look.line,
            linewidth=look.width,
            elinewidth=1.2,
            capsize=3,
            zorder=3 if look.line == "--" else 4,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xticks(list(limits), [format_size(size) for size in limits])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.margins(x=0.08)
    axes.set_xlabel("message to each other rank")
    axes.set_title("Time of one MPI_Alltoall", loc="left", fontsize=11, fontweight="bold")


def _draw_fractions(axes: Axes, figures: Sequence[Figure], style: Mapping[str, Look]) -> None:
    groups = list(by_size(figures))
    width = 0.84 / max(1, len(style))
    for column, (name, look) in enumerate(style.items()):
        for row, (_, group) in enumerate(groups):
            found = next((f for f in group if f.candidate == name), None)
            if found is None or found.fraction_of_limit is None:
                continue
            x = row + (column - (len(style) - 1) / 2) * width
            axes.bar(
                x,
                found.fraction_of_limit,
                width * 0.9,
                color=look.colour,
                hatch=None if look.line == "-" else "////",
                edgecolor="white",
                linewidth=0,
            )
            inside = found.fraction_of_limit > 0.9  # above it, the limit line would cross it
            axes.text(
                x,
                found.fraction_of_limit + (-0.015 if inside else 0.012),
                f"{100 * found.fraction_of_limit:.0f}",
                ha="center",
                va="top" if inside else "bottom",
                color="white" if inside and look.line == "-" else INK,
                fontweight="bold" if inside else "normal",
                fontsize=8.5 if len(style) <= 5 else 6.5,
            )
    axes.axhline(1.0, color=INK, linewidth=1.6)
    axes.set_ylim(0, 1.09)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xticks(range(len(groups)), [format_size(size) for size, _ in groups])
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("message to each other rank")
    axes.set_title("Part of the physical limit", loc="left", fontsize=11, fontweight="bold")


def _draw(figures: Sequence[Figure]) -> Canvas:
    with styled_canvas(11, 4.8) as canvas:
        left, right = canvas.subplots(1, 2, width_ratios=(1, 1.15))
        style = looks(figures)
        _draw_times(left, figures, style)
        _draw_fractions(right, figures, style)
        if len(style) <= LEGEND_MAX:
            left.legend(loc="upper left", frameon=False, fontsize=9)
        else:  # it would hide lines
            canvas.legend(
                *left.get_legend_handles_labels(),
                loc="outside lower center",
                ncols=LEGEND_MAX,
                frameon=False,
                fontsize=9,
            )
        return canvas


def render(figures: Sequence[Figure], kind: str) -> bytes:
    """The plot as `svg` or `png`."""
    return save(_draw(figures), kind)
