"""Which hosts share a leaf switch, where packets wait inside switches.

Three hosts fill the port of a fourth, the target, and send nothing else; all others send a few
small packets to each other, so that nobody's own packets are in their way. Then who waits depends
on how switches queue, and each kind leaves a pattern of its own, of all pairs of hosts:

- behind inputs: the target's packets fill the input by which its leaf takes in all that comes from
  elsewhere. Hosts of other leaves wait for those of its leaf, and nobody else waits;
- a buffer that the leaf's ports share is full: all wait that send to its leaf or are on it.

A pattern is believed where every pair agrees with it, and where a second target of the leaf tells
the same with other senders, one of them on that leaf: two leaves that seem to be one, because the
link to both was too slow to fill the target's port, would wait for each other then. Where leaves
are found, a target for which nobody ever waits is alone on its own: others there would have been
waited for. Everything else is undetermined.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from allemande.probe import small_packets
from allemande.probe.bed import Bed
from allemande.probe.leaf_groups import Groups
from allemande.probe.queueing import HostLinks
from allemande.probe.small_packets import LOOKS, UNCLEAR, WAITS, Matrix, who_waits

SENDERS = 3
SHARE = 0.6  # of a sender's link
HOSTS_MIN = 6
RARER = 4.0  # small packets, where they wait for each other: a switch may take long for each
TURNS = 4  # of other senders, until somebody waits
UNCLEAR_SHARE = 0.05  # of pairs
SINGLE_FIRST = 3  # hosts that seem alone, before any leaf is found
MOST = 0.8  # of those that wait at all

Known = npt.NDArray[np.bool_]
Leaves = list[list[int]]


def _agrees(waits: Matrix, known: Known, expected: Known) -> bool:
    """Whether every pair waits that has to, and no other."""
    seen, wanted = waits[known], expected[known]
    clear = seen != UNCLEAR
    few = np.count_nonzero(~clear) <= UNCLEAR_SHARE * seen.size
    return bool(few and ((seen == WAITS) == wanted)[clear].all() and wanted.any())


def _inside(ranks: int, leaf: Sequence[int]) -> Known:
    inside = np.zeros(ranks, np.bool_)
    inside[list(leaf)] = True
    return inside


def _late_receivers(waits: Matrix, known: Known, rows: Sequence[int]) -> list[int]:
    """To whom most of these wait."""
    found = []
    for host in range(len(waits)):
        some = [row for row in rows if known[row, host] and waits[row, host] != UNCLEAR]
        late = sum(waits[row, host] == WAITS for row in some)
        if some and late >= MOST * len(some):
            found.append(host)
    return found


def leaf_behind_input(waits: Matrix, known: Known, target: int) -> list[int] | None:
    """The target's leaf, where others wait for its hosts at the input that they share."""
    rows = [row for row in range(len(waits)) if (waits[row, known[row]] == WAITS).any()]
    leaf = sorted({target, *_late_receivers(waits, known, rows)})
    inside = _inside(len(waits), leaf)
    expected = ~inside[:, np.newaxis] & inside[np.newaxis, :]
    return leaf if _agrees(waits, known, expected) else None


def leaf_of_full_pool(waits: Matrix, known: Known, target: int) -> list[int] | None:
    """The target's leaf, where all that passes it waits or is lost."""
    asked = [row for row in range(len(waits)) if known[row].any()]
    full = [row for row in asked if (waits[row, known[row]] == WAITS).mean() >= MOST]
    rest = [row for row in asked if row not in full]
    leaf = sorted({target, *_late_receivers(waits, known, rest)})
    inside = _inside(len(waits), leaf)
    expected = inside[:, np.newaxis] | inside[np.newaxis, :]
    return leaf if _agrees(waits, known, expected) else None


