"""The sweep's rows as tables: per cluster, and the worst of all last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from allemande.bench.figures import CPU_IDLE_MIN
from allemande.quantities import (
    MISSING,
    format_part,
    format_ratio,
    format_seconds,
    format_size,
)
from allemande.study.sweep_store import Row
from allemande.tables import left, right, ruled_table, widen

FIGURES = (
    *("its time", "default", "ours", "best/ours", "default/ours"),
    *("of limit", "by us", "idle", "trials cost"),
)


def _shown_ratio(value: float | None) -> Text:
    return Text(format_ratio(value), style="red" if value is not None and value < 1 else "")


def _shown_idle(row: Row) -> Text:
    if row.cpu_idle is None:
        return Text(MISSING)
    return Text(f"{row.cpu_idle:.0%}", style="red" if row.is_busy else "")


def print_cluster(console: Console, title: str, rows: Sequence[Row]) -> None:
    widen(console, 150)
    columns = (*right("size"), *left("library", "best stock"), *right(*FIGURES))
    table = ruled_table(title, *columns)
    for row in rows:
        table.add_row(
            format_size(row.size),
            row.library,
            row.best_stock or MISSING,
            format_seconds(row.best_stock_s),
            format_seconds(row.default_s),
            format_seconds(row.ours_s),
            _shown_ratio(row.against_best),
            _shown_ratio(row.against_default),
            format_part(row.limit_s / row.ours_s if row.ours_s else None),
            MISSING if row.own_part is None else f"{row.own_part:.0%}",
            _shown_idle(row),
            MISSING if row.trial_cost is None else f"{row.trial_cost:+.1%}",
        )
    console.print(table)


def _worst_line(
    name: str, found: Mapping[str, Sequence[Row]], value: Callable[[Row], float | None]
) -> str:
    known = [
        (ratio, cluster, row)
        for cluster, rows in found.items()
        for row in rows
        if (ratio := value(row)) is not None
    ]
    if not known:
        return f"{name}: nothing to compare"
    ratio, cluster, row = min(known, key=lambda item: item[0])
    below = sum(item[0] < 1 for item in known)
    return (
        f"{name}: {format_ratio(ratio)} ({cluster}, {format_size(row.size)}, {row.library}); "
        f"below 1 in {below} of {len(known)}"
    )


def print_worst(console: Console, found: Mapping[str, Sequence[Row]]) -> None:
    costs = [
        row.trial_cost for rows in found.values() for row in rows if row.trial_cost is not None
    ]
    if costs:
        mean = sum(costs) / len(costs)
        line = (
            f"cost of trials over the first calls: {mean:+.1%} on average, {max(costs):+.1%} worst"
        )
        console.print(line, highlight=False, soft_wrap=True)
    busy = sum(row.is_busy for rows in found.values() for row in rows)
    if busy:
        line = (
            f"[yellow]processors less than {CPU_IDLE_MIN:.0%} idle in {busy} figures of allemande: "
            "the links may not be the limit; use a smaller --scale[/]"
        )
        console.print(line, highlight=False, soft_wrap=True)
    wrong = sum(row.wrong_bytes for rows in found.values() for row in rows)
    console.print(
        "every byte was right" if wrong == 0 else f"[bold red]{wrong} WRONG BYTES[/]",
        highlight=False,
    )
    for name, value in (
        ("worst of best stock / ours", lambda row: row.against_best),
        ("worst of default stock / ours", lambda row: row.against_default),
    ):
        console.print(_worst_line(name, found, value), highlight=False, soft_wrap=True)
