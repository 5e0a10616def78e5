"""Packets alone on an idle network, and their answers: how long there and back takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allemande.probe.bed import Bed
from allemande.probe.packet_flows import Experiment, Flow
from allemande.probe.record import Trace

GIVE_UP_FRAMES, GIVE_UP_S = 50, 0.005
LONGEST_S = 0.1  # nobody waits longer for a lone packet


@dataclass(frozen=True)
class Pair:
    """Two ranks, on one leaf or on two."""

    first: int
    second: int
    level: str


def give_up_s(bed: Bed, frame_s: float) -> float:
    """After which an answer is not waited for any more."""
    return GIVE_UP_FRAMES * frame_s + GIVE_UP_S * bed.time_scale


def trips_s(traces: Sequence[Trace]) -> list[float]:
    """Round trips of lone echoes, without the first: it may have to find the way."""
    trips = [float(trace.seen_s[0] - trace.sent_s[0]) for trace in traces if trace.sent_s.size]
    return [trip for trip in trips[1:] if not np.isnan(trip)]


def lone_echoes(
    pair: Pair, size: int, count: int, start_s: float, apart_s: float, wait_s: float
) -> list[Flow]:
    """Echoes of single packets, each on an idle network: where a shaper lets one frame pass at
    once, the next has to come later.
    """
    return [
        Flow(pair.first, pair.second, 1, size, start_s + k * apart_s, wait_s, echo=True)
        for k in range(count + 1)
    ]


def echoes(
    bed: Bed,
    pairs: Sequence[Pair],
    sizes: Sequence[int],
    count: int,
    apart_s: float,
    wait_s: float,
) -> dict[tuple[Pair, int], list[float]]:
    """Round trips by pair and size; one after another, `apart_s` from each to the next."""
    flows: list[Flow] = []
    parts: dict[tuple[Pair, int], range] = {}
    for pair in pairs:
        for size in sizes:
            begin = len(flows)
            flows += lone_echoes(pair, size, count, begin * apart_s, apart_s, wait_s)
            parts[pair, size] = range(begin, len(flows))
    record = bed.run(Experiment(flows, len(flows) * apart_s + wait_s))
    return {key: trips_s([record.trace(i) for i in part]) for key, part in parts.items()}


def round_trip_s(bed: Bed, pairs: Sequence[Pair], frame_s: float) -> float:
    """The median of full packets', over all pairs; 0 where none came back."""
    wait_s = give_up_s(bed, frame_s)
    found = echoes(bed, pairs, [bed.datagram_bytes], 4, wait_s, wait_s)
    trips = [trip for some in found.values() for trip in some]
    return float(np.median(trips)) if trips else 0.0


def longest_trip_s(bed: Bed, frame_s: float) -> float:
    """Of a full packet from the first host to another and back; 0 where none came back."""
    pairs = [Pair(0, rank, "") for rank in range(1, len(bed.hosts))]
    wait_s = LONGEST_S * bed.time_scale
    found = echoes(bed, pairs, [bed.datagram_bytes], 1, 3 * frame_s, wait_s)
    return max((trip for some in found.values() for trip in some), default=0.0)
