"""`allemande doctor`: what this machine offers, and what to set."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from allemande.doctor.collect import collect
from allemande.doctor.findings import Finding, examine, failed


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
    findings = examine(collect(cluster_file=cluster or None, launchers=mpirun or (), jobs=jobs))
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if failed(findings):
        raise typer.Exit(1)


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("finding", ratio=1, overflow="fold")
    colours = {"ok": "green", "note": "yellow", "bad": "bold red"}
    for finding in findings:
        mark = f"[{colours[finding.status]}]{finding.status}[/]"
        table.add_row(finding.check, mark, _plain(finding.says))
        if finding.fix:
            table.add_row("", "", f"[bold]→[/] {_plain(finding.fix)}")
    console = Console(highlight=False)
    console.print(table)
    count = {status: sum(f.status == status for f in findings) for status in colours}
    console.print(f"{count['ok']} ok, {count['note']} to note, {count['bad']} bad")


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
