"""`allemande demo`: the main job, shown in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allemande.bench.defaults import LAB, SCALE

if TYPE_CHECKING:
    from rich.console import Console

SIZES = (1_000, 10_000, 50_000)
ROUNDS = 2
PROGRAM_MPIS = ("openmpi", "openmpi-debian")  # one for each program
PROGRAM_REPEATS = 1


def show_programs(console: Console) -> None:
    from allemande.cli.examples import print_rows, run_programs
    from allemande.examples.catalog import PROGRAMS

    console.print("\nReal programs (examples/), the same results checked:", highlight=False)
    rows, _ = run_programs(LAB, SCALE, list(PROGRAMS), mpis=PROGRAM_MPIS, repeats=PROGRAM_REPEATS)
    print_rows(console, rows)


def command(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where report.html and the plot go.")
    ] = Path("out/demo"),
) -> None:
    """Boot an emulated cluster of 32 hosts and compare MPI_Alltoall with and without allemande.

    Four leaf switches and a core switch with shaped links and shallow queues; stock Open MPI, stock
    MPICH and each with allemande preloaded; 1, 10 and 50 KB to each other rank. Every received byte
    is checked. Then real programs, stock and preloaded (`allemande examples`). Takes about four
    minutes.
    """
    from rich.console import Console

    from allemande.bench import formats
    from allemande.bench.candidates import DEMO_NAMES, parse_candidates
    from allemande.bench.compare import compare
    from allemande.bench.runner import Effort
    from allemande.report.page import build_page
    from allemande.report.plot import render

    console = Console()
    console.print(
        f"MPI_Alltoall on {LAB} at scale {SCALE:g}: {', '.join(DEMO_NAMES)}. About four minutes.",
        highlight=False,
    )
    # One call of the slowest takes 9 s at 50 KB: as few calls as give a median over the rounds.
    effort = Effort(rounds=ROUNDS, warmup=1, calls=1, seconds=1.0)
    result = compare(LAB, SCALE, SIZES, parse_candidates(DEMO_NAMES), effort)

    output.mkdir(parents=True, exist_ok=True)
    plot = render(result.figures, "svg")
    (output / "plot.svg").write_bytes(plot)
    (output / "plot.png").write_bytes(render(result.figures, "png"))
    (output / "figures.json").write_text(formats.to_json(result.figures), encoding="utf-8")
    (output / "figures.md").write_text(
        formats.markdown(result.figures, result.setting), encoding="utf-8"
    )
    page = output / "report.html"
    page.write_text(
        build_page(result.figures, result.setting, plot, "allemande demo"), encoding="utf-8"
    )
    formats.print_result(console, result.figures, result.setting, result.warnings)
    show_programs(console)
    console.print(f"Report with plot: {page}", highlight=False, soft_wrap=True)
    if result.failed:
        raise typer.Exit(1)