class _Asking:
    """The experiments, and what they tell."""

    def __init__(
        self, bed: Bed, links: HostLinks, tell: Callable[[str], None], rarer: float
    ) -> None:
        self._bed = bed
        self._links = links
        self._tell = tell
        self._rarer = rarer
        self.count = 0

    def look(self, target: int, senders: Sequence[int]) -> tuple[Matrix, Known]:
        """Who waits, from as many experiments as make it clear. Nobody: none was calm."""
        ranks = len(self._bed.hosts)
        on_time = np.zeros((ranks, ranks), np.int64)
        sent = np.zeros((ranks, ranks), np.int64)
        names = ", ".join(self._bed.hosts[one] for one in senders)
        for _ in range(LOOKS):
            self.count += 1
            self._tell(f"{names} to {self._bed.hosts[target]}")
            asked = small_packets.experiment(
                self._bed, target, self._links, senders, SHARE, rarer=self._rarer
            )
            one = small_packets.look(self._bed, self._bed.run(asked), self._links, self._rarer)
            if not one.calm:
                continue
            on_time += one.on_time
            sent += one.sent
            waits = who_waits(on_time, sent)
            if np.count_nonzero(waits[sent > 0] == UNCLEAR) <= UNCLEAR_SHARE * waits.size:
                break
        return who_waits(on_time, sent), sent > 0

    def told(self, target: int, senders: Sequence[int]) -> tuple[list[int] | None, bool]:
        """The target's leaf, if this tells it, and whether that nobody waits is certain."""
        waits, known = self.look(target, senders)
        if not known.any():
            return None, False
        if not (waits[known] == WAITS).any():
            return None, True
        leaf = leaf_behind_input(waits, known, target) or leaf_of_full_pool(waits, known, target)
        return leaf, False


def _turns(ranks: int, target: int, inside: Sequence[int]) -> Iterator[list[int]]:
    """Senders to try, one of them from `inside` if that is not empty. Drawn, because names in a row
    may be dealt to leaves in any way."""
    draw = random.Random(target)
    near = [host for host in inside if host != target]
    far = [host for host in range(ranks) if host != target and host not in near]
    for _ in range(TURNS):
        some = [draw.choice(near)] if near else []
        if len(far) + len(some) >= SENDERS:
            yield [*some, *draw.sample(far, SENDERS - len(some))]


def _leaf(asking: _Asking, ranks: int, target: int, inside: Sequence[int]) -> list[int] | None:
    """The target's leaf by the first senders that make anybody wait; empty: nobody ever waits."""
    for senders in _turns(ranks, target, inside):
        leaf, free = asking.told(target, senders)
        if not free:
            return leaf
    return []


def _find(bed: Bed, asking: _Asking) -> tuple[Groups, bool]:
    """What these experiments tell, and whether rarer packets may tell more."""
    ranks = len(bed.hosts)

    def undetermined(reason: str, more: bool = True) -> tuple[Groups, bool]:
        return Groups(None, reason, asking.count), more

    leaves: Leaves = []
    single: list[int] = []
    for target in range(ranks):
        if any(target in leaf for leaf in leaves):
            continue
        name = bed.hosts[target]
        leaf = _leaf(asking, ranks, target, [])
        if leaf is None:
            return undetermined(f"with three hosts sending to {name} others waited in no known way")
        if not leaf or leaf == [target]:
            single.append(target)
            if not leaves and len(single) >= SINGLE_FIRST:
                return undetermined(f"with three hosts sending to {name} nobody else waited", False)
            continue
        if any(host in one for one in [*leaves, single] for host in leaf):
            return undetermined(f"the leaf of {name} meets another")
        witness = leaf[-1] if leaf[-1] != target else leaf[0]
        if _leaf(asking, ranks, witness, leaf) != leaf:
            return undetermined(f"{name} and {bed.hosts[witness]} do not tell the same of a leaf")
        leaves.append(leaf)
    if not leaves:
        return undetermined("nobody waited, whoever was sent to", False)
    leaves += [[host] for host in single]
    return Groups(sorted(leaves), "", asking.count), False


def find_blocked_leaves(
    bed: Bed, links: HostLinks, tell: Callable[[str], None] = lambda _: None
) -> Groups:
    """`links`: what each rank's link takes in, all above 0."""
    ranks = len(bed.hosts)
    if ranks < HOSTS_MIN:
        reason = f"fewer than {HOSTS_MIN} hosts do not show who waits inside switches"
        return Groups(None, reason, 0)
    groups, more = _find(bed, _Asking(bed, links, tell, 1.0))
    if more:
        groups, _ = _find(bed, _Asking(bed, links, tell, RARER))
    return groups
