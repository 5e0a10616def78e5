"""Clusters that other programs describe, put together as a cluster file.

What is wrong is told with the line of the user's file, never with one of the text that is made
here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from itertools import groupby

from allemande.errors import BadInput
from allemande.formats.import_source import RATE_MAX, Source
from allemande.formats.imported_network import FoundLink, Network, besides
from allemande.topology import Cluster, compress_hostlist, parse_cluster

HOSTS_MAX = 65_536
LINKS_MAX = 262_144
LINKS_OF_HOST_MAX = 8
CABLES_APART_MAX = 1000  # what limits are made of grows with the square of the longest way
LATENCY_MAX_US = 1e9
QUEUE_MAX = 10_000_000


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
            f"links and 40 for those above{besides(network)}"
        )

    def rate(link: FoundLink, levels: Mapping[str, int]) -> float:
        if rates is None:
            assert link.rate_mbit_s is not None
            return link.rate_mbit_s
        return rates[min(levels[link.below], len(rates) - 1)]

    return rate


def _wrong_link(link: FoundLink, links: int) -> str | None:
    """What a cluster file cannot have; `links`: how many its host has so far."""
    if links > LINKS_OF_HOST_MAX:
        return (
            f"host {link.below!r} has more than {LINKS_OF_HOST_MAX} links; expected at most "
            f"{LINKS_OF_HOST_MAX}"
        )
    for rate in (link.rate_mbit_s, link.rate_down_mbit_s, link.cap_mbit_s):
        if rate is not None and not 0 < rate <= RATE_MAX:
            return (
                f"a rate of {rate:g} Mbit/s is out of range; expected a number above 0, at most "
                f"{RATE_MAX:.0f}"
            )
    if link.latency_us is not None and not 0 <= link.latency_us <= LATENCY_MAX_US:
        return (
            f"a latency of {link.latency_us:g} \N{MICRO SIGN}s is out of range; expected 0 to "
            f"{LATENCY_MAX_US:.0f}"
        )
    return None


def _check_links(network: Network, source: Source) -> dict[str, int]:
    """How many links each host has."""
    if len(network.hosts) > HOSTS_MAX or len(network.links) > LINKS_MAX:
        raise BadInput(
            f"{source.name}: {len(network.hosts)} hosts and {len(network.links)} links; expected "
            f"at most {HOSTS_MAX} and {LINKS_MAX}"
        )
    count = dict.fromkeys(network.hosts, 0)
    for link in network.links:
        if link.below == link.above or link.above in count:
            raise BadInput(
                f"{source.at(link.line)}: {link.below!r} and {link.above!r} are joined; expected "
                "hosts on switches, and switches on other switches"
            )
        if link.below in count:
            count[link.below] += 1
        wrong = _wrong_link(link, count.get(link.below, 0))
        if wrong is not None:
            raise BadInput(f"{source.at(link.line)}: {wrong}")
    return count


def _check_depth(network: Network, source: Source) -> None:
    """No switch is far from the first."""
    joined = network.neighbours()
    distance = {network.switches[0]: 0} if network.switches else {}
    waiting = list(distance)
    for name in waiting:
        if distance[name] > CABLES_APART_MAX:
            raise BadInput(
                f"{source.at(network.lines.get(name))}: {name!r:.80} is more than "
                f"{CABLES_APART_MAX} cables from {waiting[0]!r:.80}; expected a network less deep"
            )
        for other in joined[name]:
            if other not in distance:
                distance[other] = distance[name] + 1
                waiting.append(other)


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
    """The cluster; BadInput where rates lack, or a host has no place."""
    links_of = _check_links(network, source)
    _check_depth(network, source)
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
