"""What the studies share: rows that are kept, how they use the processors, and how they end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from allemande.bench.comparison import Comparison, compare
from allemande.bench.request import Request
from allemande.errors import BadInput
from allemande.lab.mpi_launch import LIBRARIES
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


def keep_rows(path: Path, rows: Iterable[Any]) -> None:
    """In a file, whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(str(path), rows_text(rows))


def libraries_of(text: str) -> list[str]:
    """What `--libraries` names; raises BadInput where that is no library of LIBRARIES."""
    names = text.split(",")
    for name in names:
        if name not in LIBRARIES:
            raise BadInput(f"--libraries {name}: expected {', '.join(LIBRARIES)} or both")
    return names


def on_all_processors(look: Callable[..., AnyRow], *arguments: Iterable[Any]) -> list[AnyRow]:
    """As map(), in a process for each processor."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(look, *arguments))


def on_networks(
    look: Callable[[int, int], AnyRow], first: int, networks: int, sizes: Iterable[int]
) -> list[AnyRow]:
    """What is seen on so many random networks, from this seed on, with each size."""
    return on_all_processors(
        look, *zip(*product(range(first, first + networks), sizes), strict=True)
    )


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
