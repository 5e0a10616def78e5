"""SimGrid's platforms: hosts, routers, links, routes and clusters, in XML.

::

    <platform version="4.1">
      <zone id="world" routing="Full">
        <cluster id="a" prefix="a-" radical="0-15" suffix="" speed="1Gf" bw="125MBps" lat="50us"/>
        <host id="h" speed="1Gf"/>
        <link id="l" bandwidth="1.25GBps" latency="10us" sharing_policy="SPLITDUPLEX"/>
        <zoneRoute src="a" dst="b" gw_src="a-a_router" gw_dst="r"><link_ctn id="l"/></zoneRoute>
      </zone>
    </platform>

A link of SimGrid is a rate that the routes on it share, wherever they run, and has no ends. Where
its ends are follows from the routes: what comes before it in a route is at one end, and what comes
after it at the other. A link for which that leaves more than two ends is a medium that all share:
a switch whose backplane carries its rate. So is a link that joins two hosts. Hosts that pass on
what others send get a switch beside them.

Half of what a switch, backbone or medium delays is added to each of its ports. A shared link
carries its rate in both directions together, a split one (SPLITDUPLEX) each way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from allemande.errors import BadInput
from allemande.formats.imported_cluster import (
    HOSTS_MAX,
    LINKS_MAX,
    OPTIONS,
    RATE_MAX,
    FoundLink,
    Network,
    Source,
    apart,
    build,
    keep_one_part,
    nothing_there,
    parse_source,
    some,
    turn_upwards,
)
from allemande.formats.simgrid_routes import Cable, Layout, Route, lay_out
from allemande.formats.xml_text import Element, read_xml
from allemande.topology import Cluster

_EXPECTED = "a platform of SimGrid (version 4)"
_HOSTS = "hosts with links, as in <cluster> or <host>, <link> and <route>"
_KEYS = frozenset(OPTIONS)
LEVELS_MAX = 8
_SWITCHES_MAX = 65_536
_ZONES = {"zone", "AS"}
_ROUTES = {"route"}
_ZONE_ROUTES = {"zoneRoute", "ASroute"}
# What says nothing of the network.
_SILENT = {
    "config", "prop", "trace", "trace_connect", "disk", "storage", "storage_type", "mount",
    "content", "actor", "process", "argument", "random", "gpu", "model_prop", "link_ctn",
}  # fmt: skip
_WITHOUT_LINKS = {"vivaldi", "wifi"}
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
    r"\s*([0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(e[+-]?[0-9]{1,2})?\s*(\w*)\s*"
)
_RADICAL = re.compile(r"\s*([0-9]{1,9})\s*(?:-\s*([0-9]{1,9})\s*)?")


@dataclass
class _Platform:
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

    def add_host(self, element: Element, name: str) -> str:
        if name in self.hosts or name in self.switches:
            raise self.wrong(element, f"{name!r:.80} stands twice; expected each name once")
        self.hosts[name] = element.line
        return name

    def add_switch(self, element: Element, name: str) -> str:
        if name in self.hosts or name in self.switches:
            raise self.wrong(element, f"{name!r:.80} stands twice; expected each name once")
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


def _policy(platform: _Platform, element: Element, name: str, default: str) -> str:
    found = element.attributes.get(name) or default
    policy = "SPLITDUPLEX" if found == "FULLDUPLEX" else found
    if policy not in ("SHARED", "SPLITDUPLEX", "FATPIPE"):
        raise platform.wrong(
            element, f"has {name}={found!r:.40}; expected SHARED, SPLITDUPLEX or FATPIPE"
        )
    return policy


def _links(platform: _Platform, element: Element) -> FoundLink:
    """What the links of a cluster are like: a pattern for all of them."""
    rate = platform.rate(element, "bw")
    cap = rate if _policy(platform, element, "sharing_policy", "SPLITDUPLEX") == "SHARED" else None
    if element.attributes.get("limiter_link"):
        limit = platform.rate(element, "limiter_link")
        rate, cap = min(rate, limit), min(limit, cap or limit)
    delay = platform.delay_us(element, "lat")
    return FoundLink("", "", rate, cap_mbit_s=cap, latency_us=delay, line=element.line)


# ---- clusters ------------------------------------------------------------------------------------


def _add_flat(platform: _Platform, element: Element) -> None:
    pattern = _links(platform, element)
    name = platform.text(element, "id")
    begin, end = platform.text(element, "prefix"), element.attributes.get("suffix", "")
    router = element.attributes.get("router_id") or f"{begin}{name}_router{end}"
    centre = platform.add_switch(element, router)
    if element.attributes.get("bb_bw"):
        rate = platform.rate(element, "bb_bw")
        if _policy(platform, element, "bb_sharing_policy", "SHARED") != "FATPIPE":
            platform.backplanes[centre] = rate
    platform.delays_us[centre] = platform.delay_us(element, "bb_lat")
    platform.links += [
        replace(pattern, below=host, above=centre) for host in platform.hosts_of(element)
    ]


def _tree_numbers(platform: _Platform, element: Element) -> list[list[int]]:
    """Of a fat tree `2;4,4;1,2;1,2`: children, parents and parallel links, each by level."""
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


def _add_fat_tree(platform: _Platform, element: Element) -> None:
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
    pattern = _links(platform, element)
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


def _add_cluster(platform: _Platform, element: Element) -> None:
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


# ---- zones ---------------------------------------------------------------------------------------


def _cable(platform: _Platform, element: Element) -> Cable:
    policy = element.attributes.get("sharing_policy") or "SHARED"
    if policy == "WIFI":
        return Cable(0.0, 0.0, policy, element.line)
    return Cable(
        platform.rate(element, "bandwidth"),
        platform.delay_us(element, "latency"),
        _policy(platform, element, "sharing_policy", "SHARED"),
        element.line,
    )


def _cable_called(platform: _Platform, element: Element, name: str) -> str:
    """The id of a link; halves of split ones are called so with _UP or _DOWN."""
    for known in (name, name.removesuffix("_UP"), name.removesuffix("_DOWN")):
        cable = platform.cables.get(known)
        if cable is not None and (known == name or cable.policy == "SPLITDUPLEX"):
            if cable.policy == "WIFI":
                raise platform.wrong(
                    element, f"uses {name!r:.60}, which is Wi-Fi; expected links of one rate"
                )
            return known
    raise platform.wrong(element, f"names the link {name!r:.60}, which is not described above it")


def _add_route(platform: _Platform, element: Element, ends: tuple[str, str]) -> None:
    begin, end = (platform.text(element, name) for name in ends)
    for name in (begin, end):
        if name not in platform.hosts and name not in platform.switches:
            raise platform.wrong(
                element, f"leads to {name!r:.60}, which is neither host nor router described above"
            )
    cables = [
        _cable_called(platform, child, platform.text(child, "id"))
        for child in element.children
        if child.tag == "link_ctn"
    ]
    back = (element.attributes.get("symmetrical") or "YES").upper() != "NO"
    if begin != end and cables:
        platform.routes.append(Route(begin, end, tuple(cables), back, element.line))


def _add_star(platform: _Platform, zone: Element) -> None:
    """What is in a zone with routing="Cluster": hosts with their links around a router."""
    routers = [child for child in zone.children if child.tag == "router"]
    if routers:
        centre = platform.text(routers[0], "id")
    else:
        centre = platform.add_switch(zone, platform.text(zone, "id"))
    for child in zone.children:
        if child.tag == "backbone":
            platform.backplanes[centre] = platform.rate(child, "bandwidth")
            platform.delays_us[centre] = platform.delay_us(child, "latency")
        elif child.tag == "cabinet":
            pattern = _links(platform, child)
            platform.links += [
                replace(pattern, below=host, above=centre) for host in platform.hosts_of(child)
            ]
        elif child.tag == "host_link":
            host = platform.text(child, "id")
            if host not in platform.hosts:
                raise platform.wrong(child, f"names the host {host!r:.60}, which is not described")
            up, down = (
                _cable_called(platform, child, platform.text(child, way)) for way in ("up", "down")
            )
            platform.used |= {up, down}
            platform.links.append(_host_link(platform, child, host, centre, up, down))


def _host_link(
    platform: _Platform, element: Element, host: str, centre: str, up: str, down: str
) -> FoundLink:
    upper, lower = platform.cables[up], platform.cables[down]
    return FoundLink(
        host,
        centre,
        upper.rate_mbit_s,
        rate_down_mbit_s=None if up == down else lower.rate_mbit_s,
        cap_mbit_s=upper.rate_mbit_s if up == down and upper.policy == "SHARED" else None,
        latency_us=(upper.delay_us + lower.delay_us) / 2,
        line=element.line,
    )


def _add_zone(platform: _Platform, zone: Element) -> None:
    """Everything in a zone, and in the zones inside."""
    routing = (zone.attributes.get("routing") or "").lower()
    for child in zone.children:
        match child.tag:
            case tag if tag in _ZONES:
                _add_zone(platform, child)
            case "host":
                platform.add_host(child, platform.text(child, "id"))
            case "router":
                platform.add_switch(child, platform.text(child, "id"))
            case "link":
                name = platform.text(child, "id")
                if name in platform.cables:
                    raise platform.wrong(child, f"{name!r:.60} stands twice; expected each once")
                platform.cables[name] = _cable(platform, child)
            case "cluster":
                _add_cluster(platform, child)
            case "route":
                _add_route(platform, child, ("src", "dst"))
            case tag if tag in _ZONE_ROUTES:
                if child.attributes.get("src") != child.attributes.get("dst"):
                    _add_route(platform, child, ("gw_src", "gw_dst"))
            case "backbone" | "cabinet" | "host_link" if routing == "cluster":
                pass  # see _add_star
            case "include":
                raise platform.wrong(
                    child, "names another file; put what is in it into the platform"
                )
            case tag if tag not in _SILENT:
                platform.note_once(f"{platform.source.at(child.line)}: <{tag:.40}> is passed over")
    if routing == "cluster":
        _add_star(platform, zone)
    elif routing in _WITHOUT_LINKS:
        platform.notes.append(
            f"{platform.source.at(zone.line)}: routing {zone.attributes['routing']} knows no links"
        )


# ---- the network ---------------------------------------------------------------------------------


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:50] or "switch"


def _switch_names(platform: _Platform, switches: list[str], notes: list[str]) -> dict[str, str]:
    """Names that a cluster file can have, each once."""
    plain: dict[str, str] = {}
    used: set[str] = set()
    for name in switches:
        new, number = _plain(name), 1
        while new in used:
            number += 1
            new = f"{_plain(name)}-{number}"
        used.add(new)
        plain[name] = new
    others = apart(plain.values(), platform.hosts, notes)
    return {name: others[new] for name, new in plain.items()}


def _with_delays(link: FoundLink, delays_us: dict[str, float]) -> FoundLink:
    """Half of what the switches at its ends delay is the link's."""
    more = (delays_us.get(link.below, 0.0) + delays_us.get(link.above, 0.0)) / 2
    return replace(link, latency_us=(link.latency_us or 0.0) + more)


