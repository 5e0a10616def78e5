"""`allemande examples`: real programs, stock and preloaded."""

from __future__ import annotations

from typing import Annotated

import typer

from allemande.bench.defaults import CONGESTION_CONTROL, LAB, SCALE
from allemande.cli.shared_options import TimersOption
from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs, write_output


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
    timers: TimersOption = None,
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
    from allemande.examples.catalog import build_all, check_mpis, parse_programs

    for name, value in (("--rounds", rounds), ("--repeats", repeats)):
        if not 1 <= value <= 1000:
            raise BadInput(f"{name} {value} is not valid; expected 1 to 1000")
    check_outputs({"--markdown": markdown})
    programs = parse_programs(names or [])
    check_mpis(programs, mpi or [])
    build_all(programs)
    if build:
        return

    from rich.console import Console

    from allemande.bench.setting import describe_machine
    from allemande.examples import row_table
    from allemande.examples.program_runs import compare_in_lab
    from allemande.lab.timers import choose_timers

    times = choose_timers(None if timers is None else timers.value, scale)
    rows, hosts = compare_in_lab(
        lab,
        scale,
        programs,
        times,
        mpis=mpi,
        every_algorithm=every_algorithm,
        small=small,
        rounds=rounds,
        repeats=repeats,
    )
    console = Console(stderr=markdown == STDOUT, highlight=False)
    row_table.print_rows(console, rows)
    note = times.note(scale)
    if note:
        console.print(note, soft_wrap=True)
    setting = (
        f"{lab}: {hosts} emulated hosts, scale {scale:g}, TCP {CONGESTION_CONTROL}, minimum RTO "
        f"{times.rto_min_text}. Median of {rounds}. {describe_machine()}."
    )
    if note:
        setting += f" {note[0].upper()}{note[1:]}."
    write_output(markdown, row_table.markdown(rows, setting))
