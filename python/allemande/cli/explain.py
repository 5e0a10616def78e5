"""`allemande explain`: which way exchanges took, over which others, and why."""

from __future__ import annotations

import csv as csv_format
import io
import json as json_format
from dataclasses import asdict
from typing import Annotated, Any

import typer

from allemande.cli.outputs import (
    STDOUT,
    CsvFile,
    JsonArrayFile,
    check_outputs,
    write_output,
)
from allemande.decisions import ONE_SIZE, Decision, load_decisions

LINE_MAX = 400
COLUMNS = (
    *("mpi", "version", "configuration", "ranks", "hosts"),
    *("calls", "least_bytes", "most_bytes"),
    *("way", "chosen", "time_us", "seen", "packets", "why"),
)


def rows(decisions: list[Decision]) -> list[dict[str, Any]]:
    """One row per way; `why` beside the one chosen."""
    return [
        {
            **{name: getattr(one, name) for name in COLUMNS[:8]},
            "way": way.name,
            "chosen": way.name == one.chosen,
            "time_us": way.time_us,
            "seen": way.seen,
            "packets": way.packets,
            "why": one.why if way.name == one.chosen else "",
        }
        for one in decisions
        for way in one.ways
    ]


def bytes_title(one: Decision) -> str:
    return "bytes per pair" if one.calls == ONE_SIZE else "bytes at the fullest rank"


def as_csv(decisions: list[Decision]) -> str:
    text = io.StringIO()
    writer = csv_format.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(decisions))
    return text.getvalue()


def print_table(decisions: list[Decision]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=LINE_MAX, highlight=False)
    jobs: dict[str, list[Decision]] = {}
    for one in decisions:
        hosts = "" if one.hosts == one.ranks else f" on {one.hosts} hosts"
        job = (
            f"{one.ranks} ranks{hosts}, {one.mpi}, allemande {one.version}, "
            f"configuration {one.configuration}: {one.calls}"
        )
        jobs.setdefault(job, []).append(one)
    for job, of_job in jobs.items():
        console.print(f"[bold]{escape(job)}[/bold]")
        table = Table(box=None, pad_edge=False)
        for column, right in (
            *((bytes_title(of_job[0]), True), ("", False), ("way", False), ("ms", True)),
            *(("seen", True), ("packets", True), ("why", False)),
        ):
            table.add_column(column, justify="right" if right else "left")
        for one in of_job:
            size = f"{one.least_bytes} to {one.most_bytes}"
            for way in one.ways:
                chosen = way.name == one.chosen
                table.add_row(
                    size,
                    "*" if chosen else "",
                    escape(way.name),
                    "not tried" if way.time_us is None else f"{way.time_us / 1000:.3g}",
                    str(way.seen),
                    "" if way.packets is None else str(way.packets),
                    escape(one.why) if chosen else "",
                )
                size = ""
        console.print(table)
        console.print()
    if not decisions:
        console.print("No decision has been made yet.")


def command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What ALLEMANDE_DECISIONS has named.")
    ],
    json: JsonArrayFile = None,
    csv: CsvFile = None,
) -> None:
    """Show a decision file: which way exchanges took, over which others, and why.

    `*` marks the way taken; times are those of the slowest rank, packets the model's figure.
    """
    check_outputs({"--json": json, "--csv": csv})
    decisions = load_decisions(file)
    write_output(json, json_format.dumps([asdict(one) for one in decisions], indent=2) + "\n")
    write_output(csv, as_csv(decisions))
    if STDOUT not in (json, csv):
        print_table(decisions)
