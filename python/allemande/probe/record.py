"""What came out of an experiment: when each packet was sent and when it came, flow by flow."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from allemande.probe.packet_flows import NANOS, Experiment, Flow

# The layout of src/probe/experiment.h.
SENT = np.dtype(
    [("flow", "<u4"), ("number", "<u4"), ("at", "<i8"), ("until", "<i8"), ("left", "<i8")]
)
RECEIVED = np.dtype(
    [
        ("flow", "<u4"),
        ("number", "<u4"),
        ("sent", "<i8"),
        ("at", "<i8"),
        ("seen", "<i8"),
        ("answer", "<u8"),
    ]
)
STALL = np.dtype([("at", "<i8"), ("length", "<i8")])

Seconds = npt.NDArray[np.float64]
RawLog = tuple[bytes, bytes, bytes, int]


def pack(log: RawLog) -> tuple[bytes, bytes, bytes, int]:
    """Smaller, for the way to rank 0: fields of one kind side by side compress well."""

    def columns(data: bytes, kind: np.dtype[np.void]) -> bytes:
        records = np.frombuffer(data, kind)
        parts = []
        for name in kind.names or ():
            column = records[name]
            steps = np.diff(column.astype(np.int64), prepend=np.int64(0))
            parts.append(steps.astype("<i8").tobytes())
        return zlib.compress(b"".join(parts), 1)

    return (columns(log[0], SENT), columns(log[1], RECEIVED), columns(log[2], STALL), log[3])


def unpack(packed: tuple[bytes, bytes, bytes, int]) -> RawLog:
    """The inverse of `pack`."""

    def records(data: bytes, kind: np.dtype[np.void]) -> bytes:
        names = kind.names or ()
        steps = np.frombuffer(zlib.decompress(data), "<i8").reshape(len(names), -1)
        out = np.empty(steps.shape[1], kind)
        for name, column in zip(names, steps, strict=True):
            out[name] = np.cumsum(column)
        return out.tobytes()

    return (
        records(packed[0], SENT),
        records(packed[1], RECEIVED),
        records(packed[2], STALL),
        packed[3],
    )


@dataclass(frozen=True)
class Trace:
    """One flow: when each of its packets was sent and when it came, in seconds; NaN: it did not.

    `seen_s` is when the receiving program had it. Of an echo, `arrived_s` is when the answer came.
    `left_s` is when the sender's kernel gave it to the device, NaN where nobody noted that.
    """

    flow: Flow
    sent_s: Seconds
    taken_s: Seconds
    arrived_s: Seconds
    seen_s: Seconds
    left_s: Seconds

    @cached_property
    def lost(self) -> npt.NDArray[np.bool_]:
        """Which packets did not come."""
        return np.isnan(self.arrived_s)

    @property
    def loss(self) -> float:
        """The part that did not come; 0 where nothing was sent."""
        return float(self.lost.mean()) if self.lost.size else 0.0

    @property
    def delay_s(self) -> Seconds:
        """From sending to coming, of the packets that came."""
        return (self.arrived_s - self.sent_s)[~self.lost]


class Record:
    """The logs of all ranks, by flow. All times are those of one clock."""

    def __init__(self, experiment: Experiment, logs: Sequence[RawLog]) -> None:
        self.experiment = experiment
        self.overflow = [log[3] for log in logs]
        sent = np.concatenate([np.frombuffer(log[0], SENT) for log in logs])
        received = np.concatenate([np.frombuffer(log[1], RECEIVED) for log in logs])
        self._stalls = [np.frombuffer(log[2], STALL) for log in logs]
        echo = np.array([flow.echo for flow in experiment.flows], bool)
        # For an echo only the answer counts.
        kept = received["answer"].astype(bool) == echo[received["flow"]]
        self._answered = received[~kept]
        received = received[kept]
        self._sent = sent[np.argsort(sent["flow"], kind="stable")]
        self._received = received[np.argsort(received["flow"], kind="stable")]
        flows = np.arange(len(experiment.flows) + 1)
        self._sent_begin = np.searchsorted(self._sent["flow"], flows)
        self._received_begin = np.searchsorted(self._received["flow"], flows)

    def trace(self, flow: int) -> Trace:
        """The flow of this index in the experiment."""
        sent = self._sent[self._sent_begin[flow] : self._sent_begin[flow + 1]]
        received = self._received[self._received_begin[flow] : self._received_begin[flow + 1]]
        count = len(sent)
        arrived = np.full(count, np.nan)
        seen = np.full(count, np.nan)
        known = received[received["number"] < count]
        # A packet that comes twice counts when it first comes.
        arrived[known["number"][::-1]] = known["at"][::-1] / NANOS
        seen[known["number"][::-1]] = known["seen"][::-1] / NANOS
        return Trace(
            self.experiment.flows[flow],
            sent["at"] / NANOS,
            sent["until"] / NANOS,
            arrived,
            seen,
            np.where(sent["left"] < 0, np.nan, sent["left"] / NANOS),
        )

    def traces(self) -> list[Trace]:
        """All flows."""
        return [self.trace(i) for i in range(len(self.experiment.flows))]

    def looks_s(self, rank: int) -> tuple[Seconds, Seconds]:
        """When a watch looked at the clock, and how long that was after the look before."""
        stalls = self._stalls[rank]
        return (
            np.asarray(stalls["at"] / NANOS, np.float64),
            np.asarray(stalls["length"] / NANOS, np.float64),
        )
