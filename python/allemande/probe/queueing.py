"""When packets left their hosts, and how many were before each of them in a queue on the way.

Nothing here needs to know where that queue is: of the packets that pass a port in order, those that
left their hosts earlier and have not come yet are in it. A packet that was lost found it full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.record import Seconds, Trace

PARTS = 4  # of a time in which a link was busy, each a sample
PART_PACKETS = 12  # at least
AT_ONCE_PACKETS = 4
INPUTS_SHARE = 0.3  # of packets that others overtake

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class HostLinks:
    """What is known of the links by which hosts send: bit/s, by rank.

    `at_once`: a lone frame passes in no time, and only those behind it wait. So it is where a
    host's shaper (tbf) keeps the rate, and not a wire.
    """

    bit_s: Sequence[float]
    at_once: bool = False

    @property
    def slowest_bit_s(self) -> float:
        """The rate of the slowest host."""
        return min(self.bit_s)


@dataclass(frozen=True)
class Passage:
    """Packets that pass one port, in the order in which they left their hosts.

    Times in seconds; `came_s` is NaN for those that were lost. `flow`: index of each packet's
    trace in what the passage was made of.
    """

    left_s: Seconds
    came_s: Seconds
    flow: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def lost(self) -> Flags:
        """Which packets did not come."""
        return np.isnan(self.came_s)


def departures(bed: Bed, traces: Sequence[Trace], links: HostLinks) -> list[Seconds]:
    """When each packet's last bit left its host, in seconds, per trace.

    A host's packets leave one after the other, at the rate of its link: what is sent while another
    packet leaves waits in the host. Where the kernel noted when a packet left, that counts: it
    knows what a busy processor did to the host's queue.
    """
    out = [np.empty_like(trace.sent_s) for trace in traces]
    for rank in {trace.flow.sender for trace in traces}:
        own = [i for i, trace in enumerate(traces) if trace.flow.sender == rank]
        sent = np.concatenate([traces[i].sent_s for i in own])
        frame = np.concatenate(
            [np.full(traces[i].sent_s.size, frame_bits(bed, traces[i].flow.bytes)) for i in own]
        )
        order = np.argsort(sent, kind="stable")
        service = frame[order] / links.bit_s[rank]
        done = np.cumsum(service)
        # left[k] = max(sent[k], left[k - 1]) + service[k], without a loop; where lone frames pass
        # at once left[k] = max(sent[k], left[k - 1] + service[k]).
        ahead = done if links.at_once else done - service
        left = np.maximum.accumulate(sent[order] - ahead) + done
        placed = np.empty_like(left)
        placed[order] = left
        ends = np.cumsum([traces[i].sent_s.size for i in own])
        for i, part in zip(own, np.split(placed, ends[:-1]), strict=True):
            noted = traces[i].left_s
            if not links.at_once:  # noted is when the first bit left
                noted = noted + frame_bits(bed, traces[i].flow.bytes) / links.bit_s[rank]
            out[i] = np.where(np.isnan(noted), part, noted)
    return out


def passage(traces: Sequence[Trace], left: Sequence[Seconds]) -> Passage:
    """All packets of these flows together."""
    left_s = np.concatenate(left)
    came_s = np.concatenate([trace.arrived_s for trace in traces])
    flow = np.concatenate([np.full(at.size, i) for i, at in enumerate(left)])
    order = np.argsort(left_s, kind="stable")
    return Passage(left_s[order], came_s[order], flow[order])


def _quickest_s(packets: Passage) -> float:
    came = ~packets.lost
    return float(np.min(packets.came_s[came] - packets.left_s[came]))


def _gone_s(packets: Passage) -> Seconds:
    """When packets left the port, of those that came, in the order in which they went in.

    A port sends packets in that order: one that came home late, because it waited behind the port
    or its kernel was busy, had left the port no later than those behind it. Where many did, packets
    wait at several inputs of a switch, which take turns: those came in the order they left.
    """
    came_s = packets.came_s[~packets.lost]
    in_order = np.minimum.accumulate(came_s[::-1])[::-1]
    if np.count_nonzero(came_s > in_order) > INPUTS_SHARE * came_s.size:
        in_order = np.sort(came_s)
    return np.asarray(in_order, np.float64)


def queue_found(packets: Passage) -> Seconds:
    """How many packets waited before each of them when it left its host.

    Only those that came in the end count: the others were dropped where the queue is. A packet
    waits as long as it is under way for longer than the quickest one.
    """
    came = ~packets.lost
    began = _gone_s(packets) - _quickest_s(packets)
    entered = np.concatenate([[0], np.cumsum(came)[:-1]])
    gone = np.searchsorted(began, packets.left_s, side="right")
    return np.asarray(entered - gone, np.float64)


def busy_bit_s(came_s: Seconds, waited: Flags, bits: float) -> list[float]:
    """The rates of parts of the times in which a link was busy; empty: too little came.

    `came_s`: when packets came, in order; `waited`: whether each waited for the one before. The
    first packets after a pause are left out: a shaper that had nothing to do lets some pass. Of a
    part the times of half its packets count, less the quarters that were shortest and longest, so
    that some packets may come late.
    """
    rates = []
    for busy in np.split(came_s, np.flatnonzero(~waited[1:]) + 1):
        rest = busy[max(AT_ONCE_PACKETS, busy.size // 10) :]
        count = min(PARTS, rest.size // PART_PACKETS)
        for part in np.array_split(rest, count) if count else ():
            half = part.size // 2
            spans = np.sort(part[half:] - part[:-half])
            span_s = float(np.mean(spans[spans.size // 4 : -(spans.size // 4)]))
            if span_s > 0:
                rates.append(half * bits / span_s)
    return rates


def drained_bit_s(packets: Passage, bits: float, begin_s: float, end_s: float) -> list[float]:
    """The rates at which a port sent what waited for it, between two moments."""
    gone_s = _gone_s(packets)
    entered_s = packets.left_s[~packets.lost] + _quickest_s(packets)
    waited = np.concatenate([[False], entered_s[1:] <= gone_s[:-1]])
    during = (gone_s >= begin_s) & (gone_s <= end_s)
    return busy_bit_s(gone_s[during], waited[during], bits)


def carried_bit_s(packets: Passage, bits: float, begin_s: float, end_s: float) -> float:
    """The rate at which packets came between two moments, from the first to the last of them.

    0 where fewer than three came.
    """
    came = np.sort(packets.came_s[~packets.lost])
    came = came[(came >= begin_s) & (came <= end_s)]
    if came.size < 3 or came[-1] <= came[0]:
        return 0.0
    return float((came.size - 1) * bits / (came[-1] - came[0]))
