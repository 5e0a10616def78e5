"""`make bench-model`: predictions against the simulator and the lab, as tables.

    python -m allemande.model.bench_model [--all] [--no-lab]

Without --all a sample in 25 minutes at most. What the lab has measured lies in out/bench-model and
is not measured again. Ends with 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from allemande.errors import AllemandeError
from allemande.model.accuracy import HEADINGS, Comparison, Summary, last_line
from allemande.model.lab_accuracy import Bed, lab
from allemande.model.simulated_accuracy import (
    FAR,
    NEAR,
    Choice,
    choice_misses,
    first_choices,
    first_choices_between_sites,
    held_out,
)

NETWORKS = 200
NETWORKS_WITH_SITES = 500
FOLDER = Path("out/bench-model")


def _print_summaries(console: Console, title: str, summaries: list[Summary]) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("what", "target") else "right")
    for one in summaries:
        table.add_row(*one.cells())
    console.print(table)


def _print_choices(console: Console, what: str, choices: list[Choice]) -> bool:
    """Whether every figure is held."""
    near = sum(one.off <= NEAR for one in choices) / len(choices)
    worst = max(one.off for one in choices)
    missed = choice_misses(choices)
    console.print(
        f"first choice, simulated, {what}: within {NEAR:.0%} of the best in {near:.1%}, "
        f"worst {worst:.0%} off: {'; '.join(missed) or 'held'}",
        highlight=False,
    )
    for one in sorted(choices, key=lambda one: -one.off):
        if one.off > FAR:
            console.print(
                f"  network {one.network}, {one.size} B: {one.chosen} instead of {one.best}, "
                f"{one.off:.0%} off",
                highlight=False,
            )
    return not missed


def _run(console: Console, everything: bool, with_lab: bool) -> bool:
    """Whether every figure is held."""

    def tell(what: str) -> None:
        print(f"\r{what:<60}", end="", file=sys.stderr, flush=True)

    found: list[Comparison] = []
    compared, summaries = held_out(tell)
    found += compared
    choices = first_choices(NETWORKS, tell)
    between_sites = first_choices_between_sites(NETWORKS_WITH_SITES, tell)
    if with_lab:
        bed = Bed(FOLDER, calls=5 if everything else 3, rounds=3 if everything else 2)
        compared, more = lab(bed, everything, tell)
        found += compared
        summaries += more
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    _print_summaries(console, "Accuracy of predictions", summaries)
    held = _print_choices(console, f"{NETWORKS} networks x 3 sizes", choices)
    held &= _print_choices(
        console, f"{NETWORKS_WITH_SITES} networks of several sites", between_sites
    )
    print(last_line(found))
    return held and not any(one.misses() for one in summaries)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all clusters and libraries (hours)")
    parser.add_argument("--no-lab", action="store_true", help="against the simulator alone")
    arguments = parser.parse_args()
    try:
        held = _run(Console(width=150), arguments.all, not arguments.no_lab)
    except AllemandeError as error:
        print(f"\nbench-model: {error}", file=sys.stderr)
        return error.exit_code
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
