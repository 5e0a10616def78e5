"""Do lab and simulator agree? The same exchanges on the same networks in both.

Run as `python -m allemande.study.lab_agreement` (`make bench-agreement`): ten networks with the
three architectures, both kinds of switching and back-pressure; several algorithms and sizes. Times
in the lab are multiplied by its scale. What has been measured is kept and not measured again. It
exits with 1 where the two are farther apart than they may be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import allemande
from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.cluster_files import find_cluster_file
from allemande.entry import run_command
from allemande.errors import BadInput, Failed
from allemande.quantities import MISSING, format_seconds, format_size
from allemande.study.measuring import kept_rows
from allemande.tables import left, right, ruled_table

SIZES = "100,1000,3000,20000,100000"
ALGORITHMS = "sync-shuffle,pairwise,grid"
EXCHANGES = 8
JITTER_US = 20.0  # how far apart ranks leave a barrier at full speed
# Blocks of this size and more are carried by the links, smaller ones by the processors as well.
LARGE_BYTES = 3000
MEDIAN_MAX, WORST_MAX = 0.02, 0.08
SMALL_MEDIAN_MAX, SMALL_WORST_MAX = 0.05, 0.15
IDLE_MIN = 0.2


@dataclass(frozen=True)
class Network:
    """A ready-made cluster whose switches are of another kind."""

    name: str
    cluster: str
    scale: float
    switches: str = ""  # lines for each of them, instead of what the file says

    def text(self) -> str:
        """Its cluster file."""
        lines = []
        for line in find_cluster_file(self.cluster).read_text().splitlines():
            replaced = line.startswith(("architecture", "switching", "flow_control", "buffer_"))
            if not (self.switches and replaced):
                lines.append(line)
            if line.startswith("[[switch]]"):
                lines += self.switches.splitlines()
        return "\n".join(lines) + "\n"


OUTPUT, INPUT, SHARED = (f'architecture = "{kind}"' for kind in ("output", "input", "shared"))
CUT_THROUGH = 'switching = "cut-through"'
LOSSLESS = 'flow_control = "back-pressure"'
NETWORKS = (
    Network("shallow-8x1", "shallow-8x1", 0.1),
    Network("shallow-4x2", "shallow-4x2", 0.1),
    Network("shallow-4x2 cut-through", "shallow-4x2", 0.1, f"{OUTPUT}\n{CUT_THROUGH}"),
    Network("shallow-4x2 shared", "shallow-4x2", 0.1, f"{SHARED}\nbuffer_packets = 60"),
    Network("tam-8x1", "tam-8x1", 0.1),
    Network("tam-8x1 output", "tam-8x1", 0.1, OUTPUT),
    Network("tam-16x1", "tam-16x1", 0.1),
    Network("tam-8x2 cut-through", "tam-8x2", 0.1, f"{INPUT}\n{CUT_THROUGH}"),
    Network("tam-8x2 lossless", "tam-8x2", 0.1, f"{INPUT}\n{LOSSLESS}"),
    Network("tam-8x4", "tam-8x4", 0.05),
)


@dataclass(frozen=True)
class Pair:
    """One exchange in both, in seconds at full speed."""

    network: str
    algorithm: str
    size: int
    lab_s: float | None
    simulated_s: float
    lab_dropped: int | None
    simulated_dropped: int
    idle: float | None
    void: str | None

    @property
    def off(self) -> float | None:
        """How much longer it takes in the lab."""
        return None if self.lab_s is None else self.lab_s / self.simulated_s - 1

    @property
    def counts(self) -> bool:
        """Whether neither the processors nor the emulator decided."""
        return self.off is not None and self.void is None and (self.idle or 0) >= IDLE_MIN


def _measure(network: Network, algorithms: Sequence[str], sizes: Sequence[int]) -> list[Pair]:
    names = {name: f"allemande+openmpi:algorithm={name},trials=off" for name in algorithms}
    folder = Path("out/lab-agreement/clusters")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{network.name.replace(' ', '-')}.toml"
    file.write_text(network.text())
    result = compare(
        Request(
            str(file),
            sizes,
            parse_candidates(list(names.values())),
            Effort(rounds=2, calls=6, seconds=1.0),
            scale=network.scale,
        )
    )
    entries = {(f.candidate, f.size): f.as_json() for f in result.figures}
    pairs = []
    for algorithm, name in names.items():
        for size in sizes:
            entry = entries[name, size]
            simulated = allemande.simulate(
                str(file), algorithm, size, exchanges=EXCHANGES, jitter_us=JITTER_US
            )
            seconds = entry["median_s"]
            pairs.append(
                Pair(
                    network.name,
                    algorithm,
                    size,
                    None if seconds is None else seconds * network.scale,
                    simulated.time_s,
                    entry["dropped"],
                    simulated.dropped,
                    entry["cpu_idle"],
                    entry["void_reason"],
                )
            )
    return pairs


def _verdicts(pairs: Sequence[Pair]) -> Iterator[tuple[str, float, float, float, float, int]]:
    for name, large in (("from 3 KB on", True), ("smaller", False)):
        far = [
            abs(pair.off)
            for pair in pairs
            if pair.counts and (pair.size >= LARGE_BYTES) is large and pair.off is not None
        ]
        if far:
            bounds = (MEDIAN_MAX, WORST_MAX) if large else (SMALL_MEDIAN_MAX, SMALL_WORST_MAX)
            yield name, median(far), max(far), *bounds, len(far)


def _table(pairs: Sequence[Pair]) -> Table:
    figures = right("size", "lab", "simulated", "apart", "dropped", "idle")
    out = ruled_table(None, *left("network", "algorithm"), *figures, "")
    for pair in pairs:
        out.add_row(
            pair.network,
            pair.algorithm,
            format_size(pair.size),
            format_seconds(pair.lab_s),
            format_seconds(pair.simulated_s),
            MISSING if pair.off is None else f"{pair.off:+.1%}",
            f"{pair.lab_dropped} / {pair.simulated_dropped}",
            MISSING if pair.idle is None else f"{pair.idle:.0%}",
            pair.void or ("" if pair.counts else "processors busy"),
        )
    return out


def _command(
    networks: Annotated[str, typer.Option(help="Separated by commas; default: all.")] = "",
    algorithms: Annotated[str, typer.Option(help="Separated by commas.")] = ALGORITHMS,
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = SIZES,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="What was measured.")] = Path(
        "out/lab-agreement"
    ),
) -> None:
    """Hold the lab against the simulator."""
    chosen = [one for one in NETWORKS if not networks or one.name in networks.split(",")]
    if not chosen:
        known = ", ".join(one.name for one in NETWORKS)
        raise BadInput(f"networks {networks!r}: expected some of: {known}")
    output.mkdir(parents=True, exist_ok=True)
    console = Console(width=150)
    pairs: list[Pair] = []
    for network in chosen:
        path = output / f"{network.name.replace(' ', '-')}.json"
        measure = partial(_measure, network, algorithms.split(","), parse_sizes(sizes))
        mine = kept_rows(path, Pair, measure)
        console.print(_table(mine))
        pairs += mine
    failed = False
    for name, middle, worst, middle_max, worst_max, count in _verdicts(pairs):
        console.print(
            f"{name}: {count} pairs, apart by {middle:.1%} by the median ({middle_max:.0%} asked), "
            f"{worst:.1%} at worst ({worst_max:.0%})"
        )
        failed = failed or middle > middle_max or worst > worst_max
    if failed:
        raise Failed("lab and simulator are farther apart than they may be")


if __name__ == "__main__":
    sys.exit(run_command("bench-agreement", _command))
