"""`allemande doctor`: what this machine offers, and what to set."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    cluster: Annotated[
        str, typer.Option("--cluster", metavar="FILE", help="A cluster file to check as well.")
    ] = "",
    mpirun: Annotated[
        list[str] | None,
        typer.Option("--mpirun", metavar="PATH", help="A launcher to check, in place of PATH's."),
    ] = None,
    jobs: Annotated[
        bool, typer.Option("--jobs/--no-jobs", help="Run a job of 2 processes under each launcher.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead.")] = False,
) -> None:
    """Check this machine; say what to set and how.

    Kernel limits, UDP sockets, interfaces, MPI libraries (with a job of two processes on loopback
    under each), the configuration, a cluster file, and what the lab needs. Nothing is changed.
    Exit code 1 where something does not work; notes cost speed at most.
    """
    from allemande.doctor.collect import collect
    from allemande.doctor.findings import examine, failed
    from allemande.doctor.findings_output import print_table, to_json

    findings = examine(collect(cluster_file=cluster or None, launchers=mpirun or (), jobs=jobs))
    if as_json:
        typer.echo(to_json(findings))
    else:
        print_table(findings)
    if failed(findings):
        raise typer.Exit(1)
