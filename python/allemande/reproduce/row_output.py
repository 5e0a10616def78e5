"""Published figures beside ours, as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from allemande.quantities import MISSING, format_ratio
from allemande.reproduce.experiment import Experiment, Row
from allemande.tables import right, ruled_table, widen

COLUMNS = ("figure", "point", "published", "ours", "ratio")


def print_rows(console: Console, experiment: Experiment, rows: Sequence[Row]) -> None:
    widen(console, 140)
    table = ruled_table(experiment.title, *COLUMNS[:2], *right(*COLUMNS[2:]))
    for row in rows:
        published = MISSING if row.published is None else f"{row.published:.4g}"
        table.add_row(
            row.figure,
            row.point,
            published,
            MISSING if row.ours is None else f"{row.ours:.4g}",
            format_ratio(row.ratio),
        )
    console.print(table)
