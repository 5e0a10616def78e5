"""Experiments as data: who sends what to whom, when, how fast (src/probe/experiment.h)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from allemande._core import PROBE_HEADER_BYTES

NANOS = 1e9
SMALLEST_BYTES = PROBE_HEADER_BYTES


@dataclass(frozen=True)
class Flow:
    """Packets from one rank to another.

    Times in seconds after the experiment's beginning. `interval_s`: from one train of packets to
    the next, 0 as fast as the link takes them; of an echo the time after which its answer is given
    up. `bytes`: of a datagram, the prober's header included. `stamped`: the sender's kernel notes
    when packets leave the host, behind what waits there and however late a busy processor serves
    that queue; not of echoes.
    """

    sender: int
    receiver: int
    packets: int
    bytes: int
    start_s: float = 0.0
    interval_s: float = 0.0
    train: int = 1
    echo: bool = False
    stamped: bool = False

    def as_tuple(self) -> tuple[int, int, int, int, int, int, int, bool, bool]:
        """As the C++ side takes it."""
        return (
            self.sender,
            self.receiver,
            round(self.start_s * NANOS),
            round(self.interval_s * NANOS),
            self.packets,
            self.bytes,
            self.train,
            self.echo,
            self.stamped,
        )


@dataclass(frozen=True)
class Watch:
    """A rank that looks at the clock every `interval_s` and notes when it could not."""

    rank: int
    start_s: float
    end_s: float
    interval_s: float

    def as_tuple(self) -> tuple[int, int, int, int]:
        """As the C++ side takes it."""
        return (
            self.rank,
            round(self.start_s * NANOS),
            round(self.end_s * NANOS),
            round(self.interval_s * NANOS),
        )


@dataclass(frozen=True)
class Experiment:
    """Flows that run at once, and how long their packets are waited for."""

    flows: Sequence[Flow]
    duration_s: float
    watches: Sequence[Watch] = field(default_factory=tuple)

    def duration_ns(self) -> int:
        """As the C++ side takes it."""
        return round(self.duration_s * NANOS)
