"""`allemande demo`: the main job, shown in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allemande.cli.shared_options import TimersOption


def command(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where report.html and the plot go.")
    ] = Path("out/demo"),
    timers: TimersOption = None,
) -> None:
    """Boot an emulated cluster of 32 hosts and compare MPI_Alltoall with and without allemande.

    Four leaf switches and a core switch with shaped links and shallow queues; stock Open MPI, stock
    MPICH and each with allemande preloaded; 1, 10 and 50 KB to each other rank. Every received byte
    is checked. Then real programs, stock and preloaded (`allemande examples`). Takes about four
    minutes.
    """
    from allemande.report.demo_run import run_demo

    if not run_demo(output, None if timers is None else timers.value):
        raise typer.Exit(1)
