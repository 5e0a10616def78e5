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
JsonFile = Annotated[str | None, typer.Option(metavar="FILE", help="Write JSON; '-' is stdout.")]
CsvFile = Annotated[str | None, typer.Option(metavar="FILE", help="Write CSV; '-' is stdout.")]
TimersOption = Annotated[
    TimersChoice | None,
    typer.Option(
        help="Time-outs, TCP's and allemande's: divided by the scale, or as at full speed. "
        "Default: scaled below scale 1."
    ),
]
# What a job that is run is told.
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="FILE", help="The cluster file, or a ready-made name."),
]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", metavar="FILE", help="What was measured of this network."),
]
AssignmentsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an option (see `allemande config`)."),
]
