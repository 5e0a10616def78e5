"""Do emitted tuning files help? The library's own choice, the file and the best forced.

Run as `python -m allemande.study.emitted_rules`: on each cluster every algorithm is timed shortly,
or `--times` says how long they take; a tuning file is made of that, and in a second run the library
with the file takes turns with the library by itself and with the fastest algorithms. Ratios come
from the second run alone. The last line is the verdict; exit code 1 where a figure is missed. What
lies in the folder of --output is not measured again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.figures import Figure
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.bench.stock_options import RULES, SELECTION
from allemande.entry import run_command
from allemande.formats import emit
from allemande.formats.choices import read_rows
from allemande.formats.tuning_table import make_table
from allemande.output_files import write_output
from allemande.quantities import format_seconds, format_size
from allemande.stock_algorithms import MPICH, OPENMPI
from allemande.study.measuring import conclude, kept_rows
from allemande.study.rules_verdict import RulesRow, rows_of, verdict
from allemande.tables import right, ruled_table

CLUSTERS = "oversubscribed-8x4"
SIZES = "400,1000,10000,50000"
FORMATS = {OPENMPI: "openmpi-rules", MPICH: "mpich-selection"}
PREFIXES = {OPENMPI: RULES, MPICH: SELECTION}
# Windows of 1 to 8 messages; an unbounded one is what the plain candidate has.
SURVEYED: Mapping[str, str] = {
    OPENMPI: "openmpi,openmpi:linear,openmpi:pairwise,openmpi:bruck,openmpi:linear-sync,"
    "openmpi:linear-sync:reqs=1,openmpi:linear-sync:reqs=2,openmpi:linear-sync:reqs=4,"
    "openmpi:linear-sync:reqs=8",
    MPICH: "mpich,mpich:pairwise,mpich:bruck,mpich:bruck:k=4,mpich:scattered,"
    "mpich:scattered:throttle=1,mpich:scattered:throttle=2,mpich:scattered:throttle=4,"
    "mpich:scattered:throttle=8",
}
BRUCK_SIZE_MAX = 4_000  # beyond it Bruck's algorithm moves too much to be the fastest
REQS_SIZE_MIN = 65_536  # Open MPI's eager limit: below it a bound on its requests does not bind
BEST_SHOWN = 2  # of each size, in the second run


def _survey(cluster: str, library: str, sizes: Sequence[int], scale: float) -> list[Figure]:
    """Every algorithm, shortly."""
    effort = Effort(rounds=1, calls=2, calls_max=20, seconds=0.3)
    by_sizes: dict[tuple[int, ...], list[str]] = {}
    for name in SURVEYED[library].split(","):
        part = tuple(size for size in sizes if _worth_timing(name, size))
        by_sizes.setdefault(part, []).append(name)
    asked = [
        Request(cluster, part, parse_candidates(names), effort, scale=scale)
        for part, names in by_sizes.items()
        if part
    ]
    return [figure for request in asked for figure in compare(request).figures]


def _worth_timing(candidate: str, size: int) -> bool:
    if "bruck" in candidate:
        return size <= BRUCK_SIZE_MAX
    return "reqs=" not in candidate or size >= REQS_SIZE_MIN


def _fastest(times: Path, library: str, sizes: Sequence[int]) -> list[str]:
    """The fastest candidates of each size, each once."""
    rows = [row for row in read_rows(times) if row["library"] == library and row["median_s"]]
    found: dict[str, None] = {}
    for size in sizes:
        here = sorted((row for row in rows if row["size"] == size), key=lambda row: row["median_s"])
        found |= dict.fromkeys(row["candidate"] for row in here[:BEST_SHOWN])
    return [name for name in found if name != library]


def check(
    cluster: str,
    library: str,
    sizes: Sequence[int],
    scale: float,
    effort: Effort,
    times: Path | None,
    output: Path,
) -> list[RulesRow]:
    """One cluster and library, a row for each size. `times`: to choose by; None: all algorithms are
    timed. What lies in `output` is not measured again."""
    stem = output / f"{cluster}-{library}-{scale:g}-{'-'.join(map(str, sizes))}"

    def measure() -> list[RulesRow]:
        by = times or stem.with_name(f"{stem.name}-times.json")
        if not by.is_file() and times is None:
            figures = _survey(cluster, library, sizes, scale)
            write_output(str(by), json.dumps([figure.as_json() for figure in figures], indent=1))
        choices = emit.choices_of_rows(FORMATS[library], read_rows(by), str(by))
        path = stem.with_name(f"{stem.name}.{'rules' if library == OPENMPI else 'json'}")
        emit.tuning(FORMATS[library], choices, path).write(path)
        emitted = f"{PREFIXES[library]}{path.absolute()}"
        names = [library, emitted, *_fastest(by, library, sizes)]
        result = compare(Request(cluster, sizes, parse_candidates(names), effort, scale=scale))
        table = make_table(library, choices)
        ranks = next(iter(table.by_ranks))
        chosen = {size: str(table.find(ranks, size)) for size in sizes}
        return rows_of(cluster, library, emitted, chosen, result.figures)

    return kept_rows(stem.with_name(f"{stem.name}-rows.json"), RulesRow, measure)


def table_of(rows: Sequence[RulesRow]) -> Table:
    """For people."""
    figures = right("default", "file", "best", "of default", "of best", "asked")
    table = ruled_table(None, "cluster", "size", "file says", "best forced", *figures, "verdict")
    for row in rows:
        table.add_row(
            row.cluster,
            format_size(row.size),
            row.chosen,
            row.best,
            *(format_seconds(value) for value in (row.default_s, row.emitted_s, row.best_s)),
            f"{row.gain:.2f}",
            f"{row.of_best:.2f}",
            "" if row.target is None else f"{row.target:.3g}",
            "; ".join(row.misses()) or "met",
        )
    return table


def _command(
    clusters: Annotated[str, typer.Option(help="Separated by commas.")] = CLUSTERS,
    libraries: Annotated[str, typer.Option(help="openmpi, mpich.")] = "openmpi,mpich",
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = SIZES,
    scale: Annotated[float, typer.Option(help="Every link rate times this.")] = 0.1,
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    calls: Annotated[int, typer.Option(help="Timed calls per size and round.", min=1)] = 3,
    times: Annotated[
        Path | None, typer.Option(help="Times to choose by, for one cluster and library.")
    ] = None,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Times, tuning files and rows.")
    ] = Path("out/emitted-rules"),
) -> None:
    """Compare emitted tuning files with the libraries' own choices and the best forced."""
    output.mkdir(parents=True, exist_ok=True)
    effort = Effort(rounds=rounds, calls=calls, calls_max=50, seconds=0.3)
    rows = [
        row
        for cluster in clusters.split(",")
        for library in libraries.split(",")
        for row in check(cluster, library, parse_sizes(sizes), scale, effort, times, output)
    ]
    conclude(table_of(rows), verdict(rows))


if __name__ == "__main__":
    sys.exit(run_command("bench-rules", _command))
