"""`allemande reproduce`: published figures, simulated again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allemande.cli.shared_options import CsvFile, JsonArrayFile, TimersOption
from allemande.errors import BadInput, Failed
from allemande.output_files import STDOUT, check_folder, check_outputs, write_output, write_rows

if TYPE_CHECKING:
    from allemande.reproduce.experiment import Experiment, Outcome


def _write_list() -> None:
    from allemande.reproduce import experiment as experiments
    from allemande.reproduce.index_page import index_text

    path = experiments.writable_folder() / "README.md"
    known = [experiments.load(name) for name in experiments.names()]
    path.write_text(index_text(known), encoding="utf-8")


def _write_experiment(experiment: Experiment, outcome: Outcome, seconds: float) -> None:
    from allemande.reproduce.written_rows import rounded_up, with_rows

    path = experiment.folder / "README.md"
    text = path.read_text(encoding="utf-8")
    text = with_rows(text, experiment.name, outcome.rows, rounded_up(seconds))
    path.write_text(text, encoding="utf-8")
    (experiment.folder / "plot.svg").write_bytes(outcome.draw("svg"))
    _write_list()


def _check(names: list[str], workers: int, json: str | None, csv: str | None) -> None:
    """Raises Failed where something does not come out as the experiments say."""
    from rich.console import Console

    from allemande.progress_bar import LateProgress
    from allemande.reproduce import check_output
    from allemande.reproduce import experiment as experiments
    from allemande.reproduce.all_checks import check_all
    from allemande.reproduce.checks import Verdict
    from allemande.row_text import json_rows

    chosen = [experiments.load(name) for name in names]
    what = names[0] if len(names) == 1 else f"{len(names)} experiments"
    ended: list[Verdict] = []
    with LateProgress(f"checking {what}") as progress:

        def tell(verdict: Verdict) -> None:
            ended.append(verdict)
            failed = sum(bool(one.failed) for one in ended)
            found = f", {failed} failed" if failed else ""
            progress.text = f"checking {what}, {len(ended)} done{found}"

        verdicts = check_all(chosen, workers, progress, tell)
    check_output.print_verdicts(Console(stderr=STDOUT in (json, csv)), verdicts)
    write_output(json, json_rows(verdicts))
    write_output(csv, check_output.to_csv(verdicts))
    failed = [verdict.experiment.name for verdict in verdicts if verdict.failed]
    if failed:
        raise Failed(f"{len(failed)} of {len(verdicts)} experiments fail: {', '.join(failed)}")


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The experiment; see --list.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    workers: Annotated[int, typer.Option(help="Processes; 0: one per core.", min=0)] = 0,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the plot goes.")] = Path(
        "out/reproduce"
    ),
    lab: Annotated[
        bool,
        typer.Option("--lab", help="Measure real programs in the emulated cluster instead; root."),
    ] = False,
    scale: Annotated[
        float | None, typer.Option(help="Of the lab's link rates; without it the experiment's.")
    ] = None,
    timers: TimersOption = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="In a clone: renew the plot and the table in the experiment's folder, and the "
            "list of all. Without ID the list alone.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Every experiment; with --check.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Say what must hold and whether it does: free parameters, how far off, the order. "
            "Exit code 1 where something fails.",
        ),
    ] = False,
    json: JsonArrayFile = None,
    csv: CsvFile = None,
) -> None:
    """Re-create a published figure and say how far off it comes out.

    Each experiment is a folder of experiments/ with what the paper shows, what runs and what came
    out. Prints the published figures beside ours and draws the plot.
    """
    from allemande.reproduce import experiment as experiments

    if list_all:
        names = experiments.names()
        width = max(map(len, names))
        for known in names:
            typer.echo(f"{known:{width}} {experiments.load(known).title}")
        return
    if write:
        experiments.writable_folder()
        if lab:
            raise BadInput("--write renews what is simulated; leave out --lab")
    if check:
        if lab or write or everything == (name is not None):
            raise BadInput("--check takes an ID or --all, and neither --lab nor --write")
        check_outputs({"--json": json, "--csv": csv})
        chosen = experiments.names() if name is None else [experiments.load(name).name]
        _check(chosen, workers, json, csv)
        return
    if everything:
        raise BadInput("--all goes with --check")
    if name is None and write:
        _write_list()
        return
    if name is None:
        raise BadInput(f"no experiment named; expected one of {', '.join(experiments.names())}")
    check_outputs({"--json": json, "--csv": csv})
    check_folder("--output", output)
    experiment = experiments.load(name)
    if not lab and (scale is not None or timers is not None):
        raise BadInput("--scale and --timers are the lab's: add --lab")

    from rich.console import Console

    from allemande.progress_bar import LateProgress
    from allemande.reproduce import row_output
    from allemande.reproduce.kinds import run

    begin = time.monotonic()
    if lab:
        from allemande.reproduce.lab_runs import run_in_lab

        outcome = run_in_lab(experiment, scale, timers and timers.value, output)
    else:
        with LateProgress(f"simulating {experiment.name}") as progress:
            outcome = run(experiment, workers, progress)
    console = Console(stderr=STDOUT in (json, csv))
    row_output.print_rows(console, experiment, outcome.rows)
    output.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "png"):
        (output / f"{experiment.name}.{kind}").write_bytes(outcome.draw(kind))
    console.print(f"plot: {output / experiment.name}.svg and .png", highlight=False, soft_wrap=True)
    if write:
        _write_experiment(experiment, outcome, time.monotonic() - begin)
    write_rows(outcome.rows, row_output.COLUMNS, json, csv)
