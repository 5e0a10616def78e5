"""Between two hosts: start-up and byte times, the LogP quantities, and whether their order holds.

Symbols as in docs/references.md: T = O_s + (k - 1) g + L + O_r + U_r for k packets (000 Eq 1).

- alpha and beta: the time of messages of 1 to 16 full packets, sent at once (Hockney).
- O_s: from handing a packet over until it is taken; simulated hosts show it by the clock they
  cannot look at meanwhile. O_r and U_r: what the receiver's processor is kept by a packet, and
  the part of it that lies between the kernel's stamp and the program.
- g_s and g_r: from one full packet to the next on the host's own link, and on the port towards it.
- L: half a round trip of full packets, less the overheads; with 2, 4, .. hosts that echo at once,
  as L = latency + latency_per_host p (002 Table 5.2).
- g(m): from one message of m bytes to the next, at the sender (pLogP, Kielmann).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.estimate import Estimate
from allemande.probe.lone_packets import (
    Pair,
    echoes,
    give_up_s,
    lone_echoes,
    round_trip_s,
    trips_s,
)
from allemande.probe.network_findings import ACROSS, LEAF, Quantity
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow, Watch
from allemande.probe.queueing import HostLinks
from allemande.probe.record import Seconds, Trace

PAIRS = 3  # of each level
SIZES = 5
TRAIN_APART_S = 0.005
TRAINS = (1, 2, 4, 8, 16)
GAP_PACKETS = 64
WATCH_SHARE = 400  # looks at the clock in the time of a full frame
WATCHED_PACKETS = 12
LOOK_MIN_S = 1e-9
LEAST_OF = 4  # echoes of each size


def choose_pairs(leaves: Sequence[Sequence[int]] | None, ranks: int) -> list[Pair]:
    """Some pairs of each level.

    Where leaves are unknown all count as of one, and the pairs are those whose ranks are far apart:
    more of them are on two leaves than of neighbours.
    """
    if leaves is None:
        apart = ranks // 2
        return [Pair(k, k + apart, LEAF) for k in range(min(PAIRS, apart))]
    near = [Pair(leaf[0], leaf[1], LEAF) for leaf in leaves if len(leaf) > 1]
    far = [
        Pair(one[-1], other[-1], ACROSS)
        for one, other in zip(leaves, [*leaves[1:], leaves[0]], strict=True)
        if one is not other
    ]
    return near[:PAIRS] + far[:PAIRS]


@dataclass(frozen=True)
class Lone:
    """What lone packets take, by level: half the round trip of the smallest and of full ones, in s.

    `byte_s`, in s/B: a serialization on the host's link, and one for each switch that stores.
    """

    small: dict[str, Estimate]
    full: dict[str, Estimate]
    byte_s: dict[str, float]


def measure_lone(bed: Bed, pairs: Sequence[Pair], repeat: int, links: HostLinks) -> Lone:
    """Echoes of single packets between these pairs, of several sizes."""
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    apart_s = 3 * frame_s + 3 * round_trip_s(bed, pairs, frame_s)
    sizes = np.linspace(SMALLEST_BYTES, bed.datagram_bytes, SIZES).astype(int).tolist()
    count = max(8, repeat // (2 * PAIRS))
    found = echoes(bed, pairs, sizes, count, apart_s, give_up_s(bed, frame_s))
    lone = Lone({}, {}, {})
    for level in (LEAF, ACROSS):
        least = []
        for size in sizes:
            trips = [
                t
                for (pair, s), some in found.items()
                if pair.level == level and s == size
                for t in some
            ]
            if len(trips) < count:
                break
            least.append(min(trips) / 2)
            half = Estimate.of_times([trip / 2 for trip in trips])
            if size == SMALLEST_BYTES:
                lone.small[level] = half
            if size == bed.datagram_bytes:
                lone.full[level] = half
        if len(least) == len(sizes):
            lone.byte_s[level] = float(np.polyfit(sizes, least, 1)[0])
    return lone


def least_byte_s(bed: Bed, links: HostLinks) -> float | None:
    """The least time of a byte, in s, from some hosts to any other; None: none answered.

    One of those alone on its leaf would have no shorter way.
    """
    ranks = len(bed.hosts)
    some = sorted({0, ranks // 2, ranks - 1})
    pairs = [Pair(one, rank, LEAF) for one in some for rank in range(ranks) if rank != one]
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    apart_s = 3 * frame_s + 3 * round_trip_s(bed, pairs, frame_s)
    sizes = [SMALLEST_BYTES, bed.datagram_bytes]
    found = echoes(bed, pairs, sizes, LEAST_OF, apart_s, give_up_s(bed, frame_s))
    times = []
    for pair in pairs:
        small, full = (found[pair, size] for size in sizes)
        if small and full:
            times.append((min(full) - min(small)) / 2 / (sizes[1] - sizes[0]))
    return min(times, default=None)


def measure_start_up(
    bed: Bed, pairs: Sequence[Pair], repeat: int, links: HostLinks, small: dict[str, Estimate]
) -> list[Quantity]:
    """alpha and beta by level: T = alpha + beta m from messages of 1 to 16 full packets.

    Where a shaper lets the first packet of each message pass at once, the line through them begins
    below what the smallest packet takes (`small`): then alpha is that.
    """
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    count = max(4, repeat // (4 * PAIRS))
    flows: list[Flow] = []
    at_s = 0.0
    for pair in pairs:
        for train in TRAINS:
            each_s = (2 * train + 6) * frame_s + TRAIN_APART_S
            flows.append(
                Flow(
                    pair.first,
                    pair.second,
                    train * count,
                    bed.datagram_bytes,
                    at_s,
                    each_s,
                    train,
                )
            )
            at_s += count * each_s
    record = bed.run(Experiment(flows, at_s + 0.01 * bed.time_scale))
    out = []
    for level in (LEAF, ACROSS):
        alphas, betas = [], []
        for pair in pairs:
            if pair.level != level:
                continue
            mine = [
                i
                for i, flow in enumerate(flows)
                if (flow.sender, flow.receiver) == (pair.first, pair.second)
            ]
            times = [_train_times(record.trace(i), flows[i].train) for i in mine]
            if any(len(some) < 2 for some in times):
                continue
            sizes = [flows[i].train * bed.datagram_bytes for i in mine]
            for k in range(min(len(some) for some in times)):
                slope, start = np.polyfit(sizes, [some[k] for some in times], 1)
                alphas.append(float(start))
                betas.append(float(slope))
        if alphas:
            alpha = Estimate.of(alphas)
            if level in small and small[level].value > alpha.value:
                alpha = small[level]
            out.append(Quantity("alpha", alpha, level))
            out.append(Quantity("beta", Estimate.of(betas), level))
    return out


def _train_times(trace: Trace, train: int) -> list[float]:
    """From handing over a train's first packet until its last has come; whole trains only."""
    whole = trace.sent_s.size // train * train
    sent = trace.sent_s[:whole].reshape(-1, train)[:, 0]
    came = trace.seen_s[:whole].reshape(-1, train).max(axis=1)  # NaN where one was lost
    times = came - sent
    return [float(time) for time in times[~np.isnan(times)]]


