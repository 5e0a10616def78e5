"""Findings as a table for people, and as JSON."""

from __future__ import annotations

import dataclasses
import json

from rich.console import Console
from rich.markup import escape
from rich.table import Column

from allemande.doctor.findings import Finding
from allemande.tables import left, plain_table


def to_json(findings: list[Finding]) -> str:
    return json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2)


def print_table(findings: list[Finding]) -> None:
    table = plain_table(None, *left("check", ""), Column("finding", ratio=1, overflow="fold"))
    colours = {"ok": "green", "note": "yellow", "bad": "bold red"}
    for finding in findings:
        mark = f"[{colours[finding.status]}]{finding.status}[/]"
        table.add_row(finding.check, mark, escape(finding.says))
        if finding.fix:
            table.add_row("", "", f"[bold]→[/] {escape(finding.fix)}")
    console = Console(highlight=False)
    console.print(table)
    count = {status: sum(f.status == status for f in findings) for status in colours}
    console.print(f"{count['ok']} ok, {count['note']} to note, {count['bad']} bad")
