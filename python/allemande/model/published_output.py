"""The papers' models as a table for people, as CSV and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from allemande.csv_text import csv_text
from allemande.model.published import COLUMNS, Model
from allemande.quantities import MISSING, format_seconds, format_size

RIGHT = ("time", "ours")


def to_json(models: Sequence[Model]) -> str:
    return json.dumps([model.as_json() for model in models], indent=2) + "\n"


def to_csv(models: Sequence[Model]) -> str:
    return csv_text(COLUMNS, (model.as_json() for model in models))


def print_models(console: Console, models: Sequence[Model]) -> None:
    """A table for each number of hosts and size, in the order of the papers."""
    for (ranks, size), group in groupby(models, key=lambda one: (one.ranks, one.size)):
        title = f"{ranks} hosts, {format_size(size)} per pair: the papers' models, beside ours"
        table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for heading in ("model", "source", *RIGHT, "of", "assumes", "fails here"):
            right = heading in RIGHT
            table.add_column(heading, justify="right" if right else "left", no_wrap=right)
        for one in group:
            table.add_row(
                one.model,
                one.source,
                format_seconds(one.time_s),
                format_seconds(one.ours_s),
                one.candidate or (MISSING if one.ours_s is None else "the links alone"),
                one.assumes,
                one.fails or MISSING,
            )
        console.print(table)
