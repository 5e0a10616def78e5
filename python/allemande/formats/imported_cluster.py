"""Clusters that other programs describe, put together as a cluster file.

What such a description lacks is given behind its name: `slurm:FILE,rate_mbit_s=10000/40000`. Rates
stand from the hosts' links upwards; the last one holds for all levels above.

A cluster file is one network in which every host reaches every other. Where a description has
several parts, one of them is taken, and what is left out is said. What is wrong is told with the
line of the user's file, never with one of the text that is made here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from allemande.errors import BadInput
from allemande.formats.recognise import check_kind
from allemande.text_files import read_text, shown
from allemande.topology import Cluster, compress_hostlist, parse_cluster

NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}")
HOSTS_MAX = 65_536
LINKS_MAX = 262_144
LINKS_OF_HOST_MAX = 8
RATE_MAX = 1e9  # Mbit/s
LATENCY_MAX_US = 1e9
QUEUE_MAX = 10_000_000
_SHOWN = 8  # of a list in a message
GO_ON = "put # before the line to read the rest"

# key -> what it says
OPTIONS: Mapping[str, str] = {
    "rate_mbit_s": "rates, from the hosts' links upwards: 10000/40000",
    "latency_us": "the delay of every cable",
    "queue_packets": "the queue of every switch port",
    "mtu_bytes": "the largest IP packet",
    "root": "which part of the network, by one of its switches",
}


def some(names: Iterable[str]) -> str:
    """The first few of many names."""
    listed = list(names)
    more = len(listed) - _SHOWN
    text = ", ".join(listed[:_SHOWN])
    return f"{text} and {more} more" if more > 0 else text


def some_hosts(names: Sequence[str]) -> str:
    """Many hosts in few words: `h[0-3,7]`, cut where it grows long."""
    return some(compress_hostlist(list(names[:1000])).split(",")) if names else "none"


@dataclass(frozen=True)
class Source:
    """What stands where a cluster is named: `slurm:FILE,key=value`."""

    kind: str
    path: Path
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        """The file, as messages have it."""
        return shown(self.path)

    def at(self, line: int | None) -> str:
        return self.name if line is None else f"{self.name}:{line}"

    def number(self, key: str, low: float, high: float, whole: bool = False) -> float | None:
        """An option's value; BadInput where it is none from `low` to `high`."""
        text = self.options.get(key)
        if text is None:
            return None
        kind = "a whole number" if whole else "a number"
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
            raise BadInput(f"{self.kind}: {key} {text!r:.40} is not valid; expected {kind}")
        value = float(text)
        if whole and not value.is_integer():
            raise BadInput(f"{self.kind}: {key}={text} is no whole number; expected one, as in 45")
        if not low <= value <= high:
            raise BadInput(
                f"{self.kind}: {key}={text} is out of range; expected {low:g} to {high:g}"
            )
        return value

    def rates(self) -> list[float] | None:
        """Mbit/s by level, from the hosts' links upwards."""
        text = self.options.get("rate_mbit_s")
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?(/[0-9]{1,12}(\.[0-9]{1,6})?){0,15}", text):
            raise BadInput(
                f"{self.kind}: rate_mbit_s {text!r:.40} is not valid; expected Mbit/s, from the "
                "hosts' links upwards, as in 10000/40000"
            )
        rates = [float(word) for word in text.split("/")]
        if not all(0 < rate <= RATE_MAX for rate in rates):
            raise BadInput(
                f"{self.kind}: rate_mbit_s={text} is out of range; expected a number above 0, at "
                f"most {RATE_MAX:.0f}"
            )
        return rates

    def read(self, expected: str, bytes_max: int | None = None) -> str:
        """The file's text; BadInput for what is no text, and for what another kind of file is."""
        text = read_text(self.path, expected, bytes_max)
        check_kind(text, self.kind, self.name)
        return text


def parse_source(text: str, keys: Iterable[str]) -> Source:
    """`KIND:FILE,key=value,...`; commas without a key after them belong to the file's name."""
    kind, _, rest = text.partition(":")
    options: dict[str, str] = {}
    while match := re.fullmatch(r"(.+),([a-z_]+)=([^,]*)", rest, re.DOTALL):
        rest = match[1]
        if match[2] not in keys:
            raise BadInput(
                f"{shown(text)!r}: {match[2]!r} is no option of {kind}; expected some of: "
                f"{', '.join(sorted(keys))}"
            )
        options[match[2]] = match[3]
    if not rest:
        raise BadInput(f"{text!r} names no file; expected {kind}:FILE")
    return Source(kind, Path(rest), options)


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


