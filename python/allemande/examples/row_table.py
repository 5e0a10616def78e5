"""Compared programs as a table for people and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from allemande.examples.catalog import OURS, STOCK
from allemande.examples.program_runs import Row
from allemande.tables import plain_table, right, widen

TEXTS = ("program", "MPI", "call", "time of")
FIGURES = ("stock", "best stock", "allemande", "ratio")
COLUMNS = (*TEXTS, *FIGURES)
WIDTH = 140  # of lines in a file


def cells(row: Row) -> tuple[str, ...]:
    best, best_s = row.best_stock()
    return (
        row.program.what,
        row.mpi,
        row.program.exchange,
        "communication" if row.counts_communication else "all of it",
        f"{row.time(STOCK.name):.2f} s",
        f"{best_s:.2f} s" + (f" ({best})" if best != STOCK.name else ""),
        f"{row.time(OURS.name):.2f} s",
        f"{row.ratio():.2f}",
    )


def markdown(rows: Sequence[Row], setting: str) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|---|---|---:|---:|---:|---:|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join([*lines, "", setting, ""])


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    widen(console, WIDTH)
    table = plain_table(None, *TEXTS, *right(*FIGURES))
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
