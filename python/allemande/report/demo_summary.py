"""The demo in short: two tables and three sentences, made from the figures that were measured."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rich.console import Console
from rich.table import Column
from rich.text import Text

from allemande.bench.comparison import Comparison
from allemande.bench.figure_output import best_of, by_size
from allemande.bench.figures import Figure
from allemande.quantities import MISSING, format_seconds, format_size
from allemande.tables import plain_table

COLUMNS = 100  # of lines of text in documents
TABLE_COLUMNS = 130  # of a terminal; a file has as many
HAND_PICKED, ITS_NAME = "best hand-picked", "which one"
BEGIN, END = "<!-- demo-tables -->", "<!-- /demo-tables -->"

# The fastest stock time divided by ours.
A_LOT, A_LITTLE = 1.5, 1.05
BUSY_MAX = 0.1  # part of the processors that others use


@dataclass(frozen=True)
class Grid:
    """A table of texts; rows whose name is in `strong` are ours."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[str]


def _is_hand_picked(figure: Figure) -> bool:
    """An algorithm or a transport that somebody must know to choose."""
    return figure.stock and figure.candidate != figure.library


def _cell(figure: Figure | None) -> str:
    if figure is None or figure.median_s is None:
        return MISSING
    text = f"{format_seconds(figure.median_s)} ({figure.fraction_of_limit:.0%})"
    return f"{text} void" if figure.void else text


def _columns(results: Sequence[Comparison]) -> Iterator[tuple[str, list[Figure]]]:
    """The first of each cluster names it, unless there is only one."""
    for result in results:
        for number, (size, figures) in enumerate(by_size(result.figures)):
            name = format_size(size)
            named = number == 0 and len(results) > 1
            yield (f"{result.setting.cluster} {name}" if named else name), figures


def make_grid(title: str, results: Sequence[Comparison]) -> Grid:
    """A row for each library's own choice, one for the best of the other algorithms, and ours."""
    columns = list(_columns(results))
    figures = [figure for _, group in columns for figure in group]
    names = dict.fromkeys(figure.candidate for figure in figures if not _is_hand_picked(figure))
    ours = frozenset(figure.candidate for figure in figures if not figure.stock)
    picked = [best_of([f for f in group if _is_hand_picked(f)]) for _, group in columns]

    def row(name: str) -> tuple[str, ...]:
        cells = [next((f for f in group if f.candidate == name), None) for _, group in columns]
        return (name, *map(_cell, cells))

    rows = [("physical limit", *(format_seconds(group[0].limit_s) for _, group in columns))]
    rows += [row(name) for name in names if name not in ours]
    if any(picked):
        rows.append((HAND_PICKED, *map(_cell, picked)))
        rows.append((ITS_NAME, *(one.candidate if one else MISSING for one in picked)))
    rows += [row(name) for name in names if name in ours]
    return Grid(title, ("candidate", *(head for head, _ in columns)), tuple(rows), ours)


# ---- sentences -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """The fastest stock candidate, whoever's choice, against the fastest of ours."""

    cluster: str
    stock: Figure
    ours: Figure

    @property
    def ratio(self) -> float:
        return (self.stock.median_s or 0.0) / (self.ours.median_s or 1.0)

    def __str__(self) -> str:
        return (
            f"{self.cluster} at {format_size(self.ours.size)} "
            f"({format_seconds(self.ours.median_s)} instead of "
            f"{format_seconds(self.stock.median_s)} by {self.stock.candidate}: "
            f"{_factor(self.ratio)})"
        )


def _factor(ratio: float) -> str:
    """0.98 times, 2.3 times, 110 times."""
    digits = 0 if ratio >= 10 else 1 if ratio >= 2 else 2
    return f"{ratio:.{digits}f} times"


def _gains_of(results: Sequence[Comparison]) -> list[Gain]:
    """The gain on each cluster at each size; void figures do not count."""
    gains = []
    for result in results:
        for _, figures in by_size(result.figures):
            stock = best_of([figure for figure in figures if figure.stock])
            ours = best_of([figure for figure in figures if not figure.stock])
            if stock is not None and ours is not None:
                gains.append(Gain(result.setting.cluster, stock, ours))
    return gains


def _best_default(results: Sequence[Comparison], gain: Gain) -> Figure | None:
    """What a library chose by itself, where the gain was measured."""
    for result in results:
        if result.setting.cluster == gain.cluster:
            of_size = [figure for figure in result.figures if figure.size == gain.ours.size]
            return best_of([f for f in of_size if f.stock and not _is_hand_picked(f)])
    return None