def _besides(network: Network) -> str:
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
    """No host is left; what was passed over says why."""
    return BadInput(f"{source.name}: no host is in it; expected {expected}{_besides(network)}")


# ---- parts ---------------------------------------------------------------------------------------


def _part_name(part: Sequence[str], hosts: int) -> str:
    more = f" and {len(part) - 1} more switches" if len(part) > 1 else ""
    return f"{part[0]}{more} ({hosts} host{'' if hosts == 1 else 's'})"


def keep_one_part(network: Network, source: Source) -> None:
    """The part with most hosts, or that of the switch in the option `root`; a note names the rest.

    Hosts of that part may have links in other parts as well: these stay, unless `root` is given.
    """
    root = source.options.get("root")
    if root is not None and root not in network.switches:
        raise BadInput(
            f"{source.name}: root={root}: no switch is called so; expected one of "
            f"{some(network.switches) or 'none'}"
        )
    parts = network.parts()
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
    others = [number for number in left if set(hosts_of[number]) - stay]
    if others:
        named = (_part_name(parts[number], len(hosts_of[number])) for number in others)
        network.notes.append(
            f"taken: {_part_name(parts[chosen], len(hosts_of[chosen]))}; nothing joins it and "
            f"{some(named)}, left out: root={parts[others[0]][0]} takes that part instead"
        )
    empty = [parts[number][0] for number in left if number not in others]
    if empty:
        network.notes.append(f"left out: {some(empty)}, as no host is joined to it")


# ---- names ---------------------------------------------------------------------------------------


def _check_names(network: Network, source: Source) -> None:
    for name in (*network.hosts, *network.switches):
        if not NAME.fullmatch(name):
            raise BadInput(
                f"{source.at(network.lines.get(name))}: {name!r:.80} cannot be a name in a cluster "
                "file; expected 1 to 63 letters, digits, dots, dashes and underscores: rename it, "
                f"or {GO_ON}"
            )


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


# ---- the text ------------------------------------------------------------------------------------


class _Text:
    """A cluster file in the making: every line knows what line of the user's file it stands for."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._origins: list[int | None] = []

    def add(self, line: int | None, *texts: str) -> None:
        self._lines += texts
        self._origins += [line] * len(texts)

    def parse(self, source: Source) -> Cluster:
        """The cluster; what is wrong is told of the user's file."""
        name = f"{source.kind}:{source.name}"
        try:
            return parse_cluster("\n".join([*self._lines, ""]), name)
        except BadInput as error:
            match = re.match(re.escape(name) + r":(\d+): (.*)", str(error), re.DOTALL)
            if match is None:
                raise
            number = int(match[1])
            origin = self._origins[number - 1] if number <= len(self._origins) else None
            raise BadInput(f"{source.at(origin)}: {match[2]}") from None


def _rate_of(network: Network, source: Source) -> Callable[[FoundLink, Mapping[str, int]], float]:
    rates = source.rates()
    lacking = next((link for link in network.links if link.rate_mbit_s is None), None)
    if rates is None and lacking is not None:
        where = f" (line {lacking.line})" if lacking.line and source.kind != "slurm" else ""
        raise BadInput(
            f"{source.kind}:{source.name} has no rates{where}; say them: "
            f"{source.kind}:{source.name},rate_mbit_s=10000/40000 is 10 Gbit/s for the hosts' "
            f"links and 40 for those above{_besides(network)}"
        )

    def rate(link: FoundLink, levels: Mapping[str, int]) -> float:
        if rates is None:
            assert link.rate_mbit_s is not None
            return link.rate_mbit_s
        return rates[min(levels[link.below], len(rates) - 1)]

    return rate


def _check_links(network: Network, source: Source) -> dict[str, int]:
    """How many links each host has."""
    count = dict.fromkeys(network.hosts, 0)
    for link in network.links:
        where = source.at(link.line)
        if link.below == link.above or link.above in count:
            raise BadInput(
                f"{where}: {link.below!r} and {link.above!r} are joined; expected hosts on "
                "switches, and switches on other switches"
            )
        if link.below in count:
            count[link.below] += 1
            if count[link.below] > LINKS_OF_HOST_MAX:
                raise BadInput(
                    f"{where}: host {link.below!r} has more than {LINKS_OF_HOST_MAX} links; "
                    f"expected at most {LINKS_OF_HOST_MAX}"
                )
        for rate in (link.rate_mbit_s, link.rate_down_mbit_s, link.cap_mbit_s):
            if rate is not None and not 0 < rate <= RATE_MAX:
                raise BadInput(
                    f"{where}: a rate of {rate:g} Mbit/s is out of range; expected a number above "
                    f"0, at most {RATE_MAX:.0f}"
                )
        if link.latency_us is not None and not 0 <= link.latency_us <= LATENCY_MAX_US:
            raise BadInput(
                f"{where}: a latency of {link.latency_us:g} \N{MICRO SIGN}s is out of range; "
                f"expected 0 to {LATENCY_MAX_US:.0f}"
            )
    if len(network.hosts) > HOSTS_MAX or len(network.links) > LINKS_MAX:
        raise BadInput(
            f"{source.name}: {len(network.hosts)} hosts and {len(network.links)} links; expected "
            f"at most {HOSTS_MAX} and {LINKS_MAX}"
        )
    return count


