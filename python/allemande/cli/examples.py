"""`allemande examples`: real programs, stock and preloaded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allemande.bench.defaults import CONGESTION_CONTROL, LAB, SCALE
from allemande.cli.outputs import STDOUT, check_outputs, write_output
from allemande.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from allemande.examples.catalog import Program
    from allemande.examples.compare import Row


def print_rows(console: Console, rows: list[Row]) -> None:
    from rich.table import Table

    from allemande.examples.compare import COLUMNS, cells

    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        numeric = column in ("stock", "best stock", "allemande", "ratio")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)


def run_programs(
    cluster: str, scale: float, programs: list[Program], **options: Any
) -> tuple[list[Row], int]:
    """In a lab of their own; `options` are those of `compare`. The rows and how many hosts."""
    from rich.console import Console

    from allemande.examples.compare import compare
    from allemande.lab import Lab

    progress = Console(stderr=True, highlight=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        # Nothing but the programs may use the processors: no periodic look at the queues.
        Lab.boot(
            cluster, scale=scale, congestion_control=CONGESTION_CONTROL, sample_period_s=0
        ) as lab,
        progress.status("building") as status,
    ):
        tell = status.update if progress.is_terminal else lambda _: None
        return compare(lab, programs, Path(folder), tell=tell, **options), len(lab.hosts)


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which ones; default: all.")
    ] = None,
    build: Annotated[
        bool, typer.Option("--build", help="Only compile them, into build/examples.")
    ] = False,
    lab: Annotated[
        str, typer.Option(metavar="CLUSTER", help="Cluster file or name of a ready-made cluster.")
    ] = LAB,
    scale: Annotated[float, typer.Option(help="Every link rate times this.")] = SCALE,
    mpi: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only under these: openmpi, mpich, openmpi-debian."),
    ] = None,
    every_algorithm: Annotated[
        bool,
        typer.Option("--every-algorithm", help="Also the library's other algorithms for the call."),
    ] = False,
    small: Annotated[bool, typer.Option("--small", help="Small sizes: a quick look.")] = False,
    rounds: Annotated[int, typer.Option(help="How often they take turns; medians count.")] = 1,
    repeats: Annotated[int, typer.Option(help="Repetitions inside each program.")] = 3,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a Markdown table; '-' is stdout.")
    ] = None,
) -> None:
    """Run the programs of examples/ in an emulated cluster, stock and with allemande preloaded.

    A distributed FFT in Python, one by FFTW, a Fortran program and a sort. Results must be the same
    bits, and allemande must really have carried them; otherwise the command exits with 1.
    """
    from allemande.examples.catalog import parse_programs

    for name, value in (("--rounds", rounds), ("--repeats", repeats)):
        if not 1 <= value <= 1000:
            raise BadInput(f"{name} {value} is not valid; expected 1 to 1000")
    check_outputs({"--markdown": markdown})
    programs = parse_programs(names or [])
    known = {name for program in programs for name in program.mpis}
    for name in mpi or []:
        if name not in known:
            raise BadInput(
                f"--mpi {name!r}: none of these programs runs under it; expected one of: "
                f"{', '.join(sorted(known))}"
            )
    for program in programs:
        for name in program.mpis:
            program.build(name)
    if build:
        return

    from rich.console import Console

    from allemande.bench.machine import describe_machine
    from allemande.examples.compare import markdown as to_markdown

    rows, hosts = run_programs(
        lab,
        scale,
        programs,
        mpis=mpi,
        every_algorithm=every_algorithm,
        small=small,
        rounds=rounds,
        repeats=repeats,
    )
    print_rows(Console(stderr=markdown == STDOUT, highlight=False), rows)
    setting = (
        f"{lab}: {hosts} emulated hosts, scale {scale:g}, TCP {CONGESTION_CONTROL}. "
        f"Median of {rounds}. {describe_machine()}."
    )
    write_output(markdown, to_markdown(rows, setting))
