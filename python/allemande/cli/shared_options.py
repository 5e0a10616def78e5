"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class TimersChoice(StrEnum):
    scaled = "scaled"
    real = "real"


JsonArrayFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a JSON array; '-' is stdout.")
]
SizesOption = Annotated[
    str,
    typer.Option(metavar="BYTES", help="Bytes per pair, separated by commas; KB, KiB, MB, MiB."),
]
CsvFile = Annotated[str | None, typer.Option(metavar="FILE", help="Write CSV; '-' is stdout.")]
TimersOption = Annotated[
    TimersChoice | None,
    typer.Option(
        help="Time-outs, TCP's and allemande's: divided by the scale, or as at full speed. "
        "Default: scaled below scale 1."
    ),
]