def measure_overheads(bed: Bed, links: HostLinks) -> dict[str, Estimate]:
    """o_s, o_r and u_r of a full packet, in seconds.

    Hosts 0 and 1 look at the clock, over and over, while packets go from one to the other.
    """
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    look_s = max(frame_s / WATCH_SHARE, LOOK_MIN_S)
    apart_s = 8 * frame_s
    span_s = (WATCHED_PACKETS + 2) * apart_s
    flow = Flow(0, 1, WATCHED_PACKETS, bed.datagram_bytes, apart_s, apart_s)
    watches = [Watch(rank, 0.0, span_s, look_s) for rank in (0, 1)]
    record = bed.run(Experiment([flow], span_s + 0.01 * bed.time_scale, watches))
    trace = record.trace(0)
    came = ~trace.lost
    if came.sum() < WATCHED_PACKETS / 2:
        return {}
    user = Estimate.of_times((trace.seen_s - trace.arrived_s)[came].tolist())

    def kept(rank: int, when_s: Seconds) -> list[float]:
        """How long the processor could not look at the clock around these moments."""
        looked_s, stalls = record.looks_s(rank)
        if not looked_s.size:
            return []
        after = np.minimum(np.searchsorted(looked_s, when_s), looked_s.size - 1)
        return [max(0.0, float(stall) - look_s / 2) for stall in stalls[after]]

    # A simulated socket takes a packet in no time, and keeps the processor afterwards.
    sending = (
        kept(0, trace.sent_s + look_s / 2)
        if bed.simulated
        else ((trace.taken_s - trace.sent_s).tolist())
    )
    receiving = [max(0.0, stall - user.value) for stall in kept(1, trace.arrived_s[came])]
    if not sending or not receiving:
        return {}
    return {
        "o_s": Estimate.of_times(sending),
        "o_r": Estimate.of_times(receiving),
        "u_r": user,
    }


