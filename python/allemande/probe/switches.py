"""How a leaf switch queues and forwards: what its hosts can see of it.

- Input-buffered: a packet to an idle port waits behind those of its own input for a full one (head
  of line). Two hosts fill the port of a third; one of them sends small packets to a fourth as well.
- Shared: the small packets are lost without waiting, because the full port has all of the buffer;
  or ports that are full at once hold less each than one that is full alone.
- Output-buffered: neither.
- Cut-through or store-and-forward: from the byte time of echoes. Each switch that stores adds the
  time of a byte on the next link. Where a shaper of the hosts keeps their rate, and not a wire,
  nothing can be told.

Where leaves are not known several hosts are taken for one in turn, and the looks have to agree.

An uplink that is full would look like an input buffer: the same two hosts send to two others first,
and if small packets wait then, too, the answer is undetermined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from allemande.model.profile import MEASURED, UNDETERMINED
from allemande.probe.bed import Bed, frame_bits
from allemande.probe.estimate import Estimate
from allemande.probe.overload import Stream, overload
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow
from allemande.probe.queueing import HostLinks, departures

INPUT, OUTPUT, SHARED = "input", "output", "shared"
CUT_THROUGH, STORE_AND_FORWARD = "cut-through", "store-and-forward"
FRAMES = 240  # of an overload
SHARE = 0.85
SMALL = 24
WAITS_FRAMES = 3.0
LOST = 0.2
POOL_SHARE = 0.85  # of what a port holds alone
HOSTS_MIN = 5
STEPS = (1, 2, 3, 4)
# Byte times in those of the host's link: of one serialization, and of two.
STORED_NONE, STORED_ONE = (0.8, 1.45), (1.6, 2.4)


@dataclass(frozen=True)
class _Small:
    """How small packets fared: what nine in ten waited at most, in full frames; part lost."""

    wait_frames: float
    loss: float


def _small(
    bed: Bed, senders: Sequence[int], targets: Sequence[int], idle: int, links: HostLinks
) -> _Small | None:
    """Small packets from senders[0] to `idle`, beside overload; None: no lone packet came."""
    bits = frame_bits(bed, bed.datagram_bytes)
    frame_s = bits / links.slowest_bit_s
    span_s = FRAMES * frame_s
    flows = []
    for k, (sender, target) in enumerate(zip(senders, targets, strict=True)):
        interval_s = bits / links.bit_s[sender] / SHARE
        start_s = k * interval_s / len(senders)
        flows.append(
            Flow(sender, target, int(span_s / interval_s), bed.datagram_bytes, start_s, interval_s)
        )
    # From early on: later ones may find no room at all.
    begin_s = 0.1 * span_s
    apart_s = (span_s - begin_s) / SMALL
    flows.append(Flow(senders[0], idle, SMALL, SMALLEST_BYTES, begin_s, apart_s, stamped=True))
    # One before everything, to know how long it takes on an idle network.
    flows = [replace(one, start_s=one.start_s + 8 * frame_s) for one in flows]
    flows.append(Flow(senders[0], idle, 2, SMALLEST_BYTES, 0.0, 3 * frame_s, stamped=True))
    record = bed.run(Experiment(flows, 3 * span_s + 0.01 * bed.time_scale))
    traces = record.traces()
    left = departures(bed, traces, links)
    lone = traces[-1].arrived_s - left[-1]
    busy = traces[-2].arrived_s - left[-2]
    if np.isnan(lone).all():
        return None
    if np.isnan(busy).all():
        return _Small(0.0, 1.0)
    return _Small(float(np.nanpercentile(busy, 90) - np.nanmin(lone)) / frame_s, traces[-2].loss)


@dataclass(frozen=True)
class Buffering:
    """input, output, shared or undetermined.

    Where shared: `pool_packets` that all ports hold together, `alone` what one of them may have.
    """

    architecture: str
    pool_packets: float | None = None
    alone: Estimate | None = None


def _held(bed: Bed, ports: Sequence[Sequence[tuple[int, int]]], links: HostLinks) -> list[Estimate]:
    """What ports hold that are full at once; (sender, receiver) by port."""
    streams = [[Stream(sender, to, SHARE) for sender, to in port] for port in ports]
    return [
        one.buffer_packets
        for one in overload(bed, streams, links)
        if one.state == MEASURED and one.buffer_packets is not None
    ]


def find_buffering(bed: Bed, leaf: Sequence[int], links: HostLinks) -> Buffering:
    """`leaf`: hosts of one leaf."""
    if len(leaf) < HOSTS_MIN:
        return Buffering(UNDETERMINED)
    first, second, target, idle = leaf[:4]
    # The same two hosts, first without a full port.
    calm = _small(bed, [first, second], [target, leaf[-1]], idle, links)
    if calm is None or calm.wait_frames >= WAITS_FRAMES or calm.loss > 0:
        return Buffering(UNDETERMINED)
    full = _small(bed, [first, second], [target, target], idle, links)
    if full is None:
        return Buffering(UNDETERMINED)
    if full.wait_frames >= WAITS_FRAMES:
        return Buffering(INPUT)
    alone = _held(bed, [[(first, target), (second, target)]], links)
    if full.loss >= LOST:
        one = alone[0] if alone else None
        return Buffering(SHARED, None if one is None else one.value, one)
    # As many ports at once as there are pairs of hosts.
    count = len(leaf)
    together = _held(
        bed,
        [[(leaf[k + j], leaf[(k + 2) % count]) for j in (0, 1)] for k in range(0, count - 1, 2)],
        links,
    )
    if not alone or len(together) < 2:
        return Buffering(UNDETERMINED)
    each = float(np.median([one.value for one in together]))
    if each < POOL_SHARE * alone[0].value:
        return Buffering(SHARED, each * len(together), alone[0])
    return Buffering(OUTPUT)


def possible_leaves(hosts: Sequence[int], most: int) -> list[list[int]]:
    """Where leaves are not known: hosts that would be of one leaf if they are dealt out in turn."""
    looks = [list(hosts[::step][:most]) for step in STEPS]
    return [look for look in looks if len(look) >= HOSTS_MIN] or [list(hosts[:most])]


def agreed(looks: Sequence[Buffering]) -> Buffering:
    """What several looks tell: a packet that waited at an input has told, else all have to agree.

    Precondition: one look at least.
    """
    waited = [one for one in looks if one.architecture == INPUT]
    if waited or len({one.architecture for one in looks}) == 1:
        return (waited or looks)[0]
    return Buffering(UNDETERMINED)


def find_switching(byte_s: float, links: HostLinks) -> str:
    """cut-through, store-and-forward or undetermined, from a lone byte's time (s/B) on one leaf."""
    serializations = byte_s * links.slowest_bit_s / 8
    for (low, high), answer in (
        (STORED_NONE, CUT_THROUGH),
        (STORED_ONE, STORE_AND_FORWARD),
    ):
        if low <= serializations <= high:
            return answer
    return UNDETERMINED
