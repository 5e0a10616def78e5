"""Bandwidth of more and more flows at once, across two leaves and within one (000 Figure 6).

Each pair of hosts exchanges packets both ways, which makes two flows: so many packets circulate
between the two as are on the way on an idle network, there and back. Nothing forces itself into a
queue beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allemande.probe.bed import BITS, Bed, frame_bits
from allemande.probe.lone_packets import Pair, round_trip_s
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow
from allemande.probe.queueing import HostLinks
from allemande.probe.record import Record

FRAMES = 300  # that an exchange lasts, if nothing stands in its way
TRIPS = 10  # that it lasts at least
CIRCULATE_MIN = 2
WARM = 0.2  # of the time, not counted
Curve = list[tuple[int, float]]  # flows, payload bit/s of all together


def _payload_bit_s(record: Record, begin_s: float, end_s: float) -> float:
    """Both ways: what came back went twice. Headers do not count, the prober's own neither."""
    total = 0
    for trace in record.traces():
        came = trace.arrived_s[~trace.lost]
        total += (
            2
            * (trace.flow.bytes - SMALLEST_BYTES)
            * int(((came > begin_s) & (came <= end_s)).sum())
        )
    return total * BITS / (end_s - begin_s)


def _exchange_bit_s(
    bed: Bed, pairs: Sequence[tuple[int, int]], circulate: int, span_s: float
) -> float:
    """Payload of all pairs together, both ways, in bit/s."""
    frame_s = span_s / FRAMES
    flows = [
        Flow(
            first,
            second,
            2 * FRAMES * circulate,
            bed.datagram_bytes,
            k * frame_s / len(pairs),
            span_s / 4,
            train=circulate,
            echo=True,
        )
        for k, (first, second) in enumerate(pairs)
    ]
    record = bed.run(Experiment(flows, span_s))
    return _payload_bit_s(record, WARM * span_s, span_s)


def _steps(most: int) -> list[int]:
    """Numbers of pairs: all up to 10, then fewer."""
    return sorted({*range(1, min(most, 10) + 1), *np.linspace(1, most, 10).astype(int).tolist()})


def measure(
    bed: Bed, leaf: Sequence[int], other: Sequence[int], links: HostLinks
) -> tuple[Curve, Curve]:
    """Across from `leaf` to `other`, and within `leaf`."""
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    curves: list[Curve] = []
    ends = (
        list(zip(leaf, other, strict=False)),
        list(zip(leaf[::2], leaf[1::2], strict=False)),
    )
    for pairs in ends:
        trip_s = round_trip_s(bed, [Pair(*pairs[0], "leaf")], frame_s) if pairs else 0.0
        circulate = max(CIRCULATE_MIN, int(trip_s / frame_s))
        span_s = max(FRAMES * frame_s, TRIPS * trip_s)
        curves.append(
            [
                (2 * count, _exchange_bit_s(bed, pairs[:count], circulate, span_s))
                for count in (_steps(len(pairs)) if pairs else [])
            ]
        )
    return curves[0], curves[1]
