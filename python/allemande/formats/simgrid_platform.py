"""What SimGrid's files say of hosts, values and clusters, put together as a platform."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from allemande.errors import BadInput
from allemande.formats.import_source import RATE_MAX, Source
from allemande.formats.imported_cluster import HOSTS_MAX, LINKS_MAX
from allemande.formats.imported_network import FoundLink
from allemande.formats.simgrid_routes import Cable, Route
from allemande.formats.xml_text import Element

LEVELS_MAX = 8
_NAME_CHARACTERS_MAX = 255  # routers of clusters have three names in one
_SWITCHES_MAX = 65_536
_PREFIXES = {"": 1.0} | {
    f"{letter}{binary}": (1024.0 if binary else 1000.0) ** power
    for power, letter in enumerate("kMGTPEZY", 1)
    for binary in ("", "i")
}
_PREFIXES |= {"K": _PREFIXES["k"], "Ki": _PREFIXES["ki"]}
_SECONDS = {
    "": 1.0, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
    "d": 86_400.0, "w": 604_800.0,
}  # fmt: skip
_VALUE = re.compile(
    r"\s*([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?\s*([A-Za-z]*)\s*"
)
_RADICAL = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?")


@dataclass
class Platform:
    """What has been read so far. Switches have names of their own here, of any letters."""

    source: Source
    hosts: dict[str, int] = field(default_factory=dict)  # with their lines
    switches: dict[str, int] = field(default_factory=dict)
    cables: dict[str, Cable] = field(default_factory=dict)  # <link>, by its id
    routes: list[Route] = field(default_factory=list)
    links: list[FoundLink] = field(default_factory=list)  # whose ends are said
    delays_us: dict[str, float] = field(default_factory=dict)  # of switches
    backplanes: dict[str, float] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # <link>s of hosts in a star
    notes: list[str] = field(default_factory=list)

    def wrong(self, element: Element, text: str) -> BadInput:
        return BadInput(f"{self.source.at(element.line)}: <{element.tag}> {text}")

    # ---- values --------------------------------------------------------------------------------

    def text(self, element: Element, name: str) -> str:
        value = element.attributes.get(name)
        if value is None:
            raise self.wrong(element, f'has no {name}; expected {name}="..."')
        return value

    def _measure(self, element: Element, name: str, expected: str) -> tuple[float, str]:
        text = self.text(element, name)
        match = _VALUE.fullmatch(text)
        if match is None:
            raise self.wrong(element, f"{name}={text!r:.60} is not valid; expected {expected}")
        return float(match[1] + (match[2] or "")), match[3]

    def rate(self, element: Element, name: str) -> float:
        """Mbit/s."""
        value, unit = self._measure(element, name, "a bandwidth as in 125MBps or 1Gbps")
        bits = {"Bps": 8.0, "bps": 1.0, "": 8.0}.get(unit[-3:])
        prefix = _PREFIXES.get(unit[:-3])
        if bits is None or prefix is None:
            raise self.wrong(
                element, f"{name} has the unit {unit!r:.20}; expected one as in MBps or Gbps"
            )
        rate = value * bits * prefix / 1e6
        if not 0 < rate <= RATE_MAX:
            raise self.wrong(
                element, f"{name} is {rate:g} Mbit/s; expected above 0, at most {RATE_MAX:g}"
            )
        return rate

    def delay_us(self, element: Element, name: str) -> float:
        """Microseconds; 0 where nothing is said."""
        if not element.attributes.get(name):
            return 0.0
        value, unit = self._measure(element, name, "a time as in 50us")
        if unit not in _SECONDS:
            raise self.wrong(element, f"{name} has the unit {unit!r:.20}; expected one as in us")
        return value * _SECONDS[unit] * 1e6

    def _radicals(self, element: Element) -> Iterator[str]:
        """The numbers of a cluster's hosts: `0-15,20`."""
        text = self.text(element, "radical")
        for part in text.split(","):
            match = _RADICAL.fullmatch(part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if last < first:
                raise self.wrong(
                    element, f"radical={part!r:.40} is not valid; expected numbers as in 0-15,20"
                )
            if len(self.hosts) + last - first >= HOSTS_MAX:
                raise self.wrong(element, f"makes more than {HOSTS_MAX} hosts; expected fewer")
            yield from map(str, range(first, last + 1))

    # ---- parts ---------------------------------------------------------------------------------

    def _check_new(self, element: Element, name: str) -> None:
        if len(name) > _NAME_CHARACTERS_MAX:
            raise self.wrong(
                element,
                f"makes {name!r:.80}; expected names of at most {_NAME_CHARACTERS_MAX} letters",
            )
        if name in self.hosts or name in self.switches:
            raise self.wrong(element, f"{name!r:.80} stands twice; expected each name once")

    def add_host(self, element: Element, name: str) -> str:
        self._check_new(element, name)
        self.hosts[name] = element.line
        return name

    def add_switch(self, element: Element, name: str) -> str:
        self._check_new(element, name)
        self.switches[name] = element.line
        return name

    def hosts_of(self, element: Element) -> list[str]:
        begin, end = self.text(element, "prefix"), element.attributes.get("suffix", "")
        return [
            self.add_host(element, f"{begin}{number}{end}") for number in self._radicals(element)
        ]

    def note_once(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def policy_of(platform: Platform, element: Element, name: str, default: str) -> str:
    found = element.attributes.get(name) or default
    policy = "SPLITDUPLEX" if found == "FULLDUPLEX" else found
    if policy not in ("SHARED", "SPLITDUPLEX", "FATPIPE"):
        raise platform.wrong(
            element, f"has {name}={found!r:.40}; expected SHARED, SPLITDUPLEX or FATPIPE"
        )
    return policy


def link_pattern(platform: Platform, element: Element) -> FoundLink:
    """What the links of a cluster are like: a pattern for all of them."""
    rate = platform.rate(element, "bw")
    cap = (
        rate if policy_of(platform, element, "sharing_policy", "SPLITDUPLEX") == "SHARED" else None
    )
    if element.attributes.get("limiter_link"):
        limit = platform.rate(element, "limiter_link")
        rate, cap = min(rate, limit), min(limit, cap or limit)
    delay = platform.delay_us(element, "lat")
    return FoundLink("", "", rate, cap_mbit_s=cap, latency_us=delay, line=element.line)


# ---- clusters ------------------------------------------------------------------------------------


def _add_flat(platform: Platform, element: Element) -> None:
    pattern = link_pattern(platform, element)
    name = platform.text(element, "id")
    begin, end = platform.text(element, "prefix"), element.attributes.get("suffix", "")
    router = element.attributes.get("router_id") or f"{begin}{name}_router{end}"
    centre = platform.add_switch(element, router)
    if element.attributes.get("bb_bw"):
        rate = platform.rate(element, "bb_bw")
        if policy_of(platform, element, "bb_sharing_policy", "SHARED") != "FATPIPE":
            platform.backplanes[centre] = rate
    platform.delays_us[centre] = platform.delay_us(element, "bb_lat")
    platform.links += [
        replace(pattern, below=host, above=centre) for host in platform.hosts_of(element)
    ]


def _tree_numbers(platform: Platform, element: Element) -> list[list[int]]:
    """Children, parents and parallel links by level, for a fat tree `2;4,4;1,2;1,2`."""
    text = platform.text(element, "topo_parameters")
    parts = text.split(";")
    rows = [part.split(",") for part in parts[1:]]
    numbers = [[int(word) if re.fullmatch(r"\s*[0-9]{1,5}\s*", word) else 0 for word in row]
               for row in rows]  # fmt: skip
    levels = len(numbers[0]) if numbers else 0
    if (
        len(numbers) != 3
        or parts[0].strip() != str(levels)
        or levels > LEVELS_MAX
        or any(len(row) != levels or min(row) < 1 for row in numbers)
    ):
        raise platform.wrong(
            element,
            f"topo_parameters={text!r:.60} is not valid; expected levels, and for each of them "
            f"children, parents and parallel links, as in 2;4,4;1,2;1,2, at most {LEVELS_MAX} "
            "levels",
        )
    return numbers


def _digits(position: int, bases: list[int]) -> list[int]:
    found = []
    for base in bases:
        position, digit = divmod(position, base)
        found.append(digit)
    return found


def _place(digits: list[int], bases: list[int]) -> int:
    place = 0
    for digit, base in zip(reversed(digits), reversed(bases), strict=True):
        place = place * base + digit
    return place


def _add_fat_tree(platform: Platform, element: Element) -> None:
    """Two nodes of neighbouring levels are joined where their labels differ in one digit at most:
    that of the upper one's level."""
    children, parents, parallel = _tree_numbers(platform, element)
    levels = len(children)
    bases = [[*parents[:level], *children[level:]] for level in range(levels + 1)]
    sizes = [prod(row) for row in bases]
    cables = sum(sizes[i] * parents[i] * parallel[i] for i in range(levels))
    if sum(sizes[1:]) > _SWITCHES_MAX or cables > LINKS_MAX or sizes[0] > HOSTS_MAX:
        raise platform.wrong(
            element,
            f"has {sum(sizes[1:])} switches and {cables} links; expected at most {_SWITCHES_MAX} "
            f"and {LINKS_MAX}",
        )
    pattern = link_pattern(platform, element)
    name = platform.text(element, "id")
    below = platform.hosts_of(element)
    if len(below) != sizes[0]:
        raise platform.wrong(
            element,
            f"has {len(below)} hosts by `radical`, and {sizes[0]} by `topo_parameters`; expected "
            "the same number",
        )
    for level in range(levels):
        above = [
            platform.add_switch(element, f"{name}-{level + 1}-{number}")
            for number in range(sizes[level + 1])
        ]
        for position, node in enumerate(below):
            digits = _digits(position, bases[level])
            for parent in range(parents[level]):
                digits[level] = parent
                upper = above[_place(digits, bases[level + 1])]
                platform.links += [replace(pattern, below=node, above=upper)] * parallel[level]
        below = above


def add_cluster(platform: Platform, element: Element) -> None:
    topology = element.attributes.get("topology") or "FLAT"
    if topology == "FLAT":
        _add_flat(platform, element)
    elif topology == "FAT_TREE":
        _add_fat_tree(platform, element)
    else:
        raise platform.wrong(
            element,
            f"has the topology {topology!r:.40}; expected FLAT or FAT_TREE: for others name a "
            "generated network, torus:4x4x4 or dragonfly:2x4x2",
        )
