"""`allemande preload`: the path for LD_PRELOAD."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from allemande.preload import library_path


class Mpi(StrEnum):
    OPENMPI = "openmpi"
    MPICH = "mpich"
    MPIABI = "mpiabi"


def command(
    mpi: Annotated[
        Mpi, typer.Option("--mpi", help="What the program is linked to; mpiabi: libmpi_abi.so.1.")
    ],
) -> None:
    """Print the library path for LD_PRELOAD.

    LD_PRELOAD=$(allemande preload --mpi openmpi) must reach every rank: `allemande run` adds the
    launcher's options for that.
    """
    typer.echo(library_path(mpi.value))
