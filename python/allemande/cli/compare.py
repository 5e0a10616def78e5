"""`allemande compare`: a program stock and preloaded by turns."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from allemande import config
from allemande.cli.run import job_flags
from allemande.cli.shared_options import (
    AssignmentsOption,
    ClusterOption,
    CsvFile,
    JsonFile,
    ProfileOption,
)
from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs, write_output

ROUNDS_MAX = 1000


def _check_numbers(rounds: int, warmup: int, timeout: float | None, confidence: float) -> None:
    if not 2 <= rounds <= ROUNDS_MAX:
        raise BadInput(f"--rounds {rounds} is not valid; expected 2 to {ROUNDS_MAX}")
    if not 0 <= warmup <= ROUNDS_MAX:
        raise BadInput(f"--warmup {warmup} is not valid; expected 0 to {ROUNDS_MAX}")
    if timeout is not None and not timeout > 0:
        raise BadInput(f"--timeout {timeout:g} is not valid; expected seconds above 0")
    if not 0.5 <= confidence < 1:
        raise BadInput(f"--confidence {confidence:g} is not valid; expected 0.5 to below 1")


def command(
    program: Annotated[
        list[str],
        typer.Argument(
            metavar="-- LAUNCHER ARGUMENT...",
            help="For example: mpirun -n 32 ./app. With --lab: ./app ARGUMENT...",
        ),
    ],
    rounds: Annotated[int, typer.Option(help="How often both sides run.")] = 5,
    warmup: Annotated[
        int, typer.Option(help="Stock runs before the first round, which do not count.")
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file the program writes: is it the same every time?"),
    ] = None,
    stdout: Annotated[
        bool, typer.Option("--stdout", help="The same for what it prints to standard output.")
    ] = False,
    stdin: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What every run reads; default: nothing.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="How long a run may take; default: 10 times the slowest so far and a minute.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals of ratios.")] = 0.99,
    seed: Annotated[int, typer.Option(help="Of the order in which the sides take turns.")] = 1,
    lab: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Run it on the hosts of this running lab; what follows -- is the program alone.",
        ),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="As `allemande run --mpi`; with --lab as `allemande lab run --mpi`.",
        ),
    ] = None,
    cluster: ClusterOption = None,
    profile: ProfileOption = None,
    sites: Annotated[
        str | None,
        typer.Option("--sites", metavar="FILE", help="As `allemande run --sites`."),
    ] = None,
    assignments: AssignmentsOption = None,
    json: JsonFile = None,
    csv: CsvFile = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with plots (HTML).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write its plot alone (.svg or .png).")
    ] = None,
) -> None:
    """Run a program stock and with allemande preloaded, by turns, and compare.

    Shows the time of the whole program and of its exchanges (MPI_Alltoall, MPI_Alltoallv,
    MPI_Alltoallw), by function and size: medians, spreads, the ratio with an interval, where
    allemande helps and where not. "No difference found" is an answer.

    Exits with 1 if the program fails, or if its output differs with allemande.
    """
    _check_numbers(rounds, warmup, timeout, confidence)
    files = {"--json": json, "--csv": csv}
    for name, path in (("--page", page), ("--plot", plot)):
        files[name] = None if path is None else f"./{path}" if str(path) == STDOUT else str(path)
    check_outputs(files)
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise BadInput(f"--plot {plot}: expected a name that ends with .svg or .png")
    if stdin is not None and not os.access(stdin, os.R_OK):
        raise BadInput(f"--stdin {stdin}: cannot be read; expected a file")
    if output is not None and not output.resolve().parent.is_dir():
        raise BadInput(f"--output {output}: its folder does not exist; expected a file")
    flags = job_flags(cluster, profile, sites, assignments)
    for name in ("disable", "stats"):
        if name in flags or f"ALLEMANDE_{name.upper()}" in os.environ:
            raise BadInput(f"the option {name} is set by `allemande compare` itself; leave it out")
    settings = config.to_environment(flags)

    from rich.console import Console

    from allemande.compare import verdicts_output
    from allemande.compare.commands import in_lab, with_launcher
    from allemande.compare.rounds import Plan, Progress, run_all, shared_folder
    from allemande.compare.runs import Watched
    from allemande.compare.verdicts import find
    from allemande.progress_bar import ConsoleProgress

    if lab is not None:
        make = in_lab(lab, mpi, program, settings)
    else:
        make = with_launcher(program, settings, mpi)
    done = Progress([])
    watched = Watched(output, stdout, stdin, timeout)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(shared_folder())
        progress = stack.enter_context(ConsoleProgress())
        interrupted: BaseException | None = None
        try:
            run_all(make, Plan(rounds, warmup, seed), watched, folder, done, progress.show)
        except (KeyboardInterrupt, SystemExit) as stop:
            interrupted = stop
    whole = done.whole_rounds()
    if interrupted is not None and len(whole) < 4:
        raise interrupted
    findings = find(whole, confidence, None if output is None else str(output))
    console = Console(stderr=STDOUT in (json, csv), highlight=False)
    if interrupted is not None:
        console.print(
            f"interrupted: {findings.rounds} of {rounds} rounds are done", highlight=False
        )
    verdicts_output.print_findings(console, findings, confidence)
    line = shlex.join(["allemande", "compare", "--", *program])
    write_output(json, verdicts_output.to_json(findings, program, confidence))
    write_output(csv, verdicts_output.to_csv(findings))
    if plot is not None or page is not None:
        from allemande.report.compare_page import build_compare_page, render

        if plot is not None:
            plot.write_bytes(render(findings, plot.suffix[1:]))
        if page is not None:
            page.write_text(build_compare_page(findings, line, confidence), encoding="utf-8")
    if interrupted is not None:
        raise interrupted
    if findings.differs:
        raise typer.Exit(1)
