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
from dataclasses import dataclass

import numpy as np

from allemande.model.profile import MEASURED, UNDETERMINED
from allemande.probe.bed import Bed, frame_bits
from allemande.probe.beside_full_ports import Small, small_packets_beside
from allemande.probe.estimate import Estimate
from allemande.probe.overload import Stream, overload
from allemande.probe.passing import CUT_THROUGH, STORE_AND_FORWARD
from allemande.probe.queueing import HostLinks

INPUT, OUTPUT, SHARED = "input", "output", "shared"
SHARE = 0.85
WAITS_FRAMES = 3.0
LOST = 0.2
# Of what a port holds alone: ports that share a buffer hold less at once, others as much.
POOL_SHARE, OWN_SHARE = 0.85, 0.95
HOSTS_MIN = 4
PER_PORT = 3  # hosts that fill one of many ports, each with half of what it sends
MANY, MANY_OFFER = 7, 2.7  # hosts that fill a port, and what they offer in all, of a link
STEPS = (1, 2, 3, 4)
# Byte times in those of the host's link: of one serialization, and of two.
STORED_NONE, STORED_ONE = (0.8, 1.45), (1.6, 2.4)


@dataclass(frozen=True)
class Buffering:
    """input, output, shared or undetermined.

    Where shared: `pool_packets` that all ports hold together, `alone` what one of them may have.
    Behind inputs: `in_port`, by how much too many packets were counted with two senders.
    `by_port`: packets wait by the port that they leave by, however ports have their room.
    """

    architecture: str
    pool_packets: float | None = None
    alone: Estimate | None = None
    in_port: float = 0.0
    by_port: bool = False


def _held_at_once(bed: Bed, ports: Sequence[Sequence[Stream]], links: HostLinks) -> list[Estimate]:
    """What ports hold that are full at once, of those that could be filled."""
    return [
        one.buffer_packets
        for one in overload(bed, ports, links)
        if one.state == MEASURED and one.buffer_packets is not None
    ]


def buffering_of_many(
    bed: Bed,
    ports: Sequence[Sequence[Stream]],
    alone: Estimate,
    links: HostLinks,
    all_full: bool = True,
    in_turns: bool = False,
) -> Buffering:
    """By what these ports hold that are full at once, and one of them `alone`. `all_full`: there is
    nothing else where their packets might be lost. `in_turns`: they get little more than they send,
    so that one after the other may exhaust a pool, and what they hold together counts as well."""
    together = [one.value for one in _held_at_once(bed, ports, links)]
    if len(together) < 2:
        return Buffering(UNDETERMINED, by_port=True)
    full, own = POOL_SHARE * alone.value, OWN_SHARE * alone.value
    every = len(together) == len(ports)
    if not in_turns and min(together) >= full and (every or not all_full):
        return Buffering(OUTPUT)
    # What a lost packet found in all ports: one after the other they have more.
    whole = _held_at_once(bed, [[stream for port in ports for stream in port]], links)
    pool = whole[0].value if whole else None
    if in_turns and every and min(together) >= own and pool and pool >= own * len(ports):
        return Buffering(OUTPUT)
    if float(np.median(together)) < full:
        return Buffering(SHARED, pool, alone)
    if all_full and pool is not None and pool < full * len(ports):
        return Buffering(SHARED, pool, alone)
    return Buffering(UNDETERMINED, by_port=True)


def _ports_at_once(leaf: Sequence[int]) -> list[list[Stream]]:
    """As many ports as the hosts of a leaf fill at once, each from three that send to two each."""
    count = len(leaf)
    ports: list[list[Stream]] = []
    free = list(leaf)
    for first in range(0, 2 * count - PER_PORT + 1, PER_PORT):
        senders = [leaf[(first + k) % count] for k in range(PER_PORT)]
        target = next((host for host in reversed(free) if host not in senders), None)
        if target is None:
            break
        free.remove(target)
        ports.append([Stream(sender, target, SHARE / 2) for sender in senders])
    return ports


def _in_port(bed: Bed, leaf: Sequence[int], links: HostLinks) -> float:
    """How many packets an input seems to hold more than it does where two hosts are asked, because
    the port itself holds some of theirs. Of many hosts each has few of these."""
    target, senders = leaf[0], leaf[1 : 1 + MANY]
    found = []
    for count in (2, len(senders)):
        share = min(SHARE, MANY_OFFER / count)
        streams = [Stream(sender, target, share) for sender in senders[:count]]
        found.append(overload(bed, [streams], links)[0].per_input)
    few, many = found
    return 0.0 if few is None or many is None else max(0.0, few.value - many.value)


def find_buffering(
    bed: Bed, leaf: Sequence[int], links: HostLinks, known: bool = True
) -> Buffering:
    """`leaf`: hosts of one leaf, but that a fourth one may be of another; `known`: no guess."""
    if len(leaf) < HOSTS_MIN:
        return Buffering(UNDETERMINED)
    first, second, target, idle = leaf[:4]
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s

    def beside(other: int) -> Small | None:
        streams = [Stream(first, target, SHARE), Stream(second, other, SHARE)]
        return small_packets_beside(bed, streams, first, idle, links)

    # The same two hosts, first without a full port.
    calm = beside(leaf[-1] if len(leaf) > HOSTS_MIN else first)
    if calm is None or calm.wait_s >= WAITS_FRAMES * frame_s or calm.loss > 0:
        return Buffering(UNDETERMINED)
    full = beside(target)
    if full is None:
        return Buffering(UNDETERMINED)
    one_port = [Stream(first, target, SHARE), Stream(second, target, SHARE)]
    alone = _held_at_once(bed, [one_port], links)
    if full.wait_s >= WAITS_FRAMES * frame_s:
        if not alone:  # where nothing is lost it may have been told to pause
            return Buffering(UNDETERMINED)
        return Buffering(INPUT, in_port=_in_port(bed, leaf, links) if known else 0.0)
    if full.loss >= LOST:
        one = alone[0] if alone else None
        return Buffering(SHARED, None if one is None else one.value, one)
    if not alone or len(leaf) <= HOSTS_MIN:
        return Buffering(UNDETERMINED, by_port=True)
    return buffering_of_many(bed, _ports_at_once(leaf), alone[0], links, known)


def possible_leaves(hosts: Sequence[int], most: int) -> list[list[int]]:
    """Where leaves are not known: hosts that would be of one leaf if they are dealt out in turn."""
    looks = [list(hosts[::step][:most]) for step in STEPS]
    return [look for look in looks if len(look) > HOSTS_MIN] or [list(hosts[:most])]


def agreed(looks: Sequence[Buffering]) -> Buffering:
    """What several looks tell: a packet that waited at an input has told, else all have to agree.

    Precondition: one look at least.
    """
    waited = [one for one in looks if one.architecture == INPUT]
    if waited or len({one.architecture for one in looks}) == 1:
        return (waited or looks)[0]
    none_waited = all(one.by_port or one.architecture != UNDETERMINED for one in looks)
    return Buffering(UNDETERMINED, by_port=none_waited)


def find_switching(byte_s: float, links: HostLinks) -> str:
    """cut-through, store-and-forward or undetermined, from a lone byte's time (s/B) on one leaf.

    Where leaves are not known, the least of all pairs of a host: one is on its leaf."""
    serializations = byte_s * links.slowest_bit_s / 8
    for (low, high), answer in (
        (STORED_NONE, CUT_THROUGH),
        (STORED_ONE, STORE_AND_FORWARD),
    ):
        if low <= serializations <= high:
            return answer
    return UNDETERMINED
