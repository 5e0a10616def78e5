"""What does a job get that knows nothing of its network? First calls, settled ones, a second job.

Run as `python -m allemande.study.by_itself`, or `make bench-by-itself`. For each cluster, library
and size, in the lab:

- described: with the cluster file and without trials, the mean of the calls;
- first 50: without a file, by default, the mean of the first 50 calls after the one that brings the
  communicator up, or of as many as fit LONG_S;
- settled: the mean of the last quarter of these calls;
- second job: the mean of the first calls of another job, which has what the first has decided;
- stock: the library alone, the median of three calls.

Exit code 1 where a row misses what is asked.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import typer
from rich.table import Table

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.entry import run_command
from allemande.errors import Failed
from allemande.quantities import format_seconds, format_size
from allemande.simulation.networks import as_cluster_file, find_cluster
from allemande.study.measuring import conclude, keep_rows, libraries_of, measured
from allemande.tables import right, ruled_table
from allemande.topology import Cluster

CLUSTERS = "oversubscribed-8x4,shallow-4x2,tam-8x4,leaf-spine-4x4,fat-tree:16"
FIRST = 50
LONG_S = 20.0  # of calls of one size in one job
CALLS_MIN = 8
FIRST_MAX = 1.10  # times described and settled
SECOND_MAX = 1.03
SETTLED_MIN = 0.97  # part of described, from SETTLED_BYTES on
SETTLED_BYTES = 3000
RATE_MBIT_S = 100.0  # of the ready-made clusters


@dataclass(frozen=True)
class Row:
    """One size on one cluster with one library; times in seconds."""

    cluster: str
    library: str
    size: int
    described: float
    first: float
    calls: int  # that `first` is the mean of
    settled: float
    second: float
    stock: float

    def misses(self) -> list[str]:
        """Which of the figures asked for are missed."""
        missed = []
        if self.first > FIRST_MAX * self.described:
            missed.append(f"first {self.calls}")
        if self.size >= SETTLED_BYTES and self.described < SETTLED_MIN * self.settled:
            missed.append("settled")
        if self.second > SECOND_MAX * self.described:
            missed.append("second job")
        return missed


def verdict(rows: Sequence[Row]) -> tuple[bool, str]:
    """Whether no row misses a figure, and the line that says so."""
    missed = [
        f"{row.cluster} {row.library} {format_size(row.size)}" for row in rows if row.misses()
    ]
    line = (
        f"{len(rows)} rows; first calls at most {FIRST_MAX:g} times described, settled at least "
        f"{SETTLED_MIN:.0%} of it, second job at most {SECOND_MAX:g}: "
    )
    return not missed, line + (f"missed by {', '.join(missed)}" if missed else "met")


def first_calls(times_s: Sequence[float]) -> list[float]:
    """The first FIRST of them, or as many as fit LONG_S, at least CALLS_MIN."""
    kept: list[float] = []
    for time_s in times_s[:FIRST]:
        if len(kept) >= CALLS_MIN and sum(kept) + time_s > LONG_S:
            break
        kept.append(time_s)
    return kept


def _times(compared: Comparison, size: int) -> list[float]:
    for figure in compared.figures:
        if figure.size == size and figure.times_s:
            return figure.times_s
    raise Failed(f"{size} bytes: {'; '.join(compared.warnings) or 'not measured'}")


def _run(cluster: str, scale: float, size: int, candidate: str, effort: Effort) -> list[float]:
    request = Request(cluster, [size], parse_candidates([candidate]), effort, scale=scale)
    return _times(measured(request), size)


def _measure(cluster: str, library: str, size: int, scale: float, cache: Path) -> Row:
    few = Effort(rounds=1, calls=5, calls_max=30, seconds=3.0)
    first = Effort(rounds=1, calls=CALLS_MIN, calls_max=FIRST, seconds=LONG_S, seconds_max=LONG_S)
    second = Effort(rounds=1, calls=5, calls_max=FIRST, seconds=6.0, seconds_max=LONG_S)
    alone = f"allemande+{library}:cluster=off,trials=on,decisions={cache}"
    described = fmean(_run(cluster, scale, size, f"allemande+{library}", few))
    times_s = first_calls(_run(cluster, scale, size, alone, first))
    again_s = _run(cluster, scale, size, alone, second)
    stock = Effort(rounds=1, calls=3, calls_max=3, seconds=0)
    return Row(
        Path(cluster).stem,
        library,
        size,
        described,
        fmean(times_s),
        len(times_s),
        fmean(times_s[-max(1, len(times_s) // 4) :]),
        fmean(again_s),
        median(_run(cluster, scale, size, library, stock)),
    )


def scale_of(cluster: Cluster, scale: float) -> float:
    """By which links become as slow as those of the other clusters, which processors carry."""
    return scale * min(1.0, RATE_MBIT_S / min(link.rate_up_mbit_s for link in cluster.links))


def row_text(row: Row) -> str:
    """One line, as it is measured."""
    ratios = ", ".join(
        f"{name} {time_s / row.described:.2f}"
        for name, time_s in (
            ("first", row.first),
            ("settled", row.settled),
            ("second job", row.second),
        )
    )
    missed = f"; missed: {', '.join(row.misses())}" if row.misses() else ""
    return (
        f"{row.cluster}, {row.library}, {format_size(row.size)}: "
        f"described {format_seconds(row.described)}, {ratios} times that; "
        f"stock {format_seconds(row.stock)}{missed}"
    )


def _table(rows: Sequence[Row]) -> Table:
    times = ("described", "first calls", "", "settled", "", "second job", "", "stock")
    table = ruled_table(None, "cluster", "library", *right("size", *times), "missed")
    for row in rows:
        cells = [row.cluster, row.library, format_size(row.size), format_seconds(row.described)]
        for time_s in (row.first, row.settled, row.second):
            cells += [format_seconds(time_s), f"{time_s / row.described:.2f}"]
        table.add_row(*cells, format_seconds(row.stock), ", ".join(row.misses()))
    return table


def _command(
    clusters: Annotated[str, typer.Option(help="Separated by commas.")] = CLUSTERS,
    libraries: Annotated[str, typer.Option(help="openmpi, mpich.")] = "openmpi,mpich",
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = "1K,10K,50K",
    scale: Annotated[
        float, typer.Option(help="Link rates times this, where the slowest link has 100 Mbit/s.")
    ] = 0.1,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The rows, as JSON.")] = Path(
        "out/by-itself.json"
    ),
) -> None:
    """Compare jobs that know nothing of their network with jobs that have a cluster file."""
    wanted = libraries_of(libraries)
    rows: list[Row] = []
    with ExitStack() as held:
        # All names are looked up before the first of many minutes.
        networks = [held.enter_context(as_cluster_file(name)) for name in clusters.split(",")]
        scales = [scale_of(find_cluster(network), scale) for network in networks]
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix="allemande-by-itself-"))
        for cluster, scaled in zip(networks, scales, strict=True):
            for library in wanted:
                for size in parse_sizes(sizes):
                    cache = Path(folder) / f"{len(rows)}.toml"
                    rows.append(_measure(cluster, library, size, scaled, cache))
                    print(row_text(rows[-1]), flush=True)
                    keep_rows(output, rows)
    conclude(_table(rows), verdict(rows))


if __name__ == "__main__":
    sys.exit(run_command("bench-by-itself", _command))
