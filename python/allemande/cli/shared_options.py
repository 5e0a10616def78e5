"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

JsonArrayFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a JSON array; '-' is stdout.")
]
CsvFile = Annotated[str | None, typer.Option(metavar="FILE", help="Write CSV; '-' is stdout.")]
