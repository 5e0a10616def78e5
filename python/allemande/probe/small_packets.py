"""Small packets between all hosts while others fill a port: who waits for whom.

First the small packets go without the pressure: what they take then is not waiting, and by what
they take there and back the clocks of the hosts are compared, because one clock that was read wrong
makes all packets to a host late. Hosts whose processors are busy delay packets, too, a few of them
at a time: a look in which that happens without any pressure is not counted, and where one look at a
target does not tell, the packets of several looks are judged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow
from allemande.probe.queueing import HostLinks, departures
from allemande.probe.record import Record, Seconds

SMALL_SHARE = 0.06  # of a host's link, for the small packets
SMALL_EACH = 6  # from every host to every other
CALM_EACH = 4  # the same, before the pressure
# On time: a packet that has waited for no more full frames of a host's link than these.
ON_TIME_FRAMES = 2.0
# The least part of the packets between two hosts that is on time where they wait nowhere, and the
# largest part where they wait.
FREE_SHARE, WAITS_SHARE = 0.6, 0.35
# A look at calm hosts: of the packets before the pressure so many were on time.
CALM_SHARE = 0.6
# The pressure lasts so long before the first small packet: a queue of some hundred packets fills.
FILL_FRAMES = 100
SETTLE_S = 0.01  # at the speed that the network stands for
LOOKS = 6  # at each target, where the first does not tell

WAITS, FREE, UNCLEAR = 1, 0, -1
Matrix = npt.NDArray[np.int8]
# Whether packets were on time, by sender and receiver: how many, and of how many.
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Times:
    """The times of a look: small packets go until `end_s`, one from each host to each other
    in `each_s`; the pressure begins at `pressure_s`, and counts from `full_s` on."""

    each_s: float
    pressure_s: float
    full_s: float
    end_s: float


def _times(bed: Bed, links: HostLinks, rarer: float) -> _Times:
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    small_s = frame_bits(bed, SMALLEST_BYTES) / links.slowest_bit_s
    span_s = max(
        SMALL_EACH * (len(bed.hosts) - 1) * small_s / SMALL_SHARE, 2 * FILL_FRAMES * frame_s
    )
    span_s *= rarer
    each_s = span_s / SMALL_EACH
    pressure_s = CALM_EACH * each_s
    full_s = pressure_s + FILL_FRAMES * frame_s
    return _Times(each_s, pressure_s, full_s, full_s + span_s)


def experiment(
    bed: Bed,
    target: int,
    links: HostLinks,
    senders: Sequence[int],
    share: float,
    also: bool = False,
    rarer: float = 1.0,
) -> Experiment:
    """Small packets between all but the target, to which the senders begin to send meanwhile, each
    this share of its link. `also`: the senders go on with their small packets. `rarer`: so many
    times longer from one small packet to the next.
    """
    ranks = len(bed.hosts)
    times = _times(bed, links, rarer)
    flows = []
    for host in senders:
        interval_s = frame_bits(bed, bed.datagram_bytes) / links.bit_s[host] / share
        # Not all in the same instant.
        start_s = times.pressure_s + interval_s * host / ranks
        packets = int((times.end_s - times.pressure_s) / interval_s)
        flows.append(Flow(host, target, packets, bed.datagram_bytes, start_s, interval_s))
    for host in range(ranks):
        end_s = times.end_s if also or host not in senders else times.pressure_s
        others = [(host + k) % ranks for k in range(1, ranks)]
        for turn, other in enumerate(others):
            if other == target:
                continue
            start_s = times.each_s * turn / len(others)
            packets = int((end_s - start_s) / times.each_s)
            flows.append(
                Flow(host, other, packets, SMALLEST_BYTES, start_s, times.each_s, stamped=True)
            )
    return Experiment(flows, times.end_s + SETTLE_S * bed.time_scale + SMALL_EACH * times.each_s)


def _clocks_s(calm: Seconds) -> Seconds:
    """By how much each host's clock is ahead of the others', from what packets take there and back.

    A clock is compared with all others, of which most are right. 0 for a host with no packets.
    """
    apart = (calm - calm.T) / 2
    known = [column[~np.isnan(column)] for column in apart.T]
    return np.array([np.median(column) if column.size else 0.0 for column in known])


@dataclass(frozen=True)
class Look:
    """How the small packets of one experiment fared; [sender, receiver]."""

    on_time: Counts
    sent: Counts
    calm: bool  # before the pressure they were on time


def look(bed: Bed, record: Record, links: HostLinks, rarer: float = 1.0) -> Look:
    ranks = len(bed.hosts)
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    times = _times(bed, links, rarer)
    before: dict[tuple[int, int], Seconds] = {}
    under: dict[tuple[int, int], Seconds] = {}
    traces = record.traces()
    for trace, left in zip(traces, departures(bed, traces, links), strict=True):
        if trace.flow.bytes != SMALLEST_BYTES:
            continue
        pair = (trace.flow.sender, trace.flow.receiver)
        delay = trace.arrived_s - left
        before[pair] = delay[trace.sent_s < times.pressure_s]
        under[pair] = delay[trace.sent_s >= times.full_s]
    quickest = np.full((ranks, ranks), np.nan)  # pauses only add
    for pair, delay in before.items():
        if delay.size:
            quickest[pair] = np.fmin.reduce(delay)
    ahead = _clocks_s(quickest)
    clocks = ahead[np.newaxis, :] - ahead[:, np.newaxis]
    usual = float(np.nanmedian(quickest - clocks)) if not np.isnan(quickest).all() else 0.0
    latest = clocks + usual + ON_TIME_FRAMES * frame_s
    on_time = np.zeros((ranks, ranks), np.int64)
    sent = np.zeros((ranks, ranks), np.int64)
    for pair, delay in under.items():
        on_time[pair] = np.count_nonzero(delay <= latest[pair])
        sent[pair] = delay.size
    calm = sum(int(np.count_nonzero(delay <= latest[pair])) for pair, delay in before.items())
    return Look(on_time, sent, calm >= CALM_SHARE * sum(one.size for one in before.values()))


def who_waits(on_time: Counts, sent: Counts) -> Matrix:
    """[sender, receiver]: WAITS, FREE or UNCLEAR. FREE is what nothing was sent from or to."""
    share = on_time / np.maximum(sent, 1)
    found = np.full(sent.shape, UNCLEAR, np.int8)
    found[share >= FREE_SHARE] = FREE
    found[share <= WAITS_SHARE] = WAITS
    found[sent == 0] = FREE
    return found