def measure_growth(
    bed: Bed,
    order: Sequence[int],
    repeat: int,
    links: HostLinks,
) -> Estimate | None:
    """`latency_per_host`: how L grows with 2, 4, 8, .. hosts that echo in pairs at once.

    `order`: ranks such that neighbours are of one leaf.
    """
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    count = max(8, repeat // 8)
    apart_s = 3 * frame_s + 3 * round_trip_s(bed, [Pair(order[0], order[1], LEAF)], frame_s)
    wait_s = give_up_s(bed, frame_s)
    counts, latencies = [], []
    hosts = 2
    while hosts <= len(order):
        flows = [
            flow
            for k in range(0, hosts, 2)
            for flow in lone_echoes(
                Pair(order[k], order[k + 1], LEAF), bed.datagram_bytes, count, 0.0, apart_s, wait_s
            )
        ]
        record = bed.run(Experiment(flows, (count + 1) * apart_s + wait_s))
        trips = trips_s(record.traces())
        if trips:
            counts.append(float(hosts))
            latencies.append(float(np.median(trips)) / 2)
        hosts *= 2
    if len(counts) < 2:
        return None
    slopes = [
        (late - early) / (many - few)
        for few, early, many, late in zip(
            counts, latencies, counts[1:], latencies[1:], strict=False
        )
    ]
    slope = float(np.polyfit(counts, latencies, 1)[0])
    return Estimate(
        max(0.0, slope), min(0.0, slope, *slopes), max(0.0, slope, *slopes), tuple(slopes)
    )


def measure_gaps(bed: Bed, links: HostLinks) -> list[Quantity]:
    """g(m) by size, from the smallest datagram to a full one."""
    sizes = np.linspace(SMALLEST_BYTES, bed.datagram_bytes, SIZES).astype(int).tolist()
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.bit_s[0]
    out = []
    for size in sizes:
        flow = Flow(0, 1, GAP_PACKETS, size)
        trace = bed.run(
            Experiment([flow], 3 * GAP_PACKETS * frame_s + 0.01 * bed.time_scale)
        ).trace(0)
        came = np.sort(trace.arrived_s[~trace.lost])[GAP_PACKETS // 4 :]
        parts = [part for part in np.array_split(came, 4) if part.size >= 3]
        gaps = [float((part[-1] - part[0]) / (part.size - 1)) for part in parts]
        if gaps:
            out.append(Quantity("gap", Estimate.of(gaps), bytes=size))
    return out


def ordering(overheads_s: float, gap_s: float, latency_s: float) -> str:
    """Whether O_s + O_r + U_r < g < L, as the model assumes; if not, where it fails."""
    if overheads_s < gap_s < latency_s:
        return "yes"
    if overheads_s >= gap_s:
        return "no: O_s + O_r + U_r >= g"
    return "no: g >= L"
