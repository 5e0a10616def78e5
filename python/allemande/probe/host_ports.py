"""The ports towards the hosts: how fast they are, how many packets they hold.

Two hosts of the same leaf, where leaves are known, send to a third, each nearly as fast as it can.
A quarter of the hosts is measured at once, each with senders of its own. Where leaves are not known
it is one host after the other: the senders of several might fill an uplink together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from allemande.model.profile import NOT_TRIED
from allemande.probe.bed import Bed
from allemande.probe.overload import PortFinding, Stream, confirmed, overload
from allemande.probe.queueing import HostLinks

SENDERS = 2
SHARE = 0.9
AT_ONCE = 4  # one host of so many
WHOLE_SHARE = 0.75  # of the longest queue


def has_own_senders(leaf: Sequence[int]) -> bool:
    """Whether a leaf has hosts enough to fill the port of another."""
    return len(leaf) > SENDERS


def _senders(ranks: int, leaf: Sequence[int], target: int, taken: set[int]) -> list[int]:
    """Hosts of the leaf, those beside it in its order first; any, where the leaf has too few.

    Where leaves are not known, those beside it are the most likely to be on its leaf.
    """
    place, count = leaf.index(target), len(leaf)

    def distance(host: int) -> int:
        apart = abs(leaf.index(host) - place)
        return min(apart, count - apart)

    near = [host for host in leaf if host != target and host not in taken]
    near.sort(key=distance)
    if has_own_senders(leaf):
        return near[:SENDERS]
    far = [host for host in range(ranks) if host != target and host not in near]
    start = target % max(1, len(far))
    far = [host for host in far[start:] + far[:start] if host not in taken]
    return (near + far)[:SENDERS]


def _apart(
    targets: Sequence[int], leaf_of: Mapping[int, Sequence[int]], most: int
) -> dict[int, list[Stream]]:
    """As many of the targets as can be measured at once, at most so many, each with its senders.

    Precondition: one target at least, and three hosts.
    """
    ranks = len(leaf_of)
    taken: set[int] = set()
    chosen: dict[int, list[Stream]] = {}
    # Spread over the leaves.
    for target in sorted(targets, key=lambda host: (list(leaf_of[host]).index(host), host)):
        if len(chosen) >= most:
            break
        senders = _senders(ranks, leaf_of[target], target, taken)
        if len(senders) < SENDERS:
            continue
        chosen[target] = [Stream(sender, target, SHARE) for sender in senders]
        taken.update(senders)
    return chosen


def measure_host_ports(
    bed: Bed,
    links: HostLinks,
    leaves: Sequence[Sequence[int]] | None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """Findings about the port towards each rank. Precondition: three ranks at least."""
    ranks = len(bed.hosts)
    most = 1 if leaves is None else max(1, ranks // AT_ONCE)
    leaf_of = {host: leaf for leaf in leaves or [list(range(ranks))] for host in leaf}

    def measure(targets: Sequence[int]) -> list[PortFinding]:
        found: dict[int, PortFinding] = {}
        while len(found) < len(targets):
            ports = _apart([host for host in targets if host not in found], leaf_of, most)
            findings = overload(bed, list(ports.values()), links, tell=tell)
            found.update(zip(ports, findings, strict=True))
        return [found[host] for host in targets]

    return confirmed(measure(range(ranks)), measure)


def whole_inputs(
    bed: Bed,
    links: HostLinks,
    ports: Sequence[PortFinding],
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """The ports of an input-buffered switch whose leaves are not known, the queue of some untold.

    `ports`: with what one sender's packets found. Two senders from another leaf share an input of
    the switch, and each has a part of its buffer. So two hosts are asked with all others as senders
    besides: what holds less than most of the longest queue may be a part.
    """
    ranks = len(ports)
    queues = [one.buffer_packets.value for one in ports if one.buffer_packets]
    for target in (0, ranks // 2):
        others = [host for host in range(ranks) if host != target]
        for pair in zip(others[::2], others[1::2], strict=False):
            streams = [Stream(sender, target, SHARE) for sender in pair]
            held = overload(bed, [streams], links, tell=tell)[0].per_input
            queues += [] if held is None else [held.value]
    whole = max(queues, default=0.0)
    return [
        replace(one, state=NOT_TRIED, buffer_packets=None, per_input=None)
        if one.buffer_packets and one.buffer_packets.value < WHOLE_SHARE * whole
        else one
        for one in ports
    ]
