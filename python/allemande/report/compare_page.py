"""The page of `allemande compare`: what was found, plots, tables, and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from allemande.bench.setting import describe_machine
from allemande.compare.statistics import FASTER, SLOWER, Compared, Ratio
from allemande.compare.verdicts import (
    DIFFERENT,
    ClassFinding,
    Findings,
    conclusions,
    describe_sizes,
)
from allemande.compare.verdicts_output import COLUMNS, compared_cells, legend
from allemande.plot_look import COLOURS, INK, save, styled_canvas
from allemande.quantities import TIMES, format_seconds
from allemande.report.page_frame import frame, inline_svg

STOCK_COLOUR, OUR_COLOUR = "#8C8C8C", COLOURS[1]
VERDICT_COLOURS = {FASTER: "#009E73", SLOWER: COLOURS[0]}
BARS_MAX = 20  # classes in the plot: those that take the most time
METHOD_TEXT = """
In each round the program runs twice, one run after the other: stock and with allemande preloaded.
Chance decides who begins, and the next round has the opposite order, so that a machine that becomes
slower or faster does not count for one of the two. Both have the library preloaded; on the stock
side it is switched off, passes every call through and only counts and times. The time of the whole
program is that of the launcher's command. The time of the exchanges is what a rank spends in calls
of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw, on average over the ranks; waiting for other ranks
is part of it. The ratio is allemande / stock, round by round; the logarithms are averaged, and
Student's t over the rounds gives the interval. A difference is claimed where the interval lies on
one side of 1 and the ratio is at least one per cent away from it.
"""


def _label(one: ClassFinding) -> str:
    return f"{one.sizes.function.removeprefix('MPI_')}, {describe_sizes(one.sizes)}"


def _rows(findings: Findings) -> list[tuple[str, Ratio, str]]:
    """Name, ratio and verdict, in the order in which they are shown."""
    named: list[tuple[str, Compared]] = [("whole program", findings.total)]
    if findings.exchanges is not None:
        named.append(("its exchanges", findings.exchanges))
    largest = sorted(findings.classes, key=lambda one: -one.seconds)[:BARS_MAX]
    named += [(_label(one), one.compared) for one in findings.classes if one in largest]
    return [(name, one.ratio, one.verdict) for name, one in named if one.ratio is not None]


def _draw_runs(axes: Axes, compared: Compared, title: str) -> None:
    rounds = range(1, len(compared.stock.seconds) + 1)
    for side, colour, marker, label in (
        (compared.stock, STOCK_COLOUR, "s", "stock"),
        (compared.preloaded, OUR_COLOUR, "o", "allemande"),
    ):
        axes.plot(rounds, side.seconds, marker, color=colour, label=label, markersize=7)
        axes.axhline(side.median, color=colour, linewidth=1.4, linestyle="--", alpha=0.8)
    axes.set_ylim(0, 1.08 * max(*compared.stock.seconds, *compared.preloaded.seconds))
    axes.margins(x=0.15)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.set_xlabel("round")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")


def _draw_ratios(axes: Axes, findings: Findings) -> None:
    rows = _rows(findings)
    for at, (_, ratio, verdict) in enumerate(rows):
        colour = VERDICT_COLOURS.get(verdict, INK)
        axes.plot([ratio.low, ratio.high], [at, at], color=colour, linewidth=2)
        axes.plot([ratio.ratio], [at], "o", color=colour, markersize=7)
    axes.axvline(1.0, color=INK, linewidth=1.4)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    least = min((ratio.ratio for _, ratio, _ in rows), default=1.0)
    most = max((ratio.ratio for _, ratio, _ in rows), default=1.0)
    # An interval far wider than the ratios is cut off: it would hide them.
    low = max(min((ratio.low for _, ratio, _ in rows), default=1.0), least / 3)
    high = min(max((ratio.high for _, ratio, _ in rows), default=1.0), most * 3)
    axes.set_xscale("log")
    axes.set_xlim(min(low, 1.0) / 1.15, max(high, 1.0) * 1.15)
    ticks = [
        tick
        for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 20, 50)
        if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]
    ]
    if len(ticks) > 6:
        ticks = [tick for tick in ticks if tick not in (0.8, 0.9, 1.1, 1.25)]
    axes.minorticks_off()
    axes.set_xticks(ticks, [f"{tick:g}{TIMES}" for tick in ticks])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time with allemande / stock: left of 1, allemande is faster")
    axes.set_title("Ratio and its interval", loc="left", fontsize=11, fontweight="bold")


def render(findings: Findings, kind: str) -> bytes:
    """The plot as `svg` or `png`."""
    with styled_canvas(11, max(3.8, 1.8 + 0.32 * len(_rows(findings)))) as canvas:
        panels = canvas.subplots(1, 3, width_ratios=(0.8, 0.8, 1.6))
        _draw_runs(panels[0], findings.total, "Whole program")
        if findings.exchanges is not None:
            _draw_runs(panels[1], findings.exchanges, "Its exchanges")
        else:
            panels[1].axis("off")
            panels[1].text(0.5, 0.5, "no times of exchanges", ha="center", color=INK)
        _draw_ratios(panels[2], findings)
        canvas.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside lower left",
            ncols=2,
            frameon=False,
            fontsize=9,
        )
        return save(canvas, kind)


def _tile(name: str, compared: Compared) -> str:
    ratio = compared.ratio
    if ratio is None or compared.verdict not in (FASTER, SLOWER):
        return (
            f'<div class="tile"><b>no difference found</b><span>{name}: '
            f"{format_seconds(compared.preloaded.median)} with allemande, "
            f"{format_seconds(compared.stock.median)} stock</span></div>"
        )
    big = f"{1 / ratio.ratio:.2f}{TIMES} as fast"
    if compared.verdict == SLOWER:
        big = f"{ratio.ratio:.2f}{TIMES} as long"
    return (
        f'<div class="tile"><b>{big}</b><span>{name}: '
        f"{format_seconds(compared.preloaded.median)} with allemande, "
        f"{format_seconds(compared.stock.median)} stock</span></div>"
    )


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]], names: int) -> str:
    def cell(tag: str, index: int, text: str) -> str:
        kind = ' class="name"' if index < names else ""
        return f"<{tag}{kind}>{escape(text)}</{tag}>"

    head = "".join(cell("th", index, text) for index, text in enumerate(headings))
    body = "".join(
        "<tr>" + "".join(cell("td", index, text) for index, text in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _class_section(findings: Findings) -> str:
    """Two tables: together they are wider than the page."""
    if not findings.classes:
        return ""
    named = [(one.sizes.function, describe_sizes(one.sizes)) for one in findings.classes]
    times = [
        (*name, *compared_cells(one.compared))
        for name, one in zip(named, findings.classes, strict=True)
    ]
    ways = [
        (*name, one.way, f"{one.calls:.6g}", format_seconds(one.seconds))
        for name, one in zip(named, findings.classes, strict=True)
    ]
    first = ("function", "bytes to each rank")
    return (
        "<section><h2>One call, by function and size of blocks</h2>"
        f"{_table((*first, *COLUMNS), times, 2)}"
        "<h3>How they went</h3>"
        f"{_table((*first, 'way with allemande', 'calls of a rank', 'stock, all calls'), ways, 3)}"
        "</section>"
    )


def build_compare_page(findings: Findings, command: str, confidence: float) -> str:
    tiles = _tile("the whole program", findings.total)
    rows = [("whole program", *compared_cells(findings.total))]
    if findings.exchanges is not None:
        tiles += _tile("its exchanges", findings.exchanges)
        rows.append(("its exchanges", *compared_cells(findings.exchanges)))
    alarm = " warning" if any(one.verdict == DIFFERENT for one in findings.outputs) else ""
    lines = "".join(
        f"<li>{escape(line)}</li>"
        for line in (*conclusions(findings), *(f"Note: {note}" for note in findings.notes))
    )
    runs = [
        (
            str(run.round),
            run.side,
            format_seconds(run.seconds),
            format_seconds(run.times.seconds if run.times is not None else None),
        )
        for run in findings.runs
    ]
    return frame(
        "allemande compare",
        f"""<h1>Stock and with allemande, by turns</h1>
<p class="lead"><code>{escape(command)}</code></p>
<section class="tiles">{tiles}</section>
<section class="short{alarm}"><h2>In short</h2><ul>{lines}</ul></section>
<section class="plot">{inline_svg(render(findings, "svg"))}</section>
<section><h2>Times</h2>{_table(("", *COLUMNS), rows, 1)}
<p class="note">{escape(legend(findings, confidence))}</p></section>
{_class_section(findings)}
<section><h2>How it was measured</h2><p>{METHOD_TEXT}</p></section>
<section><h2>Every run</h2>{_table(("round", "side", "whole program", "exchanges"), runs, 2)}
<p class="note">{escape(describe_machine())}</p></section>""",
    )
