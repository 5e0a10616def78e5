"""Is any program slower with allemande preloaded? Random programs, stock and preloaded by turns.

Run as `python -m allemande.study.never_slower`, or `make bench-never-slower`. Programs of
`bench/random_program.c`: 1 to 4 phases, each of one form (MPI_Alltoall, MPI_Alltoallv,
MPI_Ialltoall, MPI_Neighbor_alltoall), of 8 bytes or more, on all ranks or on a half of them; 20 to
2,000 calls in all. No cluster file, no option, and no decision of an earlier job. The time is that
of the slowest rank, from the begin of main() to the end of MPI_Finalize: under MPICH a rank may
leave while others still exchange. Of several jobs the least counts: a job that was disturbed is
slower, none is faster.

Exit code 1 where a program takes more than COST_MAX of stock's time, or the median more than
MEDIAN_MAX.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.table import Table

from allemande.bench.program import build_program
from allemande.entry import run_command
from allemande.errors import Failed
from allemande.lab import Lab
from allemande.lab.mpi_launch import LIBRARIES
from allemande.preload import library_path
from allemande.quantities import format_seconds
from allemande.study.measuring import conclude, keep_rows, libraries_of
from allemande.study.random_sites import between
from allemande.tables import right, ruled_table

SOURCE = "bench/random_program.c"
CLUSTERS = "shallow-4x2,tam-8x2"
PROGRAMS = 40
ROUNDS = 2
CALLS = (20.0, 2000.0)
BYTES = (1e5, 1e7)  # that a rank sends in all calls together
COST_MAX = 1.05  # times stock, of each program
MEDIAN_MAX = 1.00
TIMEOUT_S = 300.0
MORE_ROUNDS = 4  # of a program that seems slower


@dataclass
class Row:
    """One program; seconds of each job."""

    cluster: str
    library: str
    seed: int
    calls: int
    bytes: int
    stock: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return min(self.ours) / min(self.stock)


def drawn(cluster: str, library: str, seed: int) -> Row:
    """The program of this seed."""
    draw = random.Random(f"program {seed}")
    calls = round(between(draw, CALLS))
    return Row(cluster, library, seed, calls, round(between(draw, BYTES)))


def _seconds(lab: Lab, row: Row, preload: Path | None, cache: Path) -> float:
    program = [str(build_program(row.library, SOURCE))]
    program += [str(row.seed), str(row.calls), str(row.bytes)]
    command = lab.mpi_command(
        row.library,
        None,
        program,
        env={"XDG_CACHE_HOME": str(cache), "ALLEMANDE_CLUSTER": "off"} if preload else {},
        preload=preload,
    )
    side = "preloaded" if preload else "stock"
    name = f"{row.cluster}, {row.library}, program {row.seed}, {side}"
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{name}: not done after {TIMEOUT_S:.0f} s") from error
    lines = [line for line in run.stdout.splitlines() if line.startswith("seconds ")]
    if run.returncode != 0 or not lines:
        raise Failed(f"{name}: exit code {run.returncode}\n{run.stderr.strip()}")
    return max(float(line.split()[1]) for line in lines)


def _round(lab: Lab, row: Row, first: bool) -> None:
    """Both sides once, one after the other; `first`: stock begins."""
    preload = library_path(row.library)
    for stock in (first, not first):
        with tempfile.TemporaryDirectory(prefix="allemande-cache-") as cache:
            times = row.stock if stock else row.ours
            times.append(_seconds(lab, row, None if stock else preload, Path(cache)))


def _measure(
    cluster: str, libraries: Sequence[str], seeds: Sequence[int], rounds: int
) -> Iterator[Row]:
    with Lab.boot(cluster) as lab:
        for seed in seeds:
            row = drawn(cluster, libraries[seed % len(libraries)], seed)
            for number in range(rounds + MORE_ROUNDS):
                if number >= rounds and row.ratio <= COST_MAX:
                    break
                _round(lab, row, (seed + number) % 2 == 0)
            print(
                f"{cluster}, {row.library}, program {seed}: {row.calls} calls, "
                f"{min(row.stock):.2f} s stock, {min(row.ours):.2f} s preloaded, "
                f"{row.ratio:.3f}",
                flush=True,
            )
            yield row


def verdict(rows: Sequence[Row]) -> tuple[bool, str]:
    """Whether no program is slower, and the line that says so."""
    slower = [f"{row.cluster} {row.seed} ({row.ratio:.2f})" for row in rows if row.ratio > COST_MAX]
    middle = median(row.ratio for row in rows)
    good = not slower and middle <= MEDIAN_MAX
    line = f"{len(rows)} programs; median {middle:.3f} of stock's time, at most {MEDIAN_MAX:.2f}; "
    line += f"slower than {COST_MAX}: {', '.join(slower) or 'none'}: "
    return good, line + ("met" if good else "missed")


def _table(rows: Sequence[Row]) -> Table:
    table = ruled_table(
        None, "cluster", "library", *right("program", "calls", "stock", "preloaded", "ratio")
    )
    for row in sorted(rows, key=lambda row: -row.ratio):
        times = (format_seconds(min(row.stock)), format_seconds(min(row.ours)))
        cells = (str(row.seed), str(row.calls), *times, f"{row.ratio:.3f}")
        table.add_row(row.cluster, row.library, *cells)
    return table


def _command(
    programs: Annotated[int, typer.Option(help="So many.", min=1)] = PROGRAMS,
    first: Annotated[int, typer.Option(help="Seed of the first program.")] = 0,
    clusters: Annotated[str, typer.Option(help="Separated by commas; by turns.")] = CLUSTERS,
    libraries: Annotated[str, typer.Option(help="openmpi, mpich.")] = ",".join(LIBRARIES),
    rounds: Annotated[int, typer.Option(help="Jobs of each side.", min=1)] = ROUNDS,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The rows, as JSON.")] = Path(
        "out/never-slower.json"
    ),
) -> None:
    """Run random programs stock and preloaded by turns, without a cluster file."""
    wanted = libraries_of(libraries)
    names = clusters.split(",")
    rows: list[Row] = []
    for at, cluster in enumerate(names):
        seeds = range(
            first + at * programs // len(names), first + (at + 1) * programs // len(names)
        )
        rows += _measure(cluster, wanted, seeds, rounds)
    keep_rows(output, rows)
    conclude(_table(rows), verdict(rows))


if __name__ == "__main__":
    sys.exit(run_command("bench-never-slower", _command))
