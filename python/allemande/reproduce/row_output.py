"""Published beside ours: as a table, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from allemande.quantities import MISSING, format_ratio
from allemande.reproduce.experiment import Experiment, Row


def to_json(rows: Sequence[Row]) -> str:
    return json.dumps([row.as_json() for row in rows], indent=2) + "\n"


def to_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, ["figure", "point", "published", "ours", "ratio"], lineterminator="\n"
    )
    writer.writeheader()
    for row in rows:
        writer.writerow(row.as_json())
    return text.getvalue()


def print_rows(console: Console, experiment: Experiment, rows: Sequence[Row]) -> None:
    if not console.is_terminal:
        console.width = max(console.width, 140)  # a file has no edge to wrap at
    table = Table(
        title=experiment.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for heading in ("figure", "point"):
        table.add_column(heading)
    for heading in ("published", "ours", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
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
