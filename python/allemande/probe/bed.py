"""What the prober runs on: the hosts of an MPI job, or those of a simulated cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from allemande.probe.packet_flows import Experiment
from allemande.probe.record import Record

BITS = 8


class Bed(Protocol):
    """Carries experiments out, on one rank per host."""

    @property
    def hosts(self) -> Sequence[str]:
        """Names, in rank order."""

    @property
    def datagram_bytes(self) -> int:
        """The largest datagram of one packet."""

    @property
    def overhead_bytes(self) -> int:
        """What a link carries around a datagram."""

    @property
    def simulated(self) -> bool:
        """Whether the hosts are those of the simulator."""

    @property
    def time_scale(self) -> float:
        """By how much the network is slower than what it stands for: the option of this name."""

    def run(self, experiment: Experiment) -> Record:
        """Carries it out; Failed where a host could not keep up."""


def frame_bits(bed: Bed, datagram_bytes: int) -> float:
    """What a datagram takes on a link, in bits."""
    return (datagram_bytes + bed.overhead_bytes) * BITS
