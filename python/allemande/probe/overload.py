"""One port overloaded for milliseconds: how fast it drains, and how many packets it holds.

The port gets more than it can send until its queue is full and some packets are lost. Its rate is
that at which packets come out meanwhile. A packet that was lost found the queue full: the number of
packets before it is what the port holds. Where nothing is lost although the queue grows, the same
is tried for longer; where it does not grow the port cannot be overloaded by those senders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.estimate import Estimate
from allemande.probe.packet_flows import Experiment, Flow
from allemande.probe.queueing import (
    HostLinks,
    Passage,
    carried_bit_s,
    departures,
    passage,
    queue_found,
)
from allemande.probe.record import Record, Seconds

MEASURED = "measured"
NOT_OVERLOADABLE = "not overloadable"
NOT_TRIED = "not tried"

LOSSES_WANTED = 24
FIRST_FRAMES = 160  # of the senders' links
LONGEST_FRAMES = 6000
LONGER = 3.0
SETTLE_S = 0.01  # at the speed that the network stands for
PARTS = 4
# A queue that holds this many packets at the end of an overload was growing.
GROWING_PACKETS = 12
# Of the samples of a full queue those below this share of the largest ones were taken while it
# filled: a packet may also be lost for other reasons.
FULL_SHARE = 0.7


@dataclass(frozen=True)
class Stream:
    """What one host sends to another while a port is overloaded: a share of its own link."""

    sender: int
    receiver: int
    share: float


@dataclass(frozen=True)
class PortFinding:
    """A port's rate, bit/s, and queue, packets. `lower_bound`: nobody could fill it.

    `per_sender`: how many packets of one sender waited when one of its own was lost, which is what
    an input-buffered switch holds.
    """

    state: str
    rate_bit_s: Estimate | None = None
    lower_bound: bool = False
    buffer_packets: Estimate | None = None
    per_sender: Estimate | None = None


def _experiment(
    bed: Bed, ports: Sequence[Sequence[Stream]], links: HostLinks, frames: float
) -> tuple[Experiment, list[list[int]]]:
    """The flows of all ports, and their indices by port."""
    bits = frame_bits(bed, bed.datagram_bytes)
    span_s = frames * bits / links.slowest_bit_s
    flows: list[Flow] = []
    by_port: list[list[int]] = []
    longest_s = span_s
    for streams in ports:
        by_port.append([])
        for turn, stream in enumerate(streams):
            interval_s = bits / links.bit_s[stream.sender] / stream.share
            start_s = interval_s * turn / len(streams)
            by_port[-1].append(len(flows))
            packets = max(1, int(span_s / interval_s))
            flows.append(
                Flow(
                    stream.sender,
                    stream.receiver,
                    packets,
                    bed.datagram_bytes,
                    start_s,
                    interval_s,
                )
            )
        # What waits at the end has to come out: at worst all of it, at the pace of one sender.
        offered = sum(stream.share for stream in streams)
        longest_s = max(longest_s, span_s * max(1.0, min(offered, 4.0)))
    return Experiment(flows, longest_s + SETTLE_S * bed.time_scale), by_port


def _rates(packets: Passage, bits: float, begin_s: float, end_s: float) -> list[float]:
    edges = np.linspace(begin_s, end_s, PARTS + 1)
    found = [carried_bit_s(packets, bits, a, b) for a, b in pairwise(edges)]
    return [rate for rate in found if rate > 0]


def _when_full(found: Seconds) -> Seconds:
    """Of what packets found that were lost: without what was lost for other reasons."""
    return found[found >= FULL_SHARE * np.percentile(found, 90)]


def _full_by_sender(packets: Passage) -> Estimate | None:
    """What packets found of their own flow when they were lost."""
    found: list[float] = []
    for flow in np.unique(packets.flow):
        own = packets.flow == flow
        one = Passage(packets.left_s[own], packets.came_s[own], packets.flow[own])
        if one.lost.any() and not one.lost.all():
            found += _when_full(queue_found(one)[one.lost]).tolist()
    return Estimate.of(found) if len(found) >= LOSSES_WANTED / 2 else None


def _look(packets: Passage, bits: float) -> tuple[PortFinding, bool]:
    """What one overload tells, and whether a longer one would tell more."""
    found = queue_found(packets)
    last_sent = float(packets.left_s[-1])
    first_came = float(np.nanmin(packets.came_s)) if not packets.lost.all() else np.nan
    if np.isnan(first_came):
        return PortFinding(NOT_TRIED), False
    lost = int(packets.lost.sum())
    if lost >= LOSSES_WANTED:
        full = _when_full(found[packets.lost])
        # From when the queue was first full to when the senders stopped.
        begin_s = max(float(packets.left_s[packets.lost][0]), first_came)
        rates = _rates(packets, bits, begin_s, last_sent)
        if not rates or full.size < LOSSES_WANTED / 2:
            return PortFinding(NOT_TRIED), True
        own = _full_by_sender(packets)
        return PortFinding(
            MEASURED, Estimate.of(rates), False, Estimate.of(full.tolist()), own
        ), False
    tail = found[-max(4, found.size // 10) :]
    rates = _rates(packets, bits, first_came + 0.3 * (last_sent - first_came), last_sent)
    rate = Estimate.of(rates) if rates else None
    growing = float(np.median(tail)) >= GROWING_PACKETS or lost > 0
    if growing:
        return PortFinding(NOT_TRIED, rate, False), True
    return PortFinding(NOT_OVERLOADABLE, rate, True), False


def overload(
    bed: Bed,
    ports: Sequence[Sequence[Stream]],
    links: HostLinks,
    first_frames: float = FIRST_FRAMES,
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """Overloads ports that have no senders, receivers or links in common, all at once."""
    bits = frame_bits(bed, bed.datagram_bytes)
    findings = [PortFinding(NOT_TRIED) for _ in ports]
    waiting = list(range(len(ports)))
    frames = first_frames
    while waiting and frames <= LONGEST_FRAMES:
        tell(f"{len(waiting)} ports for {frames:.0f} frames")
        experiment, by_port = _experiment(bed, [ports[k] for k in waiting], links, frames)
        record: Record = bed.run(experiment)
        traces = record.traces()
        left = departures(bed, traces, links)
        again = []
        for k, flows in zip(waiting, by_port, strict=True):
            packets = passage([traces[i] for i in flows], [left[i] for i in flows])
            findings[k], longer = _look(packets, bits)
            if longer:
                again.append(k)
        waiting = again
        frames *= LONGER
    return findings
