"""`allemande demo`: the main job, shown in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allemande.cli.shared_options import TimersOption


def command(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where report.html, plots and figures go.")
    ] = Path("out/demo"),
    timers: TimersOption = None,
) -> None:
    """Compare MPI_Alltoall with and without allemande on three emulated clusters.

    shallow-4x2, 8 hosts at a quarter of full speed; oversubscribed-8x4 and tam-8x4, 32 hosts at a
    tenth of it.
    Stock Open MPI and MPICH, the best of their other algorithms, and each library with allemande
    preloaded. Every received byte is checked. The page shows what links, queues and time-outs did
    over one exchange. Then real programs, stock and preloaded (`allemande examples`). Takes about
    twelve minutes.
    """
    from allemande.output_files import check_folder
    from allemande.report.demo_run import run_demo

    check_folder("--output", output)
    if not run_demo(output, None if timers is None else timers.value):
        raise typer.Exit(1)
