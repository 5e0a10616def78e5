"""Rails: the networks side by side in which each host has a port of its own.

Names and numbers of ports differ from host to host, so the switches decide. Two leaf switches on
which one host hangs are of different rails. Leaves get the smallest number that keeps them apart,
in the order in which their hosts count their ports; where nothing joins two leaves of one number,
these are two rails, too. Leaves count where at least half of the hosts, of the dump or of leaves
that share hosts, have ports on several: a few hosts with two ways out make no rails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rail:
    leaves: tuple[str, ...]
    hosts: tuple[str, ...]  # with a port there


@dataclass
class _Leaf:
    hosts: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)  # which of its host's leaves it is
    beside: set[str] = field(default_factory=set)  # leaves on which its hosts hang as well

    @property
    def rank(self) -> float:
        return sum(self.ranks) / len(self.ranks)


class _Groups:
    """Names that are joined, as sets that grow together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def find(self, name: str) -> str:
        path = []
        while (above := self._above.get(name, name)) != name:
            path.append(name)
            name = above
        for one in path:
            self._above[one] = name
        return name

    def join(self, one: str, other: str) -> None:
        self._above[self.find(one)] = self.find(other)


def _leaves(leaves_of: Mapping[str, Sequence[str]]) -> dict[str, _Leaf]:
    found: dict[str, _Leaf] = {}
    for host, leaves in leaves_of.items():
        distinct = list(dict.fromkeys(leaves))
        for rank, name in enumerate(distinct):
            leaf = found.setdefault(name, _Leaf())
            leaf.hosts.append(host)
            leaf.ranks.append(rank)
            leaf.beside.update(distinct)
    for name, leaf in found.items():
        leaf.beside.discard(name)
    return found


def _real(leaves: Mapping[str, _Leaf], several: set[str]) -> set[str]:
    """Leaves of groups with hosts on several leaves: at least half of those there, or of all."""
    units = _Groups()
    for name, leaf in leaves.items():
        for other in leaf.beside:
            units.join(name, other)
    hosts: dict[str, set[str]] = {}
    for name, leaf in leaves.items():
        hosts.setdefault(units.find(name), set()).update(leaf.hosts)
    most = 2 * len(several) >= len(set().union(*hosts.values()))
    rich = {
        unit
        for unit, all_ in hosts.items()
        if all_ & several and (most or 2 * len(all_ & several) >= len(all_))
    }
    return {name for name in leaves if units.find(name) in rich}


def find_rails(
    leaves_of: Mapping[str, Sequence[str]], trunks: Iterable[tuple[str, str]]
) -> list[Rail]:
    """The rails, in the order of the hosts' ports; none where hosts have a port on one leaf each.

    `leaves_of`: the leaf switches of each host's ports, in the order of the ports. `trunks`: what
    joins switches.
    """
    leaves = _leaves(leaves_of)
    several = {host for host, names in leaves_of.items() if len(set(names)) > 1}
    if not several:
        return []
    joined = _Groups()
    for one, other in trunks:
        joined.join(one, other)
    real = _real(leaves, several)
    numbers: dict[str, int] = {}
    order = {name: place for place, name in enumerate(leaves)}
    for name in sorted(real, key=lambda name: (leaves[name].rank, order[name])):
        taken = {numbers[other] for other in leaves[name].beside if other in numbers}
        numbers[name] = next(number for number in range(len(taken) + 1) if number not in taken)
    rails: dict[tuple[int, str], list[str]] = {}
    for name in leaves:
        if name in numbers:
            rails.setdefault((numbers[name], joined.find(name)), []).append(name)
    found = []
    for (number, _), names in rails.items():
        hosts = list(dict.fromkeys(host for name in names for host in leaves[name].hosts))
        found.append((number, -len(hosts), Rail(tuple(names), tuple(hosts))))
    found.sort(key=lambda one: one[:2])
    return [rail for _, _, rail in found]
