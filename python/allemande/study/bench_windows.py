"""`make bench-windows`: tuned windows against the best ones on random networks, as a table.

    python -m allemande.study.bench_windows [--networks N] [--first SEED]

Simulates true switches: half an hour on two cores for 500 networks. Ends with 1 when a figure is
missed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from allemande.entry import run_command
from allemande.quantities import format_size
from allemande.study.measuring import on_networks
from allemande.study.window_choices import NEAR, SIZES, WindowChoice, near_part, window_choice
from allemande.tables import right, ruled_table

NETWORKS = 500
NEAR_PART = 0.95  # of the networks
WORST_SHOWN = 12
FIGURES = ("exchanges", f"within {NEAR:.0%}", "median off", "90 % off at most", "collapsed")


def _cells(choices: Sequence[WindowChoice]) -> list[str]:
    off = np.array([one.off for one in choices])
    return [
        str(len(choices)),
        f"{near_part(choices):.1%}",
        f"{np.median(off):.1%}",
        f"{np.quantile(off, 0.9, method='higher'):.1%}",
        str(sum(math.isinf(one.off) for one in choices)),
    ]


def _print(console: Console, choices: Sequence[WindowChoice]) -> bool:
    """Whether the figure is held."""
    title = "Tuned windows beside the best ones, simulated"
    table = ruled_table(title, "networks", *right(*FIGURES))
    table.add_row("all", *_cells(choices))
    for text, allowed in (("Eq 4 allows L/g", True), ("Eq 4 does not allow L/g", False)):
        some = [one for one in choices if one.allowed == allowed]
        if some:
            table.add_row(text, *_cells(some))
    console.print(table)
    for one in sorted(choices, key=lambda one: -one.off)[:WORST_SHOWN]:
        off = "3 times as long or more" if math.isinf(one.off) else f"{one.off:.0%} off"
        console.print(
            f"  network {one.seed}, {format_size(one.size)}: {one.tuned} instead of {one.best}, "
            f"{off}",
            highlight=False,
        )
    held = near_part(choices) >= NEAR_PART
    print(
        f"within {NEAR:.0%} of the best window in {near_part(choices):.1%}, at least "
        f"{NEAR_PART:.0%}: {'held' if held else 'missed'}"
    )
    return held


def _command(
    networks: Annotated[int, typer.Option(help="So many random networks.", min=1)] = NETWORKS,
    first: Annotated[int, typer.Option(help="Seed of the first network.")] = 0,
) -> None:
    """Compare tuned windows with the best ones on random networks."""
    choices = on_networks(window_choice, first, networks, SIZES)
    if not _print(Console(width=120), choices):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-windows", _command))
