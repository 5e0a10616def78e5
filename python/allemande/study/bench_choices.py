"""`make bench-choices`: first choices on random networks beside the best way, as a table.

    python -m allemande.study.bench_choices [--networks N] [--first SEED]

Simulates every way of ours on every network: a quarter of an hour on two cores for 1,000. Ends with
1 when a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from allemande.entry import run_command
from allemande.quantities import format_size
from allemande.study.measuring import on_all_processors
from allemande.study.network_choices import (
    CHOOSERS,
    NetworkChoice,
    choices_on,
    counts_for,
)
from allemande.tables import right, ruled_table

NETWORKS = 1000
FIRST = 7000
NEAR = 0.05  # of the best time
NEAR_PART = 0.97  # of the choices
FAR = 0.20  # none may be further off
WORST_SHOWN = 12


def _offs(choices: Sequence[NetworkChoice], chooser: str) -> list[float]:
    return [one.off(chooser) for one in choices if counts_for(chooser, one.size)]


def _held(offs: Sequence[float]) -> bool:
    near = sum(off <= NEAR for off in offs)
    return near >= NEAR_PART * len(offs) and max(offs) <= FAR


def _row(choices: Sequence[NetworkChoice], chooser: str) -> list[str]:
    offs = _offs(choices, chooser)
    far = sum(off > FAR for off in offs)
    near = sum(off <= NEAR for off in offs) / len(offs)
    lost = sum(
        one.dropped[one.chosen[chooser]] != 0 for one in choices if counts_for(chooser, one.size)
    )
    held = "held" if _held(offs) else "missed"
    return [chooser, str(len(offs)), f"{near:.2%}", str(far), f"{max(offs):.0%}", str(lost), held]


def _print(console: Console, choices: Sequence[NetworkChoice]) -> bool:
    """Whether the figures are held."""
    headings = ("choices", f"within {NEAR:.0%}", f"over {FAR:.0%} off", "worst", "lost packets")
    title = "First choices, simulated, without a sample"
    table = ruled_table(title, "chosen by", *right(*headings), "target")
    for chooser in CHOOSERS:
        table.add_row(*_row(choices, chooser))
    console.print(table)
    for chooser in CHOOSERS:
        counted = [one for one in choices if counts_for(chooser, one.size)]
        for one in sorted(counted, key=lambda one: -one.off(chooser))[:WORST_SHOWN]:
            if one.off(chooser) <= NEAR:
                break
            chosen = one.chosen[chooser]
            console.print(
                f"  {chooser}: network {one.seed}, {format_size(one.size)}: {chosen} "
                f"({one.dropped[chosen]} lost) instead of {one.best} ({one.dropped[one.best]} "
                f"lost), {one.off(chooser):.0%} off",
                highlight=False,
            )
    return all(_held(_offs(choices, chooser)) for chooser in CHOOSERS)


def _command(
    networks: Annotated[int, typer.Option(help="So many random networks.", min=1)] = NETWORKS,
    first: Annotated[int, typer.Option(help="Seed of the first network.")] = FIRST,
) -> None:
    """Compare first choices with the best way on random networks."""
    found = on_all_processors(choices_on, range(first, first + networks))
    if not _print(Console(width=120), [one for some in found for one in some]):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-choices", _command))
