"""Small packets from one host to an idle one while others fill a port: whether they wait, whether
they are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.overload import Stream
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow
from allemande.probe.queueing import HostLinks, departures

FRAMES = 240  # of an overload
# Small packets in the first part of an overload, and later. One in four frames is no load, also
# where a link takes its time for each.
SMALL_EARLY, SMALL_LATE = 6, 24
EARLY = 0.1


@dataclass(frozen=True)
class Small:
    """How small packets fared: what nine in ten waited at most, in s; part lost, of those that came
    when the port had been filled for a while."""

    wait_s: float
    loss: float


def small_packets_beside(
    bed: Bed,
    streams: Sequence[Stream],
    sender: int,
    idle: int,
    links: HostLinks,
    frames: float = FRAMES,
) -> Small | None:
    """Small packets from sender to `idle`, beside these streams for so many frames of a host's
    link; None: no lone packet came, or none of the others did."""
    bits = frame_bits(bed, bed.datagram_bytes)
    frame_s = bits / links.slowest_bit_s
    span_s = frames * frame_s
    flows = []
    for k, one in enumerate(streams):
        interval_s = bits / links.bit_s[one.sender] / one.share
        start_s = k * interval_s / len(streams)
        packets = int(span_s / interval_s)
        flows.append(
            Flow(one.sender, one.receiver, packets, bed.datagram_bytes, start_s, interval_s)
        )
    # While the port fills, too: later ones may find no room at all.
    early_s, late_s = EARLY * span_s, (1 - EARLY) * span_s
    flows += [
        Flow(sender, idle, count, SMALLEST_BYTES, begin_s, for_s / count, stamped=True)
        for count, begin_s, for_s in ((SMALL_EARLY, 0.0, early_s), (SMALL_LATE, early_s, late_s))
    ]
    # Two before everything, to know how long they take on an idle network.
    flows = [replace(one, start_s=one.start_s + 8 * frame_s) for one in flows]
    flows.append(Flow(sender, idle, 2, SMALLEST_BYTES, 0.0, 3 * frame_s, stamped=True))
    record = bed.run(Experiment(flows, 3 * span_s + 0.01 * bed.time_scale))
    traces = record.traces()
    left = departures(bed, traces, links)
    lone = traces[-1].arrived_s - left[-1]
    busy = np.concatenate([traces[k].arrived_s - left[k] for k in (-3, -2)])
    if np.isnan(lone).all() or np.isnan(busy).all():
        return None
    return Small(float(np.nanpercentile(busy, 90) - np.nanmin(lone)), traces[-2].loss)
