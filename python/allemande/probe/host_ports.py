"""The ports towards the hosts: how fast they are, how many packets they hold.

Two hosts of the same leaf, where leaves are known, send to a third, each nearly as fast as it can.
A quarter of the hosts is measured at once, each with senders of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from allemande.probe.bed import Bed
from allemande.probe.overload import PortFinding, Stream, confirmed, overload
from allemande.probe.queueing import HostLinks

SENDERS = 2
SHARE = 0.9
AT_ONCE = 4  # one host of so many


def _senders(ranks: int, leaf: Sequence[int], target: int, taken: set[int]) -> list[int]:
    """Hosts of the leaf first, then any."""
    near = [host for host in leaf if host != target and host not in taken]
    far = [host for host in range(ranks) if host != target and host not in near]
    start = target % max(1, len(far))
    far = [host for host in far[start:] + far[:start] if host not in taken]
    return (near + far)[:SENDERS]


def _apart(targets: Sequence[int], leaf_of: Mapping[int, Sequence[int]]) -> dict[int, list[Stream]]:
    """As many of the targets as can be measured at once, with senders of their own.

    Precondition: one target at least, and three hosts.
    """
    ranks = len(leaf_of)
    taken: set[int] = set()
    chosen: dict[int, list[Stream]] = {}
    # Spread over the leaves.
    for target in sorted(targets, key=lambda host: (list(leaf_of[host]).index(host), host)):
        if len(chosen) >= max(1, ranks // AT_ONCE):
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
    """Of the port towards each rank. Precondition: three ranks at least."""
    ranks = len(bed.hosts)
    leaf_of = {host: leaf for leaf in leaves or [list(range(ranks))] for host in leaf}

    def measure(targets: Sequence[int]) -> list[PortFinding]:
        found: dict[int, PortFinding] = {}
        while len(found) < len(targets):
            ports = _apart([host for host in targets if host not in found], leaf_of)
            findings = overload(bed, list(ports.values()), links, tell=tell)
            found.update(zip(ports, findings, strict=True))
        return [found[host] for host in targets]

    return confirmed(measure(range(ranks)), measure)
