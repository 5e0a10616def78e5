"""`make bench-model`: predictions against the simulator and the lab, and what emitted tuning files
gain there, as tables.

    python -m allemande.study.bench_model [--all] [--no-lab]

Without --all a sample in 25 minutes at most. What the lab has measured lies in out/bench-model and
out/emitted-rules, and is not measured again. Ends with 1 when a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from allemande.bench.runner import Effort
from allemande.entry import run_command
from allemande.stock_algorithms import LIBRARIES
from allemande.study import measured_choices
from allemande.study.accuracy import (
    HEADINGS,
    NEAR,
    Choice,
    ChoiceTarget,
    Comparison,
    Summary,
    choice_misses,
    last_line,
    near_part,
)
from allemande.study.emitted_rules import check, table_of
from allemande.study.lab_accuracy import lab
from allemande.study.lab_samples import Bed
from allemande.study.probed_networks import probed
from allemande.study.rules_verdict import RulesRow, verdict
from allemande.study.simulated_accuracy import (
    Watcher,
    continued,
    first_choices,
    first_choices_between_sites,
    held_out,
)
from allemande.tables import right, ruled_table

SIMULATED_CHOICES = ChoiceTarget(near_part=0.95, far=0.20)
TOLD_WIDTH = 72
NETWORKS = 200
NETWORKS_WITH_SITES = 500
FOLDER = Path("out/bench-model")
RULES_FOLDER = Path("out/emitted-rules")  # as `make bench-rules` has it
# Cluster, library, bytes per pair, scale: small blocks at a scale at which links are the limit.
RULES = (
    ("oversubscribed-8x4", "openmpi", (1_000, 10_000, 50_000), 0.1),
    ("oversubscribed-8x4", "mpich", (1_000, 10_000, 50_000), 0.1),
    ("oversubscribed-8x4", "openmpi", (400,), 0.01),
    ("tam-16x1", "openmpi", (400,), 0.01),
    ("tam-8x4", "openmpi", (400,), 0.01),
    ("tam-8x4", "mpich", (100,), 0.01),
    ("tam-8x4", "openmpi", (200_000,), 0.1),
)
RULES_SAMPLE = (("oversubscribed-8x4", "openmpi", (1_000, 10_000), 0.1),)


def _print_summaries(console: Console, title: str, summaries: list[Summary]) -> None:
    what, *figures, target = HEADINGS
    table = ruled_table(title, what, *right(*figures), target)
    for one in summaries:
        table.add_row(*one.cells())
    console.print(table)


def _print_choices(
    console: Console, what: str, choices: list[Choice], target: ChoiceTarget
) -> bool:
    """Whether every figure is held."""
    worst = max(one.off for one in choices)
    missed = choice_misses(choices, target)
    console.print(
        f"first choice, {what}: within {NEAR:.0%} of the best in {near_part(choices):.1%}, "
        f"worst {worst:.0%} off: {'; '.join(missed) or 'held'}",
        highlight=False,
    )
    for one in sorted(choices, key=lambda one: -one.off):
        if one.off > target.far:
            console.print(
                f"  {one.where}, {one.size} B: {one.chosen} instead of {one.best}, "
                f"{one.off:.0%} off",
                highlight=False,
            )
        if one.left_out:
            console.print(
                f"  {one.where}, {one.size} B: no figure that counts of {', '.join(one.left_out)}",
                highlight=False,
            )
    return not missed


def _emitted_rules(everything: bool, tell: Watcher) -> list[RulesRow]:
    """What emitted tuning files gain in the lab."""
    effort = Effort(rounds=3 if everything else 2, calls=3, calls_max=50, seconds=0.3)
    RULES_FOLDER.mkdir(parents=True, exist_ok=True)
    rows = []
    for cluster, library, sizes, scale in RULES if everything else RULES_SAMPLE:
        tell(f"tuning files for {library} on {cluster}")
        rows += check(cluster, library, sizes, scale, effort, None, RULES_FOLDER)
    return rows


def _print_rules(console: Console, rows: list[RulesRow]) -> bool:
    """Whether every figure is held."""
    console.print("[bold]Emitted rules[/]")
    console.print(table_of(rows))
    good, line = verdict(rows)
    console.print(line, highlight=False)
    return good


@contextmanager
def _telling() -> Iterator[Watcher]:
    """One line says what is under way. It is gone before anything else is said."""

    def show(what: str) -> None:
        print(f"\r{what:<{TOLD_WIDTH}}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        show("")
        print("\r", end="", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class _Found:
    """All that was compared."""

    compared: list[Comparison]
    summaries: list[Summary]
    choices: list[Choice]  # simulated, of one site
    of_probed: list[Choice]  # the same networks as the prober finds them
    between_sites: list[Choice]
    measured: list[Choice]  # in the lab
    rules: list[RulesRow] | None  # None: without the lab


def _find(everything: bool, with_lab: bool, tell: Watcher) -> _Found:
    compared, summaries = held_out(tell)
    summaries += continued(tell)
    choices = first_choices(NETWORKS, tell)
    of_probed = first_choices(NETWORKS, tell, probed)
    between_sites = first_choices_between_sites(NETWORKS_WITH_SITES, tell)
    measured: list[Choice] = []
    rules = None
    if with_lab:
        bed = Bed(FOLDER, calls=5 if everything else 3, rounds=3 if everything else 2)
        in_lab, more = lab(bed, everything, tell)
        compared += in_lab
        summaries += more
        for name in measured_choices.CLUSTERS if everything else ():
            for library in LIBRARIES:
                measured += measured_choices.measured_choices(bed, name, library, tell)
        rules = _emitted_rules(everything, tell)
    return _Found(compared, summaries, choices, of_probed, between_sites, measured, rules)


def _run(console: Console, everything: bool, with_lab: bool) -> bool:
    """Whether every figure is held."""
    with _telling() as tell:
        found = _find(everything, with_lab, tell)
    _print_summaries(console, "Accuracy of predictions", found.summaries)
    held = _print_choices(
        console, f"simulated, {NETWORKS} networks x 3 sizes", found.choices, SIMULATED_CHOICES
    )
    held &= _print_choices(
        console,
        "simulated, the same networks as the prober finds them",
        found.of_probed,
        SIMULATED_CHOICES,
    )
    held &= _print_choices(
        console,
        f"simulated, {NETWORKS_WITH_SITES} networks of several sites",
        found.between_sites,
        SIMULATED_CHOICES,
    )
    if found.measured:
        held &= _print_choices(
            console, "lab, sizes without a sample", found.measured, measured_choices.TARGET
        )
    if found.rules is not None:
        held &= _print_rules(console, found.rules)
    print(last_line(found.compared))
    return held and not any(one.misses() for one in found.summaries)


def _command(
    everything: Annotated[
        bool, typer.Option("--all", help="All clusters and libraries (hours).")
    ] = False,
    no_lab: Annotated[bool, typer.Option("--no-lab", help="Against the simulator alone.")] = False,
) -> None:
    """Compare predictions with the simulator and the lab, and emitted tuning files with others."""
    if not _run(Console(width=150), everything, not no_lab):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-model", _command))
