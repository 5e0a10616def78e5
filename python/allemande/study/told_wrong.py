"""`make bench-told-wrong`: exchanges of jobs that are told another network than they have, beside
the same without a cluster file, simulated on random networks, as a table.

    python -m allemande.study.told_wrong [--networks N] [--first SEED] [--sizes BYTES]

The lies are those of allemande.study.wrong_files, the networks those of
allemande.study.without_file: trees of one to three levels, 10 Mbit/s to 400 Gbit/s, 0 to 5 ms a
link, queues of 3 to 1,000 packets. Nothing is tried in the simulator: this is what a lie costs the
way that is taken. A lie may cost 5 % of all exchanges together. Who loses a packet at the end waits
for a timer, which is longer than all else on a fast network; so the true file has a row, too. Ends
with 1 when a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Annotated

import typer
from rich.console import Console

from allemande import _core
from allemande.bench.message_sizes import parse_sizes
from allemande.entry import run_command
from allemande.errors import BadInput
from allemande.quantities import format_seconds, format_size
from allemande.study.measuring import on_networks
from allemande.study.without_file import EXCHANGES, exchanges_on
from allemande.study.wrong_files import COST_MAX, LIES
from allemande.tables import right, ruled_table
from allemande.topology import parse_cluster, tune

NETWORKS = 100
TRUE = "true"
# Whose hosts the file does not name: such a job has no file.
TOLD = tuple(lie for lie in LIES if "renamed" not in lie)
WORST_SHOWN = 2
FIGURES = ("exchanges", f"up to {COST_MAX:g}", "median", "nine in ten", "worst", "beside true")


@dataclass(frozen=True)
class Told:
    """All exchanges of one size on one network: seconds, packets sent again, and the window."""

    seed: int
    size: int
    lie: str
    without_s: float
    true_s: float
    time_s: float
    resent: int
    window: int

    @property
    def cost(self) -> float:
        return self.time_s / self.without_s


def compare(seed: int, size: int) -> list[Told]:
    """The network of this seed with each file, and without one."""
    cluster, options = exchanges_on(seed, size)
    alone = _core.simulate(cluster, {**options, "described": False})
    found = []
    true_s = 0.0
    for lie in TOLD:
        told = parse_cluster(LIES[lie](cluster.to_toml()), lie)
        done = _core.simulate(cluster, options, None, told)
        time_s = sum(done["exchange_s"])
        true_s = time_s if lie == TRUE else true_s
        found.append(
            Told(
                seed,
                size,
                lie,
                without_s=sum(alone["exchange_s"]),
                true_s=true_s,
                time_s=time_s,
                resent=done["retransmitted"],
                window=tune(told).window_packets,
            )
        )
    return found


def _row(lie: str, told: Sequence[Told]) -> list[str]:
    costs = sorted(one.cost for one in told)
    return [
        lie,
        str(len(told)),
        f"{fmean(cost <= COST_MAX for cost in costs):.1%}",
        f"{median(costs):.3f}",
        f"{costs[len(costs) * 9 // 10]:.2f}",
        f"{costs[-1]:.2f}",
        f"{fmean(one.time_s / one.true_s for one in told):.3f}",
    ]


def _print(console: Console, told: Sequence[Told]) -> bool:
    """Whether the figure is held."""
    title = f"{EXCHANGES} exchanges with wrong cluster files, by those without a file, simulated"
    table = ruled_table(title, "told", *right(*FIGURES))
    for lie in TOLD:
        table.add_row(*_row(lie, [one for one in told if one.lie == lie]))
    console.print(table)
    for lie in TOLD:
        worst = sorted((one for one in told if one.lie == lie), key=lambda one: -one.cost)
        for one in worst[:WORST_SHOWN]:
            console.print(
                f"  {lie}: network {one.seed}, {format_size(one.size)}: {one.cost:.2f}; "
                f"{format_seconds(one.time_s)}, {format_seconds(one.without_s)} without a file, "
                f"window {one.window}, {one.resent} packets sent again",
                highlight=False,
            )
    lying = [one for one in told if one.lie != TRUE]
    part = fmean(one.cost <= COST_MAX for one in lying)
    held = all(one.cost <= COST_MAX for one in lying)
    print(
        f"at most {COST_MAX - 1:.0%} more than without a file: {part:.1%}, asked: all: "
        f"{'held' if held else 'missed'}"
    )
    return held


def _command(
    networks: Annotated[int, typer.Option(help="So many random networks.", min=1)] = NETWORKS,
    first: Annotated[int, typer.Option(help="Seed of the first network.")] = 0,
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = "500,3000,20000",
) -> None:
    """Compare jobs that are told a wrong network with jobs without a cluster file."""
    if first < 0:
        raise BadInput(f"--first {first}: expected a seed, 0 or more")
    found = on_networks(compare, first, networks, parse_sizes(sizes))
    if not _print(Console(width=120), [one for told in found for one in told]):
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-told-wrong", _command))
