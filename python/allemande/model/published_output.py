"""The papers' models as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from allemande.model.published import Model
from allemande.quantities import MISSING, format_seconds, format_size
from allemande.tables import right, ruled_table


def print_models(console: Console, models: Sequence[Model]) -> None:
    """A table for each number of hosts and size, in the order of the papers."""
    for (ranks, size), group in groupby(models, key=lambda one: (one.ranks, one.size)):
        title = f"{ranks} hosts, {format_size(size)} per pair: the papers' models, beside ours"
        times = right("time", "ours")
        table = ruled_table(title, "model", "source", *times, "of", "assumes", "fails here")
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
