"""How fast each host's link takes packets in: it sends as fast as it can, to several others.

What comes in, all receivers together, comes as fast as the link sends. Several hosts are measured
at once. They are measured one by one where a packet was lost on the way, where the rates of parts
do not agree, and where one of them is faster alone: they share a link behind theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.estimate import Estimate, spread
from allemande.probe.lone_packets import longest_trip_s
from allemande.probe.packet_flows import Experiment, Flow
from allemande.probe.queueing import PARTS, busy_bit_s
from allemande.probe.record import Record, Seconds

RECEIVERS = 2
AT_ONCE = 8  # one host of so many
FIRST_PACKETS = 24  # to see roughly how fast a link is
LEAD_S = 0.002
# A link is measured for so long, at the speed that the network stands for.
SPAN_S = 0.02
PACKETS_MIN, PACKETS_MAX = 96, 4000
LOSS_MAX = 0.0
ALIKE = 0.005
AGAIN = 3
FASTER_ALONE = 1.01
LONE_FRAMES = 8
# A round trip crosses the host's link and at least one other, twice each.
ROUND_TRIP_FRAMES = 1.5

Receivers = np.ndarray[tuple[int], np.dtype[np.int64]]


def _flows(senders: Iterable[int], ranks: int, packets: int, datagram: int) -> list[Flow]:
    flows = []
    count = min(RECEIVERS, ranks - 1)
    for sender in senders:
        for k in range(count):
            receiver = (sender + 1 + k * max(1, (ranks - 1) // count)) % ranks
            flows.append(Flow(sender, receiver, packets // count, datagram))
    return flows


def _farther_s(came: Seconds, receiver: Receivers) -> Seconds:
    """By how much later each packet came for its receiver being farther away than the nearest.

    Packets to two receivers alternate. One to the farther that follows one to the nearer comes a
    frame's time and the difference later, one to the nearer a frame's time less the difference.
    Distances that differ by less than a frame's time count as one.
    """
    ends = np.unique(receiver)
    none = np.zeros_like(came)
    if len(ends) != RECEIVERS:
        return none
    gaps, second = np.diff(came), receiver == ends[1]
    out, back = gaps[~second[:-1] & second[1:]], gaps[second[:-1] & ~second[1:]]
    if not out.size or not back.size:
        return none
    difference_s = float(np.median(out) - np.median(back)) / 2
    frame_s = float(np.median(out) + np.median(back)) / 2
    if abs(difference_s) < frame_s:
        return none
    return np.where(second == (difference_s > 0), abs(difference_s), 0.0)


def _rates(record: Record, sender: int, bits: float) -> list[float]:
    """The rates while the sender's link was busy; empty: too little came.

    A packet that was sent before the one ahead of it came found the link busy.
    """
    own = [t for t in record.traces() if t.flow.sender == sender]
    sent = np.concatenate([t.sent_s for t in own])
    order = np.argsort(sent, kind="stable")
    sent, came = sent[order], np.concatenate([t.arrived_s for t in own])[order]
    receiver = np.concatenate([np.full(t.sent_s.size, t.flow.receiver) for t in own])[order]
    there = ~np.isnan(came)
    sent, came, receiver = sent[there], came[there], receiver[there]
    came = came - _farther_s(came, receiver)
    waited = np.concatenate([[False], sent[1:] <= came[:-1]]) if came.size else np.zeros(0, bool)
    return busy_bit_s(came, waited, bits)


def _spread(rates: Sequence[float]) -> float:
    """As a share; infinite where there are too few."""
    return spread(rates) if len(rates) >= PARTS else np.inf


def _lost(record: Record, sender: int) -> bool:
    return any(t.loss > LOSS_MAX for t in record.traces() if t.flow.sender == sender)


def rough_rate(bed: Bed) -> float:
    """The first host's rate from a few packets, in bit/s: how long everything else will take."""
    bits = frame_bits(bed, bed.datagram_bytes)
    flows = _flows([0], len(bed.hosts), FIRST_PACKETS, bed.datagram_bytes)
    record = bed.run(Experiment(flows, 0.1 * bed.time_scale))
    rates = _rates(record, 0, bits)
    return float(np.median(rates)) if rates else 0.0


def passes_at_once(bed: Bed, bit_s: float) -> bool:
    """Whether lone frames leave a host in no time: a token bucket keeps the rate of what it sends,
    and the links behind are faster.

    There and back again a full frame crosses a host's link twice at least. In a lab it takes its
    time there, although hosts have token buckets.
    """
    frame_s = frame_bits(bed, bed.datagram_bytes) / bit_s
    each_s = 20 * frame_s + 0.002
    flow = Flow(0, 1, LONE_FRAMES, bed.datagram_bytes, 0.0, each_s, echo=True)
    # An answer that comes at once would let the next packet find the bucket empty.
    flows = [replace(flow, packets=1, start_s=k * each_s) for k in range(LONE_FRAMES)]
    trace = bed.run(Experiment(flows, (LONE_FRAMES + 1) * each_s)).traces()
    trips = [float(one.delay_s[0]) for one in trace if one.delay_s.size]
    return bool(trips) and min(trips) < ROUND_TRIP_FRAMES * frame_s


def measure_up_rates(bed: Bed, rough_bit_s: float) -> list[Estimate]:
    """The rate of every host's link towards the network, in bit/s.

    Raises nothing: a host from which too little came has an estimate of 0.
    """
    ranks = len(bed.hosts)
    bits = frame_bits(bed, bed.datagram_bytes)
    packets = int(SPAN_S * bed.time_scale * rough_bit_s / bits)
    packets = min(max(packets, PACKETS_MIN), PACKETS_MAX)
    frame_s = bits / rough_bit_s
    duration = LEAD_S + 2.5 * packets * frame_s + longest_trip_s(bed, frame_s)
    found: dict[int, list[float]] = {}

    def measure(senders: Sequence[int]) -> list[int]:
        """Returns those that have to be measured again."""
        flows = _flows(senders, ranks, packets, bed.datagram_bytes)
        record = bed.run(Experiment(flows, duration))
        again = []
        for sender in senders:
            rates = _rates(record, sender, bits)
            if _lost(record, sender) or not rates:
                again.append(sender)
            if rates:
                found.setdefault(sender, []).extend(rates)
        return again

    def rate_bit_s(sender: int) -> float:
        return float(np.median(found.get(sender, [0.0])))

    def measure_alone(sender: int) -> None:
        found.pop(sender, None)
        measure([sender])

    step = max(1, ranks // AT_ONCE) if ranks >= AT_ONCE else ranks
    together = -(-ranks // step)
    for first in range(step):
        senders = [first + k * step for k in range(together) if first + k * step < ranks]
        again = measure(senders)
        if len(senders) == 1:
            continue
        slow = min(senders, key=rate_bit_s)
        together_bit_s = rate_bit_s(slow)
        measure_alone(slow)
        shared = rate_bit_s(slow) > FASTER_ALONE * together_bit_s
        for sender in senders if shared else again:
            if sender != slow:
                measure_alone(sender)
    # Where processes were not called in time, or kernels stamped packets late, rates do not agree.
    for rank in range(ranks):
        for _ in range(AGAIN):
            before = found.pop(rank, [])
            if _spread(before) <= ALIKE:
                found[rank] = before
                break
            measure([rank])
            if _spread(before) <= _spread(found.get(rank, [])) and before:
                found[rank] = before
    return [Estimate.of(found[r]) if found.get(r) else Estimate(0, 0, 0) for r in range(ranks)]
