"""The ports towards the hosts: how fast they are, how many packets they hold.

Two hosts of the same leaf, where leaves are known, send to a third, each nearly as fast as it can.
A quarter of the hosts is measured at once, each with senders of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allemande.probe.bed import Bed
from allemande.probe.overload import PortFinding, Stream, overload
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


def measure_host_ports(
    bed: Bed,
    links: HostLinks,
    leaves: Sequence[Sequence[int]] | None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """Of the port towards each rank. Precondition: three ranks at least."""
    ranks = len(bed.hosts)
    leaf_of = {host: leaf for leaf in leaves or [list(range(ranks))] for host in leaf}
    findings: dict[int, PortFinding] = {}
    waiting = list(range(ranks))
    while waiting:
        taken: set[int] = set()
        chosen: dict[int, list[int]] = {}
        most = max(1, ranks // AT_ONCE)
        # Spread over the leaves.
        for target in sorted(waiting, key=lambda host: (list(leaf_of[host]).index(host), host)):
            if len(chosen) >= most:
                break
            senders = _senders(ranks, leaf_of[target], target, taken)
            if len(senders) < SENDERS:
                continue
            chosen[target] = senders
            taken.update(senders)
        ports = [[Stream(s, target, SHARE) for s in senders] for target, senders in chosen.items()]
        for target, finding in zip(chosen, overload(bed, ports, links, tell=tell), strict=True):
            findings[target] = finding
        waiting = [host for host in waiting if host not in findings]
    return [findings[host] for host in range(ranks)]