def _rate_keys(medium: Cable, hosts: int) -> tuple[float, float | None]:
    """The rate each way, and that of both together."""
    if medium.policy == "FATPIPE":
        return min(medium.rate_mbit_s * max(hosts, 1), RATE_MAX), None
    return medium.rate_mbit_s, medium.rate_mbit_s if medium.policy == "SHARED" else None


def _add_layout(platform: _Platform, layout: Layout) -> None:
    """What the routes say of where links are."""
    for name, medium in layout.media.items():
        platform.switches[name] = medium.line
        platform.delays_us[name] = medium.delay_us
        if medium.policy != "FATPIPE":
            # Split media carry their rate each way: what comes in goes out once.
            platform.backplanes[name] = medium.rate_mbit_s * (2 - (medium.policy == "SHARED"))
    platform.switches |= layout.junctions
    for joint in layout.joints:
        rate, cap = _rate_keys(joint.cable, len(platform.hosts))
        down = joint.back.rate_mbit_s if joint.back is not None else None
        platform.links.append(
            FoundLink(
                joint.begin,
                joint.end,
                rate,
                rate_down_mbit_s=down,
                cap_mbit_s=cap if joint.both_ways and joint.back is None else None,
                latency_us=joint.cable.delay_us,
                one_way=not joint.both_ways and down is None,
                line=joint.cable.line,
            )
        )
    if any(cable.policy == "FATPIPE" for cable in (*layout.media.values(), *layout.cables())):
        platform.notes.append(
            "FATPIPE links limit each flow alone: taken to be wide enough for all hosts"
        )
    if layout.loops:
        platform.notes.append(f"links that join nothing are left out: {some(layout.loops)}")


