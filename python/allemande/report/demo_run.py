"""The demo: a comparison on an emulated cluster with a report, then real programs."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from allemande.bench import figure_output
from allemande.bench.candidates import DEMO_NAMES, parse_candidates
from allemande.bench.comparison import Comparison, compare
from allemande.bench.defaults import LAB, SCALE
from allemande.bench.runner import Effort
from allemande.examples.catalog import PROGRAMS
from allemande.examples.program_runs import compare_in_lab
from allemande.examples.row_table import print_rows
from allemande.lab.timers import choose_timers
from allemande.report.figure_plot import render
from allemande.report.page import build_page

SIZES = (1_000, 10_000, 50_000)
ROUNDS = 2
PROGRAM_MPIS = ("openmpi", "openmpi-debian")  # one for each program
PROGRAM_REPEATS = 1


def _write_report(result: Comparison, folder: Path, command: str) -> Path:
    """The page, the plot and the figures; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    plot = render(result.figures, "svg")
    (folder / "plot.svg").write_bytes(plot)
    (folder / "plot.png").write_bytes(render(result.figures, "png"))
    (folder / "figures.json").write_text(figure_output.to_json(result.figures), encoding="utf-8")
    (folder / "figures.md").write_text(
        figure_output.markdown(result.figures, result.setting), encoding="utf-8"
    )
    page = folder / "report.html"
    page.write_text(build_page(result.figures, result.setting, plot, command), encoding="utf-8")
    return page


def run_demo(folder: Path, timers: str | None) -> bool:
    """False where a byte was wrong or a candidate could not be measured."""
    times = choose_timers(timers, SCALE)
    console = Console()
    console.print(
        f"MPI_Alltoall on {LAB} at scale {SCALE:g}: {', '.join(DEMO_NAMES)}. About four minutes.",
        highlight=False,
    )
    # One call of the slowest takes 9 s at 50 KB: as few calls as give a median over the rounds.
    effort = Effort(rounds=ROUNDS, warmup=1, calls=1, seconds=1.0)
    result = compare(LAB, SCALE, SIZES, parse_candidates(DEMO_NAMES), effort, timers=times.name)
    line = "allemande demo" if timers is None else f"allemande demo --timers {timers}"
    page = _write_report(result, folder, line)
    figure_output.print_result(console, result.figures, result.setting, result.warnings)
    console.print("\nReal programs (examples/), the same results checked:", highlight=False)
    rows, _ = compare_in_lab(
        LAB, SCALE, list(PROGRAMS), times, mpis=PROGRAM_MPIS, repeats=PROGRAM_REPEATS
    )
    print_rows(console, rows)
    console.print(f"Report with plot: {page}", highlight=False, soft_wrap=True)
    return not result.failed
