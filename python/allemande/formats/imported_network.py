"""Hosts, switches and links as a description has them, before they are a cluster file.

A cluster file is one network in which every host reaches every other. Where a description has
several parts, one of them is taken, and what is left out is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from allemande.errors import BadInput
from allemande.formats.import_source import Source
from allemande.text_files import shown
from allemande.topology import compress_hostlist

_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_PLAIN_CHARACTERS = 50  # of a name that is made, before a number
_SHOWN = 8  # of a list in a message
_SHOWN_CHARACTERS = 200  # of each of them


def some(names: Iterable[str]) -> str:
    """The first few of many names."""
    listed = list(names)
    more = len(listed) - _SHOWN
    text = ", ".join(shown(name[:_SHOWN_CHARACTERS]) for name in listed[:_SHOWN])
    return f"{text} and {more} more" if more > 0 else text


def some_hosts(names: Sequence[str]) -> str:
    """Many hosts in few words: `h[0-3,7]`, cut where it grows long."""
    if not names:
        return "none"
    return some(re.split(r",(?![^\[\]]*\])", compress_hostlist(list(names[:1000]))))


@dataclass(frozen=True)
class FoundLink:
    """`below` is the end nearer to the hosts. What is None is not said."""

    below: str
    above: str
    rate_mbit_s: float | None = None
    rate_down_mbit_s: float | None = None  # where it is not the rate up
    cap_mbit_s: float | None = None  # of both directions together
    latency_us: float | None = None
    queue_up_packets: int | None = None
    queue_down_packets: int | None = None
    one_way: bool = False  # nothing comes down
    line: int | None = None  # of the user's file

    def turned(self) -> FoundLink:
        """The same cable, named from its other end."""
        down = self.rate_mbit_s if self.rate_down_mbit_s is None else self.rate_down_mbit_s
        up = None if self.rate_down_mbit_s is None else self.rate_mbit_s
        return replace(
            self,
            below=self.above,
            above=self.below,
            rate_mbit_s=down,
            rate_down_mbit_s=up,
            queue_up_packets=self.queue_down_packets,
            queue_down_packets=self.queue_up_packets,
        )


@dataclass
class Network:
    """What a description says, in its own names."""

    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[FoundLink] = field(default_factory=list)
    switch_keys: Mapping[str, str] = field(default_factory=dict)  # of every switch
    backplanes: dict[str, float] = field(default_factory=dict)  # of some switches, Mbit/s
    queue_packets: int | None = None  # of every port of a switch
    notes: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # where a name stands

    def neighbours(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in (*self.hosts, *self.switches)}
        for link in self.links:
            found[link.below].append(link.above)
            found[link.above].append(link.below)
        return found

    def levels(self) -> dict[str, int]:
        """How far above the hosts each switch is: 1 where hosts hang on."""
        joined = self.neighbours()
        level = dict.fromkeys(self.hosts, 0)
        found = list(self.hosts)
        for name in found:
            for other in joined[name]:
                if other not in level:
                    level[other] = level[name] + 1
                    found.append(other)
        return level

    def keep(self, names: set[str]) -> None:
        """Leaves out all other hosts and switches, and their links."""
        self.hosts = [name for name in self.hosts if name in names]
        self.switches = [name for name in self.switches if name in names]
        self.links = [one for one in self.links if one.below in names and one.above in names]

    def parts(self) -> list[list[str]]:
        """What is joined, in the order of the file. Hosts forward nothing."""
        joined = self.neighbours()
        hosts = set(self.hosts)
        seen: set[str] = set()
        found = []
        for begin in (*self.switches, *self.hosts):
            if begin in seen or (begin in hosts and joined[begin]):
                continue
            seen.add(begin)
            part = [begin]
            for name in part:
                for other in () if name in hosts else joined[name]:
                    if other not in hosts and other not in seen:
                        seen.add(other)
                        part.append(other)
            found.append(part)
        return found


def besides(network: Network) -> str:
    """The notes, for a message that ends it all."""
    return "".join(f". {note}" for note in network.notes[:4])


def turn_upwards(network: Network) -> None:
    """Links are named from the end nearer to the hosts, those of one way from where they begin."""
    levels = network.levels()
    network.links = [
        link.turned()
        if not link.one_way and levels.get(link.below, 0) > levels.get(link.above, 0)
        else link
        for link in network.links
    ]


def nothing_there(network: Network, source: Source, expected: str) -> BadInput:
    """No host is left, or none has a link; what was passed over says why."""
    if not network.hosts:
        return BadInput(f"{source.name}: no host is in it; expected {expected}{besides(network)}")
    where = source.at(network.lines.get(network.hosts[0]))
    verb = "has" if len(network.hosts) == 1 else "have"
    return BadInput(
        f"{where}: {some_hosts(network.hosts)} {verb} no link; expected {expected}"
        f"{besides(network)}"
    )


# ---- parts ---------------------------------------------------------------------------------------


def _part_name(part: Sequence[str], hosts: int) -> str:
    more = f" and {len(part) - 1} more switches" if len(part) > 1 else ""
    return f"{shown(part[0])}{more} ({hosts} host{'' if hosts == 1 else 's'})"


def _from_the_top(parts: Sequence[list[str]], links: Iterable[FoundLink]) -> list[list[str]]:
    """Each part with a switch first that has none above it, if there is one."""
    below = {link.below for link in links}
    return [sorted(part, key=below.__contains__) for part in parts]


def keep_one_part(network: Network, source: Source) -> None:
    """The part with most hosts, or that of the switch in the option `root`; a note names the rest.

    Hosts of that part may have links in other parts as well: these stay, unless `root` is given.
    """
    root = source.options.get("root")
    if root is not None and root not in network.switches:
        raise BadInput(
            f"{source.name}: root={shown(root)}: no switch is called so; expected one of "
            f"{some(network.switches) or 'none'}"
        )
    parts = _from_the_top(network.parts(), network.links)
    part_of = {name: number for number, part in enumerate(parts) for name in part}
    joined = network.neighbours()
    homes = {
        host: {part_of[host]} if host in part_of else {part_of[other] for other in joined[host]}
        for host in network.hosts
    }
    hosts_of: list[list[str]] = [[] for _ in parts]
    for host, numbers in homes.items():
        for number in numbers:
            hosts_of[number].append(host)
    if root is not None:
        chosen = part_of[root]
        kept = {chosen}
    else:
        chosen = max(range(len(parts)), key=lambda number: len(hosts_of[number]))
        kept = {chosen}.union(*(homes[host] for host in hosts_of[chosen]))
    left = [number for number in range(len(parts)) if number not in kept]
    stay = set(hosts_of[chosen])
    network.keep(stay.union(*(parts[number] for number in kept)))
    alone = [parts[number][0] for number in left if parts[number][0] in homes]
    if alone:
        network.notes.append(f"hosts without a link are left out: {some_hosts(alone)}")
    left = [number for number in left if parts[number][0] not in homes]
    others = [number for number in left if set(hosts_of[number]) - stay]
    if others:
        named = (_part_name(parts[number], len(hosts_of[number])) for number in others)
        network.notes.append(
            f"taken: {_part_name(parts[chosen], len(hosts_of[chosen]))}; nothing joins it and "
            f"{some(named)}, left out: root={shown(parts[others[0]][0])} takes that part instead"
        )
    empty = [parts[number][0] for number in left if not set(hosts_of[number]) - stay]
    if empty:
        network.notes.append(f"left out: {some(empty)}, as no host is joined to it")


# ---- names -------------------------------------------------------------------------------------


def plain(name: str) -> str:
    """Without what names of a cluster file cannot have; nothing may be left, or too much."""
    return _NOT_IN_NAMES.sub("-", name).strip("-")


def plain_names(names: Iterable[str], other: str) -> dict[str, str]:
    """Names that a cluster file can have, each once; who has one keeps it.

    `other` is for those of which nothing is left.
    """
    listed = list(dict.fromkeys(names))
    used = {name for name in listed if _NAME.fullmatch(name)}
    counts: dict[str, int] = {}  # how many have begun so
    found = {}
    for name in listed:
        new = name
        if name not in used:
            begin = plain(name)[:_PLAIN_CHARACTERS] or other
            new = begin
            while new in used:
                counts[begin] = counts.get(begin, 1) + 1
                new = f"{begin}-{counts[begin]}"
        used.add(new)
        found[name] = new
    return found


def note_renamed(what: str, names: Mapping[str, str], notes: list[str]) -> None:
    """`what`: hosts or switches."""
    changed = [f"{name} is {new}" for name, new in names.items() if new != name]
    if changed:
        notes.append(f"{what} whose names a cluster file cannot have: {some(changed)}")


def apart(switches: Iterable[str], hosts: Iterable[str], notes: list[str]) -> dict[str, str]:
    """Names for switches, as hosts and switches share one space of names; those of hosts stay."""
    listed = list(switches)
    used = {*hosts, *listed}
    taken = set(hosts)
    names = {}
    for name in listed:
        new, number = name, 1
        while new in taken or (new != name and new in used):
            number += 1
            new = f"{name[:50]}-switch" if number == 2 else f"{name[:50]}-switch{number}"
        names[name] = new
        taken.add(new)
    renamed = [f"{name} is {new}" for name, new in names.items() if new != name]
    if renamed:
        notes.append(f"switches called like hosts have another name here: {some(renamed)}")
    return names
