"""Predictions as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from allemande.model.predict import Row
from allemande.quantities import format_part, format_seconds, format_size
from allemande.tables import left, right, ruled_table

FIGURES = ("time", "90 % interval", "of limit", "of bound", "MB/s per rank")


def _table(title: str, rows: Sequence[Row]) -> Table:
    table = ruled_table(title, *left("candidate"), *right(*FIGURES), *left("basis", "way"))
    for row in rows:
        table.add_row(
            row.candidate,
            format_seconds(row.time_s),
            f"{format_seconds(row.low_s)} to {format_seconds(row.high_s)}",
            format_part(None if row.limit_s is None else row.limit_s / row.time_s),
            format_part(None if row.bound_s is None else row.bound_s / row.time_s),
            f"{row.bandwidth_mb_s:.3g}",
            row.basis,
            row.way,
        )
    return table


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """A table for each number of hosts and size, the fastest first."""
    for (ranks, size), group in groupby(rows, key=lambda row: (row.ranks, row.size)):
        found = list(group)
        limit, bound = found[0].limit_s, found[0].bound_s
        allowed = "" if limit is None else f"; the links allow {format_seconds(limit)}"
        if bound is not None:
            allowed += f", {format_seconds(bound)} with the ways of packets"
        console.print(_table(f"{ranks} hosts, {format_size(size)} per pair{allowed}", found))
