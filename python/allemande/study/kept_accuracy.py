"""Predictions and simulations against what the experiments keep of the lab.

    python -m allemande.study.kept_accuracy

000 Figures 7, 8 and 10 were measured among 16, 24 and 32 hosts on leaves of eight with uplinks of
412 Mbit/s: the first hosts of one network. Open MPI's pairwise exchange is known among 16 hosts,
ours from the network alone; both are told for 24 and 32, ours for 16 too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from allemande.entry import run_command
from allemande.model.predict import Predictions, Row
from allemande.model.profile import Profile, Sample
from allemande.model.samples import profile_of
from allemande.model.simulated_rows import simulate_best
from allemande.model.ways import our_candidate
from allemande.quantities import format_size
from allemande.reproduce.curves import lab_points
from allemande.reproduce.experiment import load
from allemande.stock_algorithms import OPENMPI
from allemande.tables import right, ruled_table
from allemande.topology import load_cluster

NETWORK = "tam-8x4-u412"
KEPT = {16: "000-fig-7", 24: "000-fig-8", 32: "000-fig-10"}  # hosts, the first of NETWORK
SEEN = 16
LIBRARY = ("pair-MPI", "openmpi:pairwise")  # as the experiments and as profiles name it
OURS = ("ours", our_candidate(OPENMPI, "sync-shuffle"))
MPI = "Open MPI 5.0.11"


@dataclass(frozen=True)
class Kept:
    """What the lab measured, and what is said of it, predicted and simulated."""

    time_s: float  # median of its calls
    dropped: int
    predicted: Row
    simulated: Row

    def off(self, row: Row) -> float:
        return row.time_s / self.time_s - 1

    def held(self, row: Row) -> bool:
        return row.low_s <= self.time_s <= row.high_s


def _points(hosts: int, label: str) -> list[dict[str, Any]]:
    return [point for point in lab_points(load(KEPT[hosts])) if point["label"] == label]


def _rows(profile: Profile, hosts: int, named: tuple[str, str]) -> Iterator[Kept]:
    label, candidate = named
    members = profile.network.hosts[:hosts]
    predictions = Predictions(profile, members)
    for point in _points(hosts, label):
        rows = predictions.rows(point["size"])
        again = simulate_best(profile, members, rows, every_way=True)
        predicted, simulated = (
            next(row for row in some if row.candidate == candidate) for some in (rows, again)
        )
        yield Kept(point["time_s"], point["dropped"], predicted, simulated)


def kept_accuracy() -> list[Kept]:
    cluster = load_cluster(NETWORK)
    few = tuple(host.name for host in cluster.hosts[:SEEN])
    samples = [
        Sample(LIBRARY[1], point["size"], (point["time_s"],), few)
        for point in _points(SEEN, LIBRARY[0])
    ]
    known = profile_of(cluster, samples, mpi=MPI)
    unknown = profile_of(cluster, mpi=MPI)
    found = [one for hosts in KEPT if hosts != SEEN for one in _rows(known, hosts, LIBRARY)]
    return found + [one for hosts in KEPT for one in _rows(unknown, hosts, OURS)]


def _cells(row: Row, kept: Kept) -> list[str]:
    interval = f"{row.low_s * 1e3:.4g} to {row.high_s * 1e3:.4g}"
    held = "yes" if kept.held(row) else "no"
    return [f"{row.time_s * 1e3:.4g}", f"{kept.off(row):+.1%}", interval, held]


def _command() -> None:
    """Compare predictions and simulations with what is kept of the lab."""
    title = f"Against what is kept of the lab, {NETWORK}, ms at full speed"
    columns = ("predicted", "off", "interval", "held", "simulated", "off", "interval", "held")
    table = ruled_table(title, "candidate", *right("hosts", "size", "lab", "dropped", *columns))
    for one in kept_accuracy():
        table.add_row(
            one.predicted.candidate,
            str(one.predicted.ranks),
            format_size(one.predicted.size),
            f"{one.time_s * 1e3:.4g}",
            str(one.dropped),
            *_cells(one.predicted, one),
            *(_cells(one.simulated, one) if one.simulated.basis == "simulated" else []),
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    sys.exit(run_command("kept-accuracy", _command))
