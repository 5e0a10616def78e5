"""Everything a probing has found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from allemande.probe.estimate import Estimate
from allemande.probe.leaf_groups import Groups
from allemande.probe.overload import PortFinding

LEAF, ACROSS = "leaf", "across"
UDP, MPI = "udp", "mpi"


@dataclass(frozen=True)
class Quantity:
    """A quantity between two hosts, in seconds; `beta` in seconds per byte."""

    name: str
    estimate: Estimate
    level: str = LEAF
    carrier: str = UDP
    bytes: int = 0


@dataclass(frozen=True)
class WaySample:
    """One way timed: the slowest rank's seconds, call by call."""

    candidate: str
    members: Sequence[int]  # ranks
    bytes: int
    times_s: Sequence[float]


@dataclass
class Findings:
    """By question; what was not asked is empty. Ports and rates are by rank, or by leaf."""

    hosts: Sequence[str]
    mtu_bytes: int
    time_scale: float
    simulated: bool
    mpi: str = ""
    up: Sequence[Estimate] = ()
    groups: Groups = field(default_factory=lambda: Groups(None, "not asked", 0))
    host_ports: Sequence[PortFinding] = ()
    uplinks: Sequence[PortFinding] = ()
    downlinks: Sequence[PortFinding] = ()
    leaf_pool_packets: int | None = None  # that the ports of a leaf share
    core_pool_packets: int | None = None
    # (flows, bit/s of all together), within a leaf and between two: 000 Figure 6.
    local: Sequence[tuple[int, float]] = ()
    across: Sequence[tuple[int, float]] = ()
    quantities: list[Quantity] = field(default_factory=list)
    samples: list[WaySample] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    spent_s: dict[str, float] = field(default_factory=dict)  # by question
