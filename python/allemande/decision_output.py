"""Decisions as a table for people, as CSV and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column

from allemande.decisions import ONE_SIZE, Decision
from allemande.row_text import csv_text, json_text
from allemande.tables import plain_table
from allemande.text_files import shown

LINE_MAX = 400
COLUMNS = (
    *("mpi", "version", "configuration", "ranks", "hosts"),
    *("calls", "least_bytes", "most_bytes"),
    *("way", "chosen", "time_us", "predicted_us", "seen", "packets", "why"),
)


def _rows(decisions: list[Decision]) -> list[dict[str, Any]]:
    """One row per way; `why` beside the one chosen."""
    return [
        {
            **{name: getattr(one, name) for name in COLUMNS[:8]},
            "way": way.name,
            "chosen": way.name == one.chosen,
            "time_us": way.time_us,
            "predicted_us": way.predicted_us,
            "seen": way.seen,
            "packets": way.packets,
            "why": one.why if way.name == one.chosen else "",
        }
        for one in decisions
        for way in one.ways
    ]


def _bytes_title(one: Decision) -> str:
    return "bytes per pair" if one.calls == ONE_SIZE else "bytes at the fullest rank"


def _milliseconds(time_us: float | None, unknown: str) -> str:
    return unknown if time_us is None else f"{time_us / 1000:.3g}"


def to_json(decisions: list[Decision]) -> str:
    return json_text([asdict(one) for one in decisions])


def to_csv(decisions: list[Decision]) -> str:
    return csv_text(COLUMNS, _rows(decisions))


def print_table(decisions: list[Decision]) -> None:
    console = Console(width=LINE_MAX, highlight=False)
    jobs: dict[str, list[Decision]] = {}
    for one in decisions:
        hosts = "" if one.hosts == one.ranks else f" on {one.hosts} hosts"
        job = (
            f"{one.ranks} ranks{hosts}, {one.mpi}, allemande {one.version}, "
            f"configuration {one.configuration}"
            f"{'' if one.profile is None else f', profile {one.profile}'}: {one.calls}"
        )
        jobs.setdefault(job, []).append(one)
    for job, of_job in jobs.items():
        console.print(f"[bold]{escape(shown(job))}[/bold]")
        predicted = any(way.predicted_us is not None for one in of_job for way in one.ways)
        headings = ("ms", *(("predicted",) if predicted else ()), "seen", "packets")
        figures = [
            Column(heading, justify="right") for heading in (_bytes_title(of_job[0]), *headings)
        ]
        table = plain_table(None, figures[0], "", "way", *figures[1:], "why")
        for one in of_job:
            size = f"{one.least_bytes} to {one.most_bytes}"
            for way in one.ways:
                chosen = way.name == one.chosen
                table.add_row(
                    size,
                    "*" if chosen else "",
                    escape(shown(way.name)),
                    _milliseconds(way.time_us, "not tried"),
                    *((_milliseconds(way.predicted_us, ""),) if predicted else ()),
                    str(way.seen),
                    "" if way.packets is None else str(way.packets),
                    escape(shown(one.why)) if chosen else "",
                )
                size = ""
        console.print(table)
        console.print()
    if not decisions:
        console.print("No decision has been made yet.")
