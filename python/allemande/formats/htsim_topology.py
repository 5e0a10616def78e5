"""htsim's fat trees: the .topo files of its `-topo` option.

::

    Nodes 32
    Tiers 2
    Podsize 32

    Tier 0
    Downlink_speed_Gbps 100
    Radix_Down 8
    Radix_Up 2
    Downlink_Latency_ns 1000
    Switch_Latency_ns 0
    Oversubscribed 4

    Tier 1
    Downlink_speed_Gbps 100
    Radix_Down 4
    Downlink_Latency_ns 1000

Tier 0 are the switches of hosts, tier 1 those above, tier 2 the core. Speed, latency and Bundle of
a tier are those of its links downwards; Bundle is how many lead to the same switch. Every switch of
tier 0 is joined to all of tier 1 in its pod. Where a pod has A switches of tier 1, the n-th is
joined to the core switches n, n + A, n + 2A and so on. Case does not matter in keys.

Half of what a switch delays is added to each of its ports. Queue_Up and Queue_Down are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from allemande.errors import BadInput
from allemande.formats.import_source import GO_ON, OPTIONS, Source, parse_source
from allemande.formats.imported_cluster import HOSTS_MAX, LINKS_MAX, QUEUE_MAX, build
from allemande.formats.imported_network import FoundLink, Network, keep_one_part, some
from allemande.text_files import MIB
from allemande.topology import Cluster

_EXPECTED = "a .topo file of htsim"
_KEYS = frozenset(OPTIONS)
TOPOLOGY_BYTES_MAX = MIB
_HEAD = ("nodes", "tiers", "podsize")
_TIER = (
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
    "bundle",
    "queue_down",
    "queue_up",
)
_DEFAULTS: Mapping[str, int] = {"switch_latency_ns": 0, "oversubscribed": 1, "bundle": 1}
_NAMES = ("tor", "agg", "core")
_NUMBER_MAX = 10**9
DEFAULT_MTU_BYTES = 1500


@dataclass
class _Values:
    """The numbers of the head, or of a tier, with the line of each."""

    what: str
    line: int
    numbers: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def at(self, key: str) -> int:
        return self.lines.get(key, self.line)


class _Topology:
    """What a file says, checked one by one."""

    def __init__(self, text: str, source: Source) -> None:
        self._source = source
        self.head = _Values("head", 1)
        self.tiers: dict[int, _Values] = {}
        self.notes: list[str] = []
        self._odd: list[tuple[int, str]] = []
        self._read(text)
        if self._odd:
            odd = some(f"line {number} ({word})" for number, word in self._odd)
            self.notes.append(f"not known, passed over: {odd}")

    def wrong(self, line: int, text: str) -> BadInput:
        return BadInput(f"{self._source.at(line)}: {text}")

    def _read(self, text: str) -> None:
        here = self.head
        for number, line in enumerate(text.split("\n"), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            key = words[0].lower()
            known = _HEAD if here is self.head else _TIER
            if key == "tier":
                here = self._begin_tier(number, words)
            elif key not in known:
                where = "above the first Tier" if here is self.head else "in a Tier"
                if key in (*_HEAD, *_TIER):
                    raise self.wrong(number, f"{words[0]} stands {where}; expected it elsewhere")
                self._odd.append((number, words[0]))
            elif key in here.numbers:
                raise self.wrong(
                    number, f"{words[0]} stands in line {here.lines[key]}, too; expected it once: "
                    f"{GO_ON}"
                )  # fmt: skip
            else:
                here.numbers[key] = self._number(number, words)
                here.lines[key] = number

    def _begin_tier(self, line: int, words: list[str]) -> _Values:
        tier = self._number(line, words)
        if tier >= len(_NAMES) or tier in self.tiers:
            raise self.wrong(line, f"Tier {tier} is not valid; expected 0, 1 and 2, each once")
        self.tiers[tier] = _Values(f"Tier {tier}", line)
        return self.tiers[tier]

    def _number(self, line: int, words: list[str]) -> int:
        if len(words) != 2 or not re.fullmatch(r"[0-9]{1,10}", words[1]):
            raise self.wrong(
                line, f"{' '.join(words)!r:.60} is not valid; expected {words[0]!r:.30} and a "
                "whole number"
            )  # fmt: skip
        value = int(words[1])
        if value > _NUMBER_MAX:
            raise self.wrong(line, f"{value} is out of range; expected at most {_NUMBER_MAX}")
        return value

    def need(self, values: _Values, key: str, low: int = 1) -> int:
        found = values.numbers.get(key, _DEFAULTS.get(key))
        if found is None:
            raise self.wrong(values.line, f"{values.what} has no {key}; expected one")
        if found < low:
            raise self.wrong(values.at(key), f"{key} {found} is out of range; expected {low} on")
        return found


@dataclass(frozen=True)
class _Shape:
    """How many there are of what."""

    pods: int
    below: tuple[int, ...]  # of each tier: links of a switch downwards
    in_pod: tuple[int, ...]  # of tiers 0 and 1: switches of a pod
    cores: int


def _divide(topology: _Topology, line: int, number: int, by: int, what: str) -> int:
    if number % by:
        raise topology.wrong(line, f"{number} is no multiple of {by}; expected {what}")
    return number // by


def _shape(topology: _Topology) -> _Shape:
    head, tiers = topology.head, topology.tiers
    nodes, levels = topology.need(head, "nodes"), topology.need(head, "tiers")
    if levels not in (2, 3) or nodes > HOSTS_MAX:
        raise topology.wrong(
            head.at("tiers" if levels not in (2, 3) else "nodes"),
            f"{levels} tiers and {nodes} nodes; expected 2 or 3, and at most {HOSTS_MAX}",
        )
    for tier in range(levels):
        if tier not in tiers:
            raise topology.wrong(head.at("tiers"), f"Tier {tier} is not described; expected it")
    podsize = topology.need(head, "podsize")
    pods = _divide(topology, head.at("podsize"), nodes, podsize, "pods of one size")
    down = tuple(topology.need(tiers[tier], "radix_down") for tier in range(levels))
    at = tiers[0].at("radix_down")
    tors = _divide(topology, at, podsize, down[0], "as many hosts on each switch")
    if levels == 2 and pods != 1:
        raise topology.wrong(
            head.at("podsize"), f"{pods} pods in two tiers; expected a Podsize of {nodes}"
        )
    aggs = _above(topology, 0, tors)
    cores = 0
    if levels == 3:
        cores = _above(topology, 1, pods) * aggs
    shape = _Shape(pods, down, (tors, aggs), cores)
    links = nodes + pods * tors * topology.need(tiers[0], "radix_up")
    links += pods * aggs * topology.need(tiers[1], "radix_up") if levels == 3 else 0
    if links > LINKS_MAX:
        raise topology.wrong(head.at("nodes"), f"{links} links; expected at most {LINKS_MAX}")
    return shape


def _above(topology: _Topology, tier: int, peers: int) -> int:
    """How many switches of the next tier one of this tier leads to, as all its `peers` do."""
    here, there = topology.tiers[tier], topology.tiers[tier + 1]
    up, bundle = topology.need(here, "radix_up"), topology.need(there, "bundle")
    found = _divide(topology, here.at("radix_up"), up, bundle, "whole bundles of links upwards")
    down = topology.need(there, "radix_down")
    if down != peers * bundle:
        raise topology.wrong(
            there.at("radix_down"),
            f"a switch of tier {tier + 1} has {down} links downwards, and {peers} switches with "
            f"{bundle} links each lead to it; expected Radix_Down {peers * bundle}",
        )
    speeds = [topology.need(each, "downlink_speed_gbps") for each in (here, there)]
    over = topology.need(here, "oversubscribed")
    in_, out = topology.need(here, "radix_down") * speeds[0], up * speeds[1]
    if in_ != out * over:
        topology.notes.append(
            f"{topology.tiers[tier].what}: Oversubscribed {over} does not fit {in_} Gbit/s below "
            f"and {out} above: the links are taken as their numbers say"
        )
    return found


def _queue_packets(values: _Values | None, key: str, mtu: int) -> int | None:
    found = values.numbers.get(key) if values is not None else None
    return None if not found else min(max(found // mtu, 1), QUEUE_MAX)


def _links_of(topology: _Topology, tier: int, mtu: int) -> FoundLink:
    """What the links below a tier are like: a pattern for all of them."""
    values = topology.tiers[tier]
    delay = float(topology.need(values, "downlink_latency_ns", 0))
    delay += topology.need(values, "switch_latency_ns", 0) / 2
    below = topology.tiers.get(tier - 1)
    if below is not None:
        delay += topology.need(below, "switch_latency_ns", 0) / 2
    return FoundLink(
        "",
        "",
        topology.need(values, "downlink_speed_gbps") * 1000.0,
        latency_us=delay / 1000,
        queue_down_packets=_queue_packets(values, "queue_down", mtu),
        queue_up_packets=_queue_packets(below, "queue_up", mtu),
        line=values.line,
    )


def _network(topology: _Topology, mtu: int) -> Network:
    shape = _shape(topology)
    levels = len(shape.below)
    patterns = [_links_of(topology, tier, mtu) for tier in range(levels)]
    tors, aggs = (shape.pods * number for number in shape.in_pod)
    network = Network(notes=topology.notes)
    network.hosts = [f"h{number}" for number in range(tors * shape.below[0])]
    for tier, number in enumerate((tors, aggs, shape.cores)[:levels]):
        names = [f"{_NAMES[tier]}{each}" for each in range(number)]
        network.switches += names
        network.lines |= dict.fromkeys(names, topology.tiers[tier].line)

    bundles = [
        topology.need(topology.tiers[tier], "bundle") if tier else 1 for tier in range(levels)
    ]

    def join(tier: int, below: str, above: int) -> None:
        link = replace(patterns[tier], below=below, above=f"{_NAMES[tier]}{above}")
        network.links.extend([link] * bundles[tier])

    for number, host in enumerate(network.hosts):
        join(0, host, number // shape.below[0])
    for tor in range(tors):
        pod = tor // shape.in_pod[0]
        for agg in range(shape.in_pod[1]):
            join(1, f"tor{tor}", pod * shape.in_pod[1] + agg)
    for agg in range(aggs) if levels == 3 else ():
        for core in range(agg % shape.in_pod[1], shape.cores, shape.in_pod[1]):
            join(2, f"agg{agg}", core)
    return network


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`htsim:FILE[,key=value...]`: the cluster, and what the reader should know of it."""
    source = parse_source(text, _KEYS)
    topology = _Topology(source.read(_EXPECTED, TOPOLOGY_BYTES_MAX), source)
    mtu = source.number("mtu_bytes", 576, 9216, whole=True)
    network = _network(topology, int(mtu or DEFAULT_MTU_BYTES))
    queues = ("queue_down", "queue_up")
    said = any(key in values.numbers for values in topology.tiers.values() for key in queues)
    if not said and "queue_packets" not in source.options:
        network.notes.append("queues are given on htsim's command line: queue_packets=N says them")
    keep_one_part(network, source)
    return build(network, source), network.notes
