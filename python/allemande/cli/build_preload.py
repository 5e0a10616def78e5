"""`allemande build-preload`: the libraries for LD_PRELOAD, for the site's MPI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allemande.preload_build import build


def command(
    mpicc: Annotated[
        str, typer.Option("--mpicc", help="The compiler wrapper of the MPI library.")
    ] = "mpicc",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            help="Folder for the libraries.  [default: ~/.local/share/allemande/VERSION]",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Compilers at once.  [default: processors]")
    ] = None,
) -> None:
    """Build the library for LD_PRELOAD, for the MPI library that is installed here.

    Needs cmake, ninja or make, and a C++20 compiler. `allemande run` and `allemande preload` find
    the result in the default folder. A library serves every release with the same binary interface
    (soname): Open MPI 4 and 5; MPICH 3.4 to 5, MVAPICH and Intel MPI.
    """
    for library in build(
        mpicc, output, jobs=jobs, tell=lambda text: typer.echo(f"allemande: {text}", err=True)
    ):
        typer.echo(library)
