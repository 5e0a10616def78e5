"""`allemande run`: an MPI launcher with allemande preloaded in every rank."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from allemande import config
from allemande.cli.preload import Mpi
from allemande.cli.shared_options import AssignmentsOption, ClusterOption, ProfileOption
from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput, Failed
from allemande.preload import launch
from allemande.site_file import sites_option


def _readable_cluster(name: str) -> Path:
    """The file, absolute. Raises BadInput where it is no cluster file."""
    from allemande.topology import load_cluster

    load_cluster(name)
    return find_cluster_file(name).absolute()


def _readable_profile(name: str) -> Path:
    """The file, absolute; rank 0 may start elsewhere. Raises BadInput where it is no profile."""
    from allemande.model.profile import load_profile

    load_profile(name)
    return Path(name).absolute()


def job_flags(
    cluster: str | None, profile: str | None, sites: str | None, assignments: list[str] | None
) -> dict[str, str]:
    """The options that a command line sets. Raises BadInput: here, once, and not by every rank."""
    flags = config.parse_flags(assignments or [])
    if cluster is not None:
        flags["cluster"] = str(_readable_cluster(cluster))
    if profile is not None:
        flags["profile"] = str(_readable_profile(profile))
    if sites is not None:
        flags["sites"] = sites_option(Path(sites))
    config.load(flags)
    return flags


def command(
    launcher: Annotated[
        list[str],
        typer.Argument(metavar="-- LAUNCHER ARGUMENT...", help="For example: mpirun -n 32 ./app"),
    ],
    mpi: Annotated[
        Mpi | None,
        typer.Option(
            "--mpi",
            help="The MPI library; default: what the program is linked to, or the launcher's own.",
        ),
    ] = None,
    cluster: ClusterOption = None,
    profile: ProfileOption = None,
    sites: Annotated[
        str | None,
        typer.Option(
            "--sites",
            metavar="FILE",
            help="A machine file that says with lines `# site NAME` where the hosts after them "
            "are; for the algorithms that know sites.",
        ),
    ] = None,
    assignments: AssignmentsOption = None,
) -> None:
    """Run an MPI launcher with allemande preloaded in every rank.

    The launcher is told to forward LD_PRELOAD and the ALLEMANDE_ variables: Open MPI by -x, MPICH
    by -genv; srun forwards its environment anyway. Nothing else of the command changes.
    """
    settings = config.to_environment(job_flags(cluster, profile, sites, assignments))
    line, environment = launch(launcher, settings, mpi=mpi.value if mpi else None)
    try:
        os.execvpe(line[0], line, environment)
    except FileNotFoundError as error:
        raise BadInput(f"{line[0]}: no such command") from error
    except OSError as error:
        raise Failed(f"{line[0]}: cannot be run: {error.strerror}") from error
