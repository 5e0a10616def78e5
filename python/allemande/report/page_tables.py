"""The tables of a page: how fast, and what it cost. Two fit the width of a page, one does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from allemande.bench.figure_output import best_of, by_size, shared_cells, shared_headings
from allemande.bench.figures import Figure
from allemande.quantities import (
    MISSING,
    format_part,
    format_ratio,
    format_seconds,
    format_size,
    format_spread,
)

Column = tuple[str, str, Callable[[Figure], str]]

SPEEDS: tuple[Column, ...] = (
    (
        "median",
        "of all timed calls; a call lasts until the slowest rank is done",
        lambda figure: format_seconds(figure.median_s),
    ),
    ("P90", "nine of ten timed calls take no longer", lambda f: format_seconds(f.p90_s)),
    ("P99", "99 of 100 timed calls take no longer", lambda f: format_seconds(f.p99_s)),
    ("slowest", "of the timed calls", lambda figure: format_seconds(figure.slowest_s)),
    (
        "spread",
        "half the distance between the quartiles, of the median",
        lambda figure: format_spread(figure.spread),
    ),
    ("of the limit", "limit / median", lambda figure: format_part(figure.fraction_of_limit)),
    (
        "vs best stock",
        "fastest stock median / this median: above 1 is faster",
        lambda figure: format_ratio(figure.ratio_to_best_stock),
    ),
    ("calls", "timed calls, every byte of each checked", lambda figure: f"{figure.calls}"),
)
COSTS: tuple[Column, ...] = (
    (
        "packets",
        "sent by all hosts, warm-up included: TCP segments, or allemande's packets",
        lambda figure: f"{figure.packets:,}",
    ),
    (
        "lost",
        "Ethernet frames that a full switch queue dropped",
        lambda figure: f"{figure.dropped:,}",
    ),
    (
        "TCP time-outs",
        "of all hosts in the timed calls",
        lambda figure: f"{figure.tcp_timeouts:,}",
    ),
    (
        "sent again",
        "TCP segments in the timed calls; allemande's packets, warm-up included",
        lambda figure: f"{figure.resent:,}",
    ),
    (
        "CPU per call",
        "user and system time of all ranks' processes in a timed call",
        lambda figure: format_seconds(figure.cpu_s_per_call),
    ),
    (
        "CPU idle",
        "of all processors, during the timed calls",
        lambda figure: MISSING if figure.cpu_idle is None else f"{figure.cpu_idle:.0%}",
    ),
)

SHARED_COLUMNS = {
    "each job": "median of each job",
    "together": "part of what the links carry that all jobs together used",
    "flows": "mean rate of a background TCP flow during the calls",
    "of share": "the same, of the flow's fair share of its narrowest link",
}


def _row(figure: Figure, label: str, best: bool, columns: Sequence[Column]) -> str:
    classes = [
        name
        for name, applies in (
            ("ours", not figure.stock),
            ("best", best),
            ("void", figure.void),
            ("wrong", figure.wrong_bytes > 0),
        )
        if applies
    ]
    name = escape(figure.candidate) + (" (void)" if figure.void else "")
    cells = "".join(f"<td>{text(figure)}</td>" for _, _, text in columns)
    return (
        f'<tr class="{" ".join(classes)}"><td>{label}</td><td class="name">{name}</td>{cells}</tr>'
    )


def _table(figures: Sequence[Figure], columns: Sequence[Column], with_limit: bool) -> str:
    heads = "".join(f'<th title="{escape(text)}">{name}</th>' for name, text, _ in columns)
    bodies = []
    for size, group in by_size(figures):
        best = best_of(group)
        label = format_size(size)
        rows = []
        if with_limit:
            limit = {"median": format_seconds(group[0].limit_s), "of the limit": "100.0%"}
            cells = "".join(f"<td>{limit.get(name, '')}</td>" for name, _, _ in columns)
            rows.append(
                f'<tr class="limit"><td>{label}</td>'
                f'<td class="name">physical limit</td>{cells}</tr>'
            )
            label = ""
        for figure in group:
            rows.append(_row(figure, label, figure is best, columns))
            label = ""
        bodies.append(f"<tbody>{''.join(rows)}</tbody>")
    first = (
        '<th title="bytes to each other rank">message</th>'
        '<th class="name" title="what ran">candidate</th>'
    )
    return f"<table><thead><tr>{first}{heads}</tr></thead>{''.join(bodies)}</table>"


def speed_table(figures: Sequence[Figure]) -> str:
    return _table(figures, SPEEDS, with_limit=True)


def cost_table(figures: Sequence[Figure]) -> str:
    return _table(figures, COSTS, with_limit=False)


def shared_table(figures: Sequence[Figure]) -> str:
    """What jobs and background flows got of links they shared; nothing where there were none."""

    def column(index: int, name: str) -> Column:
        return name, SHARED_COLUMNS[name], lambda figure: shared_cells(figure)[index]

    headings = shared_headings(figures)
    if not headings:
        return ""
    columns = [column(index, name) for index, name in enumerate(headings)]
    return f"<h3>With others</h3>{_table(figures, columns, with_limit=False)}"
