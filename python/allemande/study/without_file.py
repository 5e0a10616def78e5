"""`make bench-without-file`: settled exchanges without a cluster file beside those with one, on
random networks, as a table.

    python -m allemande.study.without_file [--networks N] [--first SEED] [--sizes BYTES]

Simulated: trees of one to three levels, 10 Mbit/s to 400 Gbit/s, 0 to 5 ms a link, queues of 3 to
1,000 packets; ranks enter each exchange late by a mean of 1, 3 or 10 packet times, at least 1 us.
Ends with 1 when a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Annotated, Any

import typer
from rich.console import Console

from allemande import _core
from allemande.bench.message_sizes import parse_sizes
from allemande.entry import run_command
from allemande.quantities import format_seconds, format_size
from allemande.study.measuring import on_networks
from allemande.study.random_trees import random_tree
from allemande.study.window_choices import jitter_us
from allemande.tables import right, ruled_table
from allemande.topology import Cluster, tune

NETWORKS = 200
LATENCY_US = (0.01, 5000.0)  # of a link
EXCHANGES = 50
SETTLED_MIN = 0.97  # part of the speed with a file, of the last quarter of the exchanges
FIRST_MAX = 1.10  # times settled with a file, of all exchanges but the first
WORST_SHOWN = 12
FIGURES = ("networks", f"settled {SETTLED_MIN:g}", "median", "least", f"first {FIRST_MAX:g}")


@dataclass(frozen=True)
class Pair:
    """Exchanges of one size on one network: times in seconds, packets sent again."""

    seed: int
    size: int
    described_s: float  # settled, with a file
    settled_s: float
    first_s: float
    resent_described: int
    resent: int

    @property
    def part(self) -> float:
        return self.described_s / self.settled_s


def exchanges_on(seed: int, size: int) -> tuple[Cluster, dict[str, Any]]:
    """The network of this seed, and the simulator's options for exchanges of one size."""
    cluster = random_tree(seed, LATENCY_US)
    return cluster, {
        "algorithm": "sync-shuffle",
        "size": size,
        "exchanges": EXCHANGES,
        "jitter_us": jitter_us(seed, tune(cluster)),
        "seed": 1,
    }


def compare(seed: int, size: int) -> Pair:
    """The network of this seed, with a cluster file and without one."""
    cluster, options = exchanges_on(seed, size)
    last = EXCHANGES // 4
    told = _core.simulate(cluster, {**options, "described": True}, None)
    alone = _core.simulate(cluster, {**options, "described": False}, None)
    return Pair(
        seed,
        size,
        fmean(told["exchange_s"][-last:]),
        fmean(alone["exchange_s"][-last:]),
        fmean(alone["exchange_s"][1:]),
        told["retransmitted"],
        alone["retransmitted"],
    )


def is_settled(pair: Pair) -> bool:
    """What is asked of settled exchanges."""
    return pair.part >= SETTLED_MIN


def _cells(pairs: Sequence[Pair]) -> list[str]:
    return [
        str(len(pairs)),
        f"{fmean(is_settled(one) for one in pairs):.1%}",
        f"{median(one.part for one in pairs):.3f}",
        f"{min(one.part for one in pairs):.2f}",
        f"{fmean(one.first_s <= FIRST_MAX * one.described_s for one in pairs):.1%}",
    ]


def _print(console: Console, pairs: Sequence[Pair]) -> bool:
    """Whether the figure is held."""
    title = "Without a cluster file, beside the same with one, simulated"
    table = ruled_table(title, "size", *right(*FIGURES))
    for size in sorted({one.size for one in pairs}):
        table.add_row(format_size(size), *_cells([one for one in pairs if one.size == size]))
    table.add_row("all", *_cells(pairs))
    console.print(table)
    for one in sorted(pairs, key=lambda one: one.part)[:WORST_SHOWN]:
        console.print(
            f"  network {one.seed}, {format_size(one.size)}: {one.part:.2f}; "
            f"{format_seconds(one.described_s)} with a file, {format_seconds(one.settled_s)} "
            f"without; sent again {one.resent_described} and {one.resent} packets",
            highlight=False,
        )
    held = all(is_settled(one) for one in pairs)
    part = fmean(is_settled(one) for one in pairs)
    print(
        f"settled at {SETTLED_MIN:.0%} of the speed with a file or more: {part:.1%}, asked: all: "
        f"{'held' if held else 'missed'}"
    )
    return held


def _command(
    networks: Annotated[int, typer.Option(help="So many random networks.", min=1)] = NETWORKS,
    first: Annotated[int, typer.Option(help="Seed of the first network.")] = 0,
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = "3000,20000,100000",
) -> None:
    """Compare exchanges without a cluster file with those that have one, on random networks."""
    pairs = on_networks(compare, first, networks, parse_sizes(sizes))
    if not _print(Console(width=120), pairs):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-without-file", _command))
