"""Figures as a table for people, and as markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from statistics import fmean

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from allemande.bench.figures import Figure
from allemande.bench.setting import Setting
from allemande.quantities import (
    MISSING,
    format_part,
    format_ratio,
    format_seconds,
    format_size,
    format_spread,
)
from allemande.tables import left, right, ruled_table, widen

CSV_COLUMNS = tuple(item.name for item in fields(Figure))
SPEEDS = ("median", "slowest", "spread", "of limit", "vs stock")
TAILS = ("P90", "P99")
COSTS = ("CPU/call", "idle", "RTOs", "resent")
MEASURING = Console(width=1000)
COLUMNS_TEXT = (
    "P90, P99: not exceeded by so many per cent of the calls; CPU/call: processor time of all "
    "ranks; RTOs: TCP's time-outs; resent: TCP's segments, or "
    "allemande's packets with those of the warm-up"
)


def _speeds(figure: Figure) -> tuple[str, ...]:
    median = format_seconds(figure.median_s)
    return (
        f"{median} (void)" if figure.void and figure.median_s is not None else median,
        format_seconds(figure.slowest_s),
        format_spread(figure.spread),
        format_part(figure.fraction_of_limit),
        *([format_part(figure.fraction_of_bound)] if figure.bound_s is not None else []),
        format_ratio(figure.ratio_to_best_stock),
    )


def _speed_headings(figures: Sequence[Figure]) -> tuple[str, ...]:
    """Small blocks are judged by the bound, which adds the ways of packets to the limit."""
    if not any(figure.bound_s is not None for figure in figures):
        return SPEEDS
    return (*SPEEDS[:-1], "of bound", SPEEDS[-1])


def _tails(figure: Figure) -> tuple[str, ...]:
    return format_seconds(figure.p90_s), format_seconds(figure.p99_s)


def _costs(figure: Figure) -> tuple[str, ...]:
    if figure.median_s is None:
        return (MISSING,) * len(COSTS)
    return (
        format_seconds(figure.cpu_s_per_call),
        MISSING if figure.cpu_idle is None else f"{figure.cpu_idle:.0%}",
        f"{figure.tcp_timeouts:,}",
        f"{figure.resent:,}",
    )


def shared_headings(figures: Sequence[Figure]) -> tuple[str, ...]:
    """What is known only where the candidates were not alone on the links."""
    jobs = ("each job", "together") if any(figure.jobs > 1 for figure in figures) else ()
    flows = ("flows", "of share") if any(figure.background for figure in figures) else ()
    return (*jobs, *flows)


def shared_cells(figure: Figure) -> tuple[str, ...]:
    """Under `shared_headings`."""
    cells: tuple[str, ...] = ()
    if figure.jobs > 1:
        medians = " ".join(format_seconds(value) for value in figure.job_median_s or ())
        cells += (medians or MISSING, format_part(figure.together_fraction))
    if figure.background:
        rates = figure.background_mbit_s
        mean = fmean(rates) if rates else None
        share = fmean(figure.background_share) if figure.background_share else None
        cells += (MISSING if mean is None else f"{mean:.3g} Mbit/s", format_part(share))
    return cells


SHARED_TEXTS = {
    "each job": "each job: its median; together: of what the links carry, by all jobs",
    "flows": "flows: the mean rate of a background flow during the calls, and of its fair share",
}


def by_size(figures: Sequence[Figure]) -> Iterator[tuple[int, list[Figure]]]:
    for size in sorted({figure.size for figure in figures}):
        yield size, [figure for figure in figures if figure.size == size]


def best_of(figures: Sequence[Figure]) -> Figure | None:
    counted = [f for f in figures if f.median_s is not None and not f.void]
    return min(counted, key=lambda f: f.median_s or 0.0, default=None)


def _style_of(figure: Figure, best: Figure | None) -> str:
    if figure.wrong_bytes:
        return "bold red"
    if figure.void or figure.median_s is None:
        return "dim"
    return "bold green" if figure is best else ""


def _rich_table(
    figures: Sequence[Figure],
    title: str | None,
    headings: Sequence[str],
    cells: Callable[[Figure], Sequence[str]],
) -> Table:
    table = ruled_table(title, *right("size"), *left("candidate"), *right(*headings))
    for size, group in by_size(figures):
        best = best_of(group)
        limit = {"median": format_seconds(group[0].limit_s), "of limit": "100.0%"}
        if group[0].bound_s is not None:
            limit |= {"of bound": f"bound {format_seconds(group[0].bound_s)}"}
        if group[0].fair_share_s is not None:
            limit |= {"each job": format_seconds(group[0].fair_share_s), "together": "100.0%"}
        first = format_size(size)
        if headings[0] in limit:
            row = [Text(limit.get(heading, ""), style="cyan") for heading in headings]
            table.add_row(first, Text("limit", style="cyan"), *row)
            first = ""
        for index, figure in enumerate(group):
            table.add_row(
                "" if index else first,
                figure.candidate,
                *cells(figure),
                style=_style_of(figure, best),
                end_section=index == len(group) - 1,
            )
    return table


def rich_tables(figures: Sequence[Figure], title: str, width: int) -> list[Table]:
    """Times and what they cost: side by side where there is room."""
    speeds = _speed_headings(figures)
    wide = _rich_table(
        figures,
        title,
        (*speeds, *TAILS, *COSTS),
        lambda one: (*_speeds(one), *_tails(one), *_costs(one)),
    )
    tables = [wide]
    if Measurement.get(MEASURING, MEASURING.options, wide).maximum > width:
        tables = [
            _rich_table(figures, title, speeds, _speeds),
            _rich_table(figures, None, TAILS, _tails),
            _rich_table(figures, None, COSTS, _costs),
        ]
    if shared := shared_headings(figures):
        tables.append(_rich_table(figures, None, shared, shared_cells))
    return tables


def markdown(figures: Sequence[Figure], setting: Setting) -> str:
    """One row per candidate, one column per size: what the README holds."""
    sizes = [size for size, _ in by_size(figures)]
    limits = {figure.size: figure.limit_s for figure in figures}
    names = list(dict.fromkeys(figure.candidate for figure in figures))
    found = {(figure.candidate, figure.size): figure for figure in figures}
    rows = [
        "| candidate | " + " | ".join(format_size(size) for size in sizes) + " |",
        "|---|" + "---:|" * len(sizes),
        "| physical limit | " + " | ".join(format_seconds(limits[s]) for s in sizes) + " |",
    ]
    for name in names:
        row = []
        for size in sizes:
            figure = found[name, size]
            if figure.median_s is None:
                row.append(MISSING)
                continue
            text = f"{format_seconds(figure.median_s)} ({figure.fraction_of_limit:.0%})"
            if figure.void:
                text += " void"
            row.append(text if figure.stock else f"**{text}**")
        rows.append(f"| {name} | " + " | ".join(row) + " |")
    note = (
        f"Median time of one {_call_name(figures)}, in brackets the part of the physical limit. "
        "Every received byte was checked."
    )
    return "\n".join([*rows, "", f"{note} {'. '.join(setting.lines())}.", ""])


def _call_name(figures: Sequence[Figure]) -> str:
    return f"MPI_{figures[0].collective.capitalize()}" if figures else "MPI_Alltoall"


def print_result(
    console: Console, figures: Sequence[Figure], setting: Setting, notes: Sequence[str]
) -> None:
    """The table with everything a reader must know beside it."""
    widen(console, 140)
    for table in rich_tables(figures, setting.lines()[0], console.width):
        console.print(table)
    checked = sum(figure.calls for figure in figures)
    wrong = sum(figure.wrong_bytes for figure in figures)
    verdict = "every byte was right" if wrong == 0 else f"[bold red]{wrong} WRONG BYTES[/]"
    texts = [SHARED_TEXTS[name] for name in shared_headings(figures) if name in SHARED_TEXTS]
    for line in (
        COLUMNS_TEXT,
        *texts,
        *setting.lines()[1:],
        f"{checked} timed calls checked: {verdict}",
    ):
        console.print(line, highlight=False, soft_wrap=True)
    for note in notes:
        console.print(Text(f"warning: {note}", style="yellow"), soft_wrap=True)
