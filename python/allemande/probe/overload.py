"""One port overloaded for milliseconds: how fast it drains, and how many packets it holds.

The port gets more than it can send until its queue is full and some packets are lost. Its rate is
that at which packets come out meanwhile. A packet that was lost found the queue full: the number of
packets before it is what the port holds. Where nothing is lost although the queue grows, the same
is tried for longer; where it does not grow the port cannot be overloaded by those senders.

Processors that pause and packets of others change what is seen. A measurement whose samples do not
agree is repeated, and what they never agree on is not told. A port that differs from the others of
its kind is measured once more, and what it does not say twice is not told, either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from allemande.model.profile import MEASURED, NOT_OVERLOADABLE, NOT_TRIED
from allemande.probe.bed import Bed, frame_bits
from allemande.probe.estimate import Estimate, spread
from allemande.probe.packet_flows import Experiment, Flow
from allemande.probe.queueing import (
    HostLinks,
    Passage,
    carried_bit_s,
    departures,
    drained_bit_s,
    passage,
    queue_found,
)
from allemande.probe.record import Record, Seconds

LOSSES_WANTED = 24
FIRST_FRAMES = 160  # of the senders' links
LONGEST_FRAMES = 6000
LONGER = 3.0
SETTLE_S = 0.01  # at the speed that the network stands for
PARTS = 4
# A queue that holds this many packets at the end of an overload was growing.
GROWING_PACKETS = 12
# Samples of a full queue below this share of the largest ones were taken while it filled: a packet
# may also be lost for other reasons.
FULL_SHARE = 0.7
# Departures are stamped where a host's packets are at least so far apart: it takes a processor a
# part of that time to read a stamp.
STAMPED_FROM_S = 1e-5
# Half of the samples lie within these shares of their median where they agree, and where nothing is
# told not even within the others; a queue may always differ by a packet.
RATES_ALIKE, RATES_APART = 0.005, 0.02
BUFFERS_ALIKE, BUFFERS_APART = 0.05, 0.1
TRIES = 3
# Ports of one kind differ by less.
RATES_SAME, BUFFERS_SAME = 0.02, 0.1


@dataclass(frozen=True)
class Stream:
    """What one host sends to another while a port is overloaded: a share of its own link.

    `by`: the input of the switch by which it comes, where several hosts share one; None: the
    sender's own. `asked`: whether its packets count, and are not only in the others' way.
    """

    sender: int
    receiver: int
    share: float
    by: int | None = None
    asked: bool = True


@dataclass(frozen=True)
class PortFinding:
    """A port's rate, bit/s, and queue, packets. `lower_bound`: nobody could fill it.

    `buffer_packets` is what all its inputs hold together, or where inputs are told (Stream.by) what
    each of them holds. `per_input`: how many packets that came by one input waited when another of
    them was lost, which is what an input-buffered switch holds, and those that the port itself has.
    """

    state: str
    rate_bit_s: Estimate | None = None
    lower_bound: bool = False
    buffer_packets: Estimate | None = None
    per_input: Estimate | None = None


def _experiment(
    bed: Bed, ports: Sequence[Sequence[Stream]], links: HostLinks, frames: float, size: int
) -> tuple[Experiment, list[list[int]]]:
    """The flows of all ports, and their indices by port."""
    bits = frame_bits(bed, size)
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
                    size,
                    start_s,
                    interval_s,
                    stamped=interval_s >= STAMPED_FROM_S,
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
    """What lost packets found at a full queue, without those lost for other reasons."""
    return found[found >= FULL_SHARE * np.percentile(found, 90)]


def _full_by_input(packets: Passage, streams: Sequence[Stream]) -> Estimate | None:
    """What packets found of those of their own input when they were lost."""
    found: list[float] = []
    inputs = [-1 - one.sender if one.by is None else one.by for one in streams]
    for one in sorted(set(inputs)):
        own = np.isin(packets.flow, [k for k, by in enumerate(inputs) if by == one])
        part = Passage(packets.left_s[own], packets.came_s[own], packets.flow[own])
        if part.lost.any() and not part.lost.all():
            found += _when_full(queue_found(part)[part.lost]).tolist()
    return Estimate.of(found) if len(found) >= LOSSES_WANTED / 2 else None


def _ended(packets: Passage, quiet_s: float) -> Passage:
    """Without those that were still on their way when nobody waited for them any more: where some
    came after `quiet_s`, the last ones of each flow that did not."""
    came = ~packets.lost
    if not came.any() or float(np.max(packets.came_s[came])) <= quiet_s:
        return packets
    flows = range(int(packets.flow.max()) + 1)
    last = [packets.left_s[came & (packets.flow == k)].max(initial=-np.inf) for k in flows]
    known = packets.left_s <= np.array(last)[packets.flow]
    return Passage(packets.left_s[known], packets.came_s[known], packets.flow[known])


def _look(packets: Passage, bits: float, streams: Sequence[Stream]) -> tuple[PortFinding, bool]:
    """What one overload tells, and whether a longer one would tell more."""
    if packets.lost.all():
        return PortFinding(NOT_TRIED), False
    found = queue_found(packets)
    last_sent = float(packets.left_s[-1])
    first_came = float(np.nanmin(packets.came_s))
    lost = int(packets.lost.sum())
    if lost >= LOSSES_WANTED:
        full = _when_full(found[packets.lost])
        # From when the queue was first full to when the senders stopped.
        begin_s = max(float(packets.left_s[packets.lost][0]), first_came)
        rates = drained_bit_s(packets, bits, begin_s, last_sent)
        if not rates or full.size < LOSSES_WANTED / 2:
            return PortFinding(NOT_TRIED), True
        own = _full_by_input(packets, streams)
        held: Estimate | None = Estimate.of(full.tolist())
        if any(one.by is not None for one in streams):
            held = own
        if held is None:
            return PortFinding(NOT_TRIED), True
        return PortFinding(MEASURED, Estimate.of(rates), False, held, own), False
    tail = found[-max(4, found.size // 10) :]
    rates = _rates(packets, bits, first_came + 0.3 * (last_sent - first_came), last_sent)
    rate = Estimate.of(rates) if rates else None
    growing = float(np.median(tail)) >= GROWING_PACKETS or lost > 0
    if growing:
        return PortFinding(NOT_TRIED, rate, False), True
    return PortFinding(NOT_OVERLOADABLE, rate, True), False


def _apart(finding: PortFinding) -> tuple[float, float]:
    """How far the samples of rate and queue are apart: 0 alike, above 1 too far to tell."""

    def judge(one: Estimate | None, alike: float, apart: float) -> float:
        if one is None or one.value <= 0:
            return 0.0
        share = spread(one.samples)
        return 0.0 if share <= alike else share / apart

    rate = None if finding.lower_bound else finding.rate_bit_s
    held = finding.buffer_packets
    packet = 1 / held.value if held is not None and held.value > 0 else 0.0
    return (
        judge(rate, RATES_ALIKE, RATES_APART),
        judge(held, max(packet, BUFFERS_ALIKE), max(packet, BUFFERS_APART)),
    )


def _unknown(finding: PortFinding, rate: bool, held: bool) -> PortFinding:
    """Without what is not to be told."""
    if rate:
        finding = replace(finding, rate_bit_s=None)
    if held:
        finding = replace(finding, state=NOT_TRIED, buffer_packets=None, per_input=None)
    return finding


def untold(finding: PortFinding) -> PortFinding:
    """Without its queue, if one was found."""
    return _unknown(finding, False, finding.state == MEASURED)


def overload(
    bed: Bed,
    ports: Sequence[Sequence[Stream]],
    links: HostLinks,
    first_frames: float = FIRST_FRAMES,
    tell: Callable[[str], None] = lambda _: None,
    size: int | None = None,
) -> list[PortFinding]:
    """Overloads ports that have no senders, receivers or links in common, all at once. `size`: of
    the datagrams; full ones if it is not given."""
    size = size or bed.datagram_bytes
    bits = frame_bits(bed, size)
    findings = [PortFinding(NOT_TRIED) for _ in ports]
    tries = [0] * len(ports)
    waiting = list(range(len(ports)))
    frames = first_frames
    while waiting and frames <= LONGEST_FRAMES:
        tell(f"{len(waiting)} ports for {frames:.0f} frames")
        experiment, by_port = _experiment(bed, [ports[k] for k in waiting], links, frames, size)
        record: Record = bed.run(experiment)
        traces = record.traces()
        left = departures(bed, traces, links)
        quiet_s = experiment.duration_s - SETTLE_S * bed.time_scale / 2
        too_short, unclear = [], []
        for k, flows in zip(waiting, by_port, strict=True):
            asked = [i for i, one in zip(flows, ports[k], strict=True) if one.asked]
            packets = passage([traces[i] for i in asked], [left[i] for i in asked])
            streams = [one for one in ports[k] if one.asked]
            finding, longer = _look(_ended(packets, quiet_s), bits, streams)
            if longer:
                findings[k] = finding
                too_short.append(k)
                continue
            tries[k] += 1
            if tries[k] == 1 or max(_apart(finding)) < max(_apart(findings[k])):
                findings[k] = finding
            if max(_apart(findings[k])) > 0 and tries[k] < TRIES:
                unclear.append(k)
        waiting = sorted(too_short + unclear)
        if too_short:
            frames *= LONGER
    return [_unknown(one, *(apart > 1 for apart in _apart(one))) for one in findings]


def _differ(one: Estimate | None, other: Estimate | float | None, same: float) -> bool:
    """Whether two are known and not the same; a queue of some packets may differ by one."""
    value = other.value if isinstance(other, Estimate) else other
    return one is not None and value is not None and abs(one.value - value) > same * value


def _queues_differ(one: Estimate | None, other: Estimate | float | None) -> bool:
    value = other.value if isinstance(other, Estimate) else other
    return _differ(one, value, max(BUFFERS_SAME, 1.01 / value) if value else BUFFERS_SAME)


def confirmed(
    findings: Sequence[PortFinding], again: Callable[[Sequence[int]], Sequence[PortFinding]]
) -> list[PortFinding]:
    """Ports of one kind. Those that differ from most are measured once more by `again`, which is
    given their numbers; what they do not say twice is left out.
    """
    out = list(findings)
    rates = [one.rate_bit_s.value for one in out if one.rate_bit_s and not one.lower_bound]
    queues = [one.buffer_packets.value for one in out if one.buffer_packets]
    rate = float(np.median(rates)) if rates else None
    queue = float(np.median(queues)) if queues else None

    def strange(one: PortFinding) -> tuple[bool, bool]:
        own = None if one.lower_bound else one.rate_bit_s
        return _differ(own, rate, RATES_SAME), _queues_differ(one.buffer_packets, queue)

    doubted = [k for k, one in enumerate(out) if any(strange(one))]
    for k, second in zip(doubted, again(doubted) if doubted else [], strict=True):
        first = out[k]
        if not any(strange(second)):
            out[k] = second
            continue
        out[k] = _unknown(
            second,
            first.rate_bit_s is None or _differ(second.rate_bit_s, first.rate_bit_s, RATES_SAME),
            first.buffer_packets is None
            or _queues_differ(second.buffer_packets, first.buffer_packets),
        )
    return out
