"""Which hosts share a leaf switch, from who waits for whom.

All hosts send to one host, the target, nearly as fast as they can; meanwhile every host sends a few
small packets to every other. What the target's own port queues and drops concerns the target alone.
The small packets are late, or lost, where they pass another port that is overloaded: the uplink of
a leaf whose hosts together send more than it carries, or the port towards the target's leaf. No
packet between two hosts of one leaf passes either. So, where some packets wait,

- hosts whose packets to others never wait are on the target's leaf: those of other leaves wait at
  their own uplink, or at the port towards the target's leaf;
- this is believed where two hosts of a leaf, made the target in turn, tell the same, and the leaves
  are apart from each other.

Where packets also wait inside a switch, because inputs block each other or ports share a buffer,
nobody is free of waiting, and each host seems to be alone.

Everything else is undetermined: a network that is never overloaded has no leaves to be seen, and a
wrong answer would be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allemande.probe import small_packets
from allemande.probe.bed import Bed
from allemande.probe.queueing import HostLinks
from allemande.probe.small_packets import FREE, LOOKS, SMALL_EACH, UNCLEAR, WAITS, Matrix, who_waits

PRESSURE = 0.88  # of a host's link, from each host to the target
TARGETS_PER_LEAF = 2


@dataclass(frozen=True)
class Groups:
    """Leaves as lists of ranks, or none with the reason why they are undetermined."""

    leaves: list[list[int]] | None
    reason: str
    experiments: int


def _leaf_of(waits: Matrix, target: int) -> list[int] | None:
    """The target's leaf, or None where this experiment does not tell."""
    ranks = len(waits)
    others = [host for host in range(ranks) if host != target]
    leaf = [target]
    for host in others:
        row = [waits[host, other] for other in others if other != host]
        late, clear = row.count(WAITS), row.count(FREE)
        if late == 0 and clear >= len(row) - 1:
            leaf.append(host)
    leaf.sort()
    outside = [host for host in others if host not in leaf]
    if not outside:
        return None
    # Whoever is outside waits for everybody inside, and nobody inside waits for another.
    for member in leaf:
        if member == target:
            continue
        into = [waits[host, member] for host in outside]
        among = [waits[host, member] for host in leaf if host not in (target, member)]
        if into.count(FREE) > 0 or among.count(WAITS) > 0:
            return None
    return leaf


def find_leaf_groups(
    bed: Bed, links: HostLinks, tell: Callable[[str], None] = lambda _: None
) -> Groups:
    """`links`: what each rank's link takes in, all above 0."""
    ranks = len(bed.hosts)
    if ranks < 3:
        return Groups(None, "leaves of fewer than three hosts cannot be told apart", 0)
    leaf_of: dict[int, list[int]] = {}
    experiments = disturbed = 0

    def find_leaf(target: int, expected: list[int] | None = None) -> list[int] | None:
        """What several looks tell together; of those that were disturbed nothing is believed."""
        nonlocal experiments, disturbed
        on_time = np.zeros((ranks, ranks), np.int64)
        sent = np.zeros((ranks, ranks), np.int64)
        leaf = None
        for _ in range(LOOKS):
            experiments += 1
            tell(f"all to {bed.hosts[target]}")
            others = [host for host in range(ranks) if host != target]
            asked = small_packets.experiment(bed, target, links, others, PRESSURE, also=True)
            look = small_packets.look(bed, bed.run(asked), links)
            if not look.calm:
                disturbed += 1
                continue
            on_time += look.on_time
            sent += look.sent
            waits = who_waits(on_time, sent)
            leaf = _leaf_of(waits, target)
            if (waits == FREE).all() and sent.max() > SMALL_EACH:
                break
            if leaf is None or not (len(leaf) > 1 if expected is None else leaf == expected):
                continue
            if (waits[leaf] != UNCLEAR).all() and (waits[:, leaf] != UNCLEAR).all():
                break
        return leaf

    for target in range(ranks):
        if target in leaf_of:
            continue
        leaf = find_leaf(target)
        name = bed.hosts[target]
        if leaf is None and disturbed >= LOOKS:
            return Groups(
                None,
                "packets come late with no load on the network: the processors of hosts are busy; "
                "try again when they are idle",
                experiments,
            )
        if leaf is None:
            return Groups(
                None,
                f"with all hosts sending to {name}, no packets between others waited as those of "
                "different leaves do",
                experiments,
            )
        if len(leaf) == 1:
            return Groups(
                None,
                f"with all hosts sending to {name} all packets waited: it is alone on its leaf, or "
                "packets wait inside switches",
                experiments,
            )
        others = [host for host in leaf if host != target]
        for witness in others[-(TARGETS_PER_LEAF - 1) :]:
            told = find_leaf(witness, leaf)
            # Where one of the two was disturbed the first is asked again.
            if told != leaf and (told is None or find_leaf(target, told) != told):
                return Groups(
                    None,
                    f"{name} and {bed.hosts[witness]} do not tell the same of a leaf",
                    experiments,
                )
            leaf = told
        if any(host in leaf_of for host in leaf):
            return Groups(None, f"the leaf of {name} meets another", experiments)
        for host in leaf:
            leaf_of[host] = leaf
    leaves = sorted({tuple(leaf) for leaf in leaf_of.values()})
    return Groups([list(leaf) for leaf in leaves], "", experiments)