def _network(platform: _Platform) -> Network:
    layout = lay_out(platform.routes, platform.cables, set(platform.hosts), platform.source.at)
    _add_layout(platform, layout)
    network = Network(notes=platform.notes)
    joined = {end for link in platform.links for end in (link.below, link.above)}
    switches = [name for name in platform.switches if name in joined]
    names = _switch_names(platform, switches, network.notes)
    network.hosts = list(platform.hosts)
    network.switches = list(names.values())
    network.lines = dict(platform.hosts) | {
        new: platform.switches[name] for name, new in names.items()
    }
    network.backplanes = {
        names[name]: rate for name, rate in platform.backplanes.items() if name in names
    }
    network.links = [
        replace(
            link,
            below=names.get(link.below, link.below),
            above=names.get(link.above, link.above),
        )
        for link in (_with_delays(link, platform.delays_us) for link in platform.links)
    ]
    unused = [name for name in platform.cables if name not in layout.used | platform.used]
    if unused:
        network.notes.append(f"links on no route are left out: {some(unused)}")
    return network


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`simgrid:FILE[,key=value...]`: the cluster, and what the reader should know of it."""
    source = parse_source(text, _KEYS)
    root = read_xml(source.read(_EXPECTED), source.name, _EXPECTED)
    if root.tag != "platform":
        raise BadInput(f"{source.at(root.line)}: <{root.tag:.40}> begins; expected {_EXPECTED}")
    platform = _Platform(source)
    _add_zone(platform, root)
    network = _network(platform)
    if not network.hosts or not network.links:
        raise nothing_there(network, source, _HOSTS)
    keep_one_part(network, source)
    turn_upwards(network)
    return build(network, source), network.notes