def _number(value: float) -> str:
    return f"{value:.10g}"


def _link_keys(
    link: FoundLink,
    rate: float,
    own_rate: bool,
    latency: float | None,
    queues: tuple[int | None, int | None],
) -> list[str]:
    keys = []
    if own_rate and link.rate_down_mbit_s is not None:
        keys.append(f"rate_up_mbit_s = {_number(rate)}")
        keys.append(f"rate_down_mbit_s = {_number(link.rate_down_mbit_s)}")
    else:
        keys.append(f"rate_mbit_s = {_number(rate)}")
    if own_rate and link.cap_mbit_s is not None:
        keys.append(f"bidirectional_cap_mbit_s = {_number(link.cap_mbit_s)}")
    if latency is not None:
        keys.append(f"latency_us = {_number(latency)}")
    up, down = queues
    if down is not None:
        keys.append(f"queue_down_packets = {down}")
    if up is not None:
        keys.append(f"queue_up_packets = {up}")
    if link.one_way:
        keys.append("one_way = true")
    return keys


def _write_links(text: _Text, network: Network, source: Source) -> None:
    rate = _rate_of(network, source)
    levels = network.levels()
    given_queue = source.number("queue_packets", 1, QUEUE_MAX, whole=True)
    given_latency = source.number("latency_us", 0, LATENCY_MAX_US)
    own_rate = source.options.get("rate_mbit_s") is None
    everywhere = network.queue_packets if given_queue is None else int(given_queue)

    def keys(link: FoundLink) -> tuple[str, bool, list[str]]:
        above_hosts = levels[link.below] > 0
        up, down = link.queue_up_packets, link.queue_down_packets
        if given_queue is not None or down is None:
            down = everywhere
        if given_queue is not None or up is None:
            up = everywhere
        latency = link.latency_us if given_latency is None else given_latency
        queues = (up if above_hosts else None, down)
        return (
            link.above,
            above_hosts,
            _link_keys(link, rate(link, levels), own_rate, latency, queues),
        )

    # Hosts of one switch share a table; every other cable has its own.
    for (above, above_hosts, shared), group in groupby(network.links, key=keys):
        links = list(group)
        apart_each = above_hosts or len({link.below for link in links}) < len(links)
        tables = [[link] for link in links] if apart_each else [links]
        for table in tables:
            names = compress_hostlist([link.below for link in table])
            text.add(table[0].line, "[[link]]", f'from = "{names}"', f'to = "{above}"', *shared)


def build(network: Network, source: Source) -> Cluster:
    """The cluster; BadInput where rates lack, names cannot be, or a host has no place."""
    _check_names(network, source)
    links_of = _check_links(network, source)
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", source.path.stem).lstrip("-")[:63] or source.kind
    described = f"read from {source.kind}:{source.path.name}".encode("ascii", "replace").decode()
    text = _Text()
    text.add(None, "format = 1", f"name = {json.dumps(name)}")
    text.add(None, f"description = {json.dumps(re.sub(r'[^ -~]', '?', described))}")
    mtu = source.number("mtu_bytes", 576, 9216, whole=True)
    if mtu is not None:
        text.add(None, "[framing]", f"mtu_bytes = {int(mtu)}")
    for switch in network.switches:
        line = network.lines.get(switch)
        text.add(line, "[[switch]]", f'name = "{switch}"')
        text.add(line, *(f'{key} = "{value}"' for key, value in network.switch_keys.items()))
        backplane = network.backplanes.get(switch)
        if backplane is not None and math.isfinite(backplane):
            text.add(line, f"backplane_mbit_s = {_number(min(backplane, RATE_MAX))}")
    for links, hosts in groupby(network.hosts, key=lambda host: links_of[host]):
        listed = list(hosts)
        line = network.lines.get(listed[0])
        text.add(line, "[[host]]", f'name = "{compress_hostlist(listed)}"')
        if links != 1:
            text.add(line, f"links = {links}")
    _write_links(text, network, source)
    if len(network.hosts) == 1:
        network.notes.append(f"{network.hosts[0]} is the only host: nothing is to be exchanged")
    return text.parse(source)
