"""What the studies that measure in the lab share: rows that are kept, and how a study ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from allemande.bench.comparison import Comparison, compare
from allemande.bench.request import Request
from allemande.output_files import write_output

AnyRow = TypeVar("AnyRow")


def rows_text(rows: Iterable[Any]) -> str:
    """Dataclasses as JSON."""
    return json.dumps([asdict(row) for row in rows], indent=1) + "\n"


def kept_rows(
    path: Path, kind: Callable[..., AnyRow], measure: Callable[[], Iterable[AnyRow]]
) -> list[AnyRow]:
    """What lies in the file; if there is none, what is measured now, which the file keeps."""
    if not path.is_file():
        write_output(str(path), rows_text(measure()))
    return [kind(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def measured(request: Request) -> Comparison:
    """The comparison; raises Failed where something of it failed."""
    names = ",".join(candidate.name for candidate in request.candidates)
    return compare(request).or_fail(f"{request.cluster}, {names}")


def conclude(table: Table, verdict: tuple[bool, str]) -> None:
    """Shows the table, and the line that says whether all figures are reached; else exit code 1."""
    good, line = verdict
    Console(width=160).print(table)
    print(line)
    if not good:
        raise typer.Exit(1)
