"""How the core switch queues: what hosts of three leaves or more see of it.

Hosts of some leaves fill the port towards another, each leaf with less than its own uplink carries.
A small packet from one of these leaves to an idle one waits behind the others if the core buffers
at its inputs; it is lost without waiting if all its ports share a buffer that is full. A shared
buffer shows, too, where several ports are full at once and hold less each. That it does not wait
is believed where the port has been seen to hold so much that it would have.

The same hosts send first to the idle leaf besides, where no port is full: small packets that wait
then wait somewhere else, and nothing is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from allemande.model.profile import UNDETERMINED
from allemande.probe.bed import Bed, frame_bits
from allemande.probe.beside_full_ports import Small, small_packets_beside
from allemande.probe.overload import PortFinding, Stream, overload
from allemande.probe.queueing import HostLinks
from allemande.probe.switches import INPUT, SHARED, Buffering, buffering_of_many
from allemande.probe.uplinks import SHARE, may_send, share_of_each

LEAVES_MIN = 3
# In full frames of a link of the core, more than where no port is full. What waits less than
# FREE_FRAMES, or less than a part of what it would wait behind inputs, did not wait.
WAITS_FRAMES, FREE_FRAMES = 8.0, 2.0
MARGIN = 4.0  # of times, and as much again where the rate of the port is only bounded
LOST = 0.1  # of small packets, where none was before
# How long a port is filled, in frames of a host's link: the next where nothing was seen.
FRAMES = (240.0, 1000.0)


def _ports_at_once(
    links: HostLinks, leaves: Sequence[Sequence[int]], uplinks: Sequence[PortFinding]
) -> list[list[Stream]]:
    """All ports towards leaves but one, full at once: of each host they get as much, and of all
    hosts of a leaf nearly what its uplink carries."""
    ports: list[list[Stream]] = [[] for _ in leaves[:-1]]
    for leaf, hosts in enumerate(leaves):
        to = [k for k in range(len(ports)) if k != leaf]
        share = share_of_each(links, hosts, uplinks[leaf]) / len(to)
        for host in hosts if share > 0 else ():
            for port in to:
                some = leaves[port]
                ports[port].append(Stream(host, some[len(ports[port]) % len(some)], share))
    return [port for port in ports if port]


def find_core_buffering(
    bed: Bed,
    links: HostLinks,
    leaves: Sequence[Sequence[int]],
    uplinks: Sequence[PortFinding],
    downlinks: Sequence[PortFinding],
) -> Buffering:
    """`uplinks`, `downlinks`: what was found of the links between leaves and core."""
    if len(leaves) < LEAVES_MIN:
        return Buffering(UNDETERMINED)
    # A small packet goes from the largest leaf to the smallest.
    order = sorted(range(len(leaves)), key=lambda k: -len(leaves[k]))
    first, full_leaf, idle_leaf = order[0], order[1], order[-1]
    rates = [uplinks[first].rate_bit_s, downlinks[full_leaf].rate_bit_s]
    if any(one is None for one in rates) or len(leaves[first]) < 2:
        return Buffering(UNDETERMINED)
    frame_s = frame_bits(bed, bed.datagram_bytes) / min(one.value for one in rates if one)
    own = may_send(links, leaves[first][:-1], uplinks[first])
    rest = [host for k in order[2:] for host in may_send(links, leaves[k], uplinks[k])]
    if not own or not rest:
        return Buffering(UNDETERMINED)
    into = leaves[full_leaf]
    filling = [Stream(one, into[k % len(into)], SHARE) for k, one in enumerate([*own, *rest])]

    def beside(streams: Sequence[Stream], frames: float) -> Small | None:
        ends = leaves[first][-1], leaves[idle_leaf][-1]
        return small_packets_beside(bed, streams, *ends, links, frames)

    port = downlinks[full_leaf]
    held = port.buffer_packets
    waited = lost = 0.0
    for frames in FRAMES:
        calm, full = beside(filling[: len(own)], frames), beside(filling, frames)
        if calm is None or full is None or calm.loss > 0 or calm.wait_s >= WAITS_FRAMES * frame_s:
            return Buffering(UNDETERMINED)
        waited = (full.wait_s - calm.wait_s) / frame_s
        if waited >= WAITS_FRAMES:
            # Without losses it may have been told to pause.
            loses = held or overload(bed, [filling], links)[0].buffer_packets
            return Buffering(INPUT if loses else UNDETERMINED)
        lost = full.loss
        if lost >= LOST:
            break
    if held is None:
        return Buffering(UNDETERMINED)
    # Behind inputs it would have waited for what one of them holds: for so many frames at least.
    behind_inputs = held.value / (len(leaves) - 1) / (MARGIN if port.lower_bound else 1)
    if waited * MARGIN >= behind_inputs or behind_inputs < FREE_FRAMES * MARGIN:
        return Buffering(UNDETERMINED)
    if lost >= LOST:
        return Buffering(SHARED, held.value, held)
    ports = _ports_at_once(links, leaves, uplinks)
    return buffering_of_many(bed, ports, held, links, all_full=False, in_turns=True)