def _joined(gains: Sequence[Gain]) -> str:
    texts = [str(gain) for gain in gains]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def sentences(results: Sequence[Comparison]) -> list[str]:
    """Where allemande gains a lot, a little and nothing, against the fastest stock candidate."""
    gains = sorted(_gains_of(results), key=lambda gain: -gain.ratio)
    if not gains:
        return []
    lot = [gain for gain in gains if gain.ratio >= A_LOT]
    little = [gain for gain in gains if A_LITTLE <= gain.ratio < A_LOT]
    nothing = [gain for gain in gains if gain.ratio < A_LITTLE]
    against = "against the fastest stock candidate measured there, picked by hand or not"
    lines = [
        f"Allemande gains a lot {against}, on {_joined(lot)}."
        if lot
        else f"Nowhere here does allemande gain a lot {against}.",
        f"It gains a little on {_joined(little)}." if little else "Nowhere does it gain a little.",
        f"It gains nothing on {_joined(nothing)}."
        if nothing
        else "Nowhere here does it gain nothing.",
    ]
    defaults = [
        (figure.median_s / gain.ours.median_s, gain)
        for gain in gains
        if (figure := _best_default(results, gain)) and figure.median_s and gain.ours.median_s
    ]
    if defaults:
        least, where_least = min(defaults, key=lambda pair: pair[0])
        most, where_most = max(defaults, key=lambda pair: pair[0])
        lines.append(
            "Against what the libraries choose by themselves it is "
            f"{_factor(least)} ({where_least.cluster}, {format_size(where_least.ours.size)}) to "
            f"{_factor(most)} ({where_most.cluster}, {format_size(where_most.ours.size)}) as fast."
        )
    return lines


# ---- output --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    grids: tuple[Grid, ...]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]  # what a reader must know beside the figures


def busy_note(busy: float) -> str | None:
    """Figures of small sizes are noise where others use the processors."""
    if busy <= BUSY_MAX:
        return None
    return (
        f"TO BE MEASURED ANEW: other programs used {busy:.0%} of the processors; "
        "`make readme-tables` on a quiet machine does it"
    )


def summarise_demo(titled: Sequence[tuple[str, Sequence[Comparison]]], busy: float) -> Summary:
    results = [result for _, group in titled for result in group]
    calls = sum(figure.calls for result in results for figure in result.figures)
    wrong = sum(figure.wrong_bytes for result in results for figure in result.figures)
    checked = "every received byte was right" if wrong == 0 else f"{wrong:,} BYTES WERE WRONG"
    notes = [
        "Median time of one MPI_Alltoall, in brackets the part of the physical limit. "
        f"{calls:,} timed calls: {checked}"
    ]
    for result in results:
        notes.append(result.setting.lines()[0])
    notes += dict.fromkeys(
        note for r in results if (note := r.setting.timers.note(r.setting.scale)) is not None
    )
    if results:
        setting = results[0].setting
        notes.append(f"Begun {setting.date}, {setting.machine}, {', '.join(setting.versions)}")
    if (note := busy_note(busy)) is not None:
        notes.insert(0, note)
    grids = tuple(make_grid(title, group) for title, group in titled)
    return Summary(grids, tuple(sentences(results)), tuple(notes))


def print_summary(console: Console, summary: Summary) -> None:
    console.width = max(console.width, TABLE_COLUMNS)
    for grid in summary.grids:
        first, *others = grid.heads
        figures = [Column(head, justify="right", vertical="bottom") for head in others]
        table = plain_table(grid.title, Column(first, vertical="bottom"), *figures)
        for row in grid.rows:
            style = "bold green" if row[0] in grid.strong else ""
            table.add_row(*map(Text, row), style=style or None)
        console.print(table)
        console.print()
    for line in (*summary.sentences, "", *(f"{note}." for note in summary.notes)):
        console.print(line, highlight=False, soft_wrap=True)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def to_markdown(summary: Summary) -> str:
    """What stands in the README, marks included."""
    parts = [BEGIN]
    for grid in summary.grids:
        lines = [f"**{grid.title}**", "", "| " + " | ".join(grid.heads) + " |"]
        lines.append("|---|" + "---:|" * (len(grid.heads) - 1))
        for name, *cells in grid.rows:
            shown = [f"**{cell}**" for cell in cells] if name in grid.strong else cells
            lines.append(f"| {' | '.join((name, *shown))} |")
        parts.append("\n".join(lines))
    parts += [_wrapped(line) for line in summary.sentences]
    parts.append(_wrapped(" ".join(f"{note}." for note in summary.notes)))
    return "\n\n".join(parts) + f"\n{END}\n"


def to_html(summary: Summary) -> str:
    tables = []
    for grid in summary.grids:
        heads = "".join(
            f"<th{'' if number else ' class=name'}>{escape(head)}</th>"
            for number, head in enumerate(grid.heads)
        )
        rows = "".join(
            f'<tr class="{_class_of(name, grid)}"><td class="name">{escape(name)}</td>'
            + "".join(f"<td>{escape(cell).replace(':', ':<wbr>')}</td>" for cell in cells)
            + "</tr>"
            for name, *cells in grid.rows
        )
        tables.append(
            f"<h3>{escape(grid.title)}</h3><table><thead><tr>{heads}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
    items = "".join(f"<li>{escape(line)}</li>" for line in summary.sentences)
    notes = " ".join(f"{escape(note)}." for note in summary.notes)
    notes = re.sub("`(.*?)`", r"<code>\1</code>", notes)
    return (
        f'<section class="together"><h2>In short</h2>{"".join(tables)}<h3>Where it helps</h3>'
        f'<ul>{items}</ul><p class="note">{notes}</p></section>'
    )


def _class_of(name: str, grid: Grid) -> str:
    if name == "physical limit":
        return "limit"
    return "ours" if name in grid.strong else "which" if name == ITS_NAME else ""
