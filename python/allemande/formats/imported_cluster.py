"""Clusters that other programs describe, put together as a cluster file.

What such a description lacks is given behind its name: `slurm:FILE,rate_mbit_s=10000/40000`. Rates
stand from the hosts' links upwards; the last one holds for all levels above.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from allemande.errors import BadInput
from allemande.topology import Cluster, parse_cluster

NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]{0,62}")

# key -> what it says
OPTIONS: Mapping[str, str] = {
    "rate_mbit_s": "rates, from the hosts' links upwards: 10000/40000",
    "latency_us": "the delay of every cable",
    "queue_packets": "the queue of every switch port",
    "mtu_bytes": "the largest IP packet",
}


@dataclass(frozen=True)
class Source:
    """What stands where a cluster is named: `slurm:FILE,key=value`."""

    kind: str
    path: Path
    options: Mapping[str, str]

    def number(self, key: str) -> float | None:
        text = self.options.get(key)
        if text is None:
            return None
        if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", text):
            raise BadInput(f"{self.kind}: {key} {text!r} is not valid; expected a number")
        return float(text)

    def rates(self) -> list[float] | None:
        """Mbit/s by level, from the hosts' links upwards."""
        text = self.options.get("rate_mbit_s")
        if text is None:
            return None
        if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?(/\d{1,9}(\.\d{1,6})?){0,15}", text):
            raise BadInput(
                f"{self.kind}: rate_mbit_s {text!r} is not valid; expected Mbit/s, from the hosts' "
                "links upwards, as in 10000/40000"
            )
        return [float(word) for word in text.split("/")]

    def read_text(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{self.path}: cannot be read: {error}") from None


def parse_source(text: str, keys: Iterable[str]) -> Source:
    """`KIND:FILE,key=value,...`; commas without a key after them belong to the file's name."""
    kind, _, rest = text.partition(":")
    options: dict[str, str] = {}
    while match := re.fullmatch(r"(.+),([a-z_]+)=([^,]*)", rest, re.DOTALL):
        rest = match[1]
        if match[2] not in keys:
            raise BadInput(
                f"{text!r}: {match[2]!r} is no option of {kind}; expected some of: "
                f"{', '.join(sorted(keys))}"
            )
        options[match[2]] = match[3]
    if not rest:
        raise BadInput(f"{text!r} names no file; expected {kind}:FILE")
    return Source(kind, Path(rest), options)


@dataclass(frozen=True)
class FoundLink:
    """`below` is the end nearer to the hosts."""

    below: str
    above: str
    rate_mbit_s: float | None = None  # None: the format has none


@dataclass
class Network:
    """What a description says, in its own names."""

    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[FoundLink] = field(default_factory=list)
    switch_keys: Mapping[str, str] = field(default_factory=dict)  # of every switch
    queue_packets: int | None = None  # of every port of a switch
    notes: list[str] = field(default_factory=list)

    def levels(self) -> dict[str, int]:
        """How far above the hosts each switch is: 1 where hosts hang on."""
        above: dict[str, list[str]] = {}
        for link in self.links:
            above.setdefault(link.below, []).append(link.above)
            above.setdefault(link.above, []).append(link.below)
        level = dict.fromkeys(self.hosts, 0)
        found = list(self.hosts)
        for name in found:
            for other in above.get(name, ()):
                if other not in level:
                    level[other] = level[name] + 1
                    found.append(other)
        return level


def _check(network: Network, source: Source) -> dict[str, int]:
    if not network.hosts:
        raise BadInput(f"{source.path}: no host is in it; expected nodes below switches")
    for name in (*network.hosts, *network.switches):
        if not NAME.fullmatch(name):
            raise BadInput(
                f"{source.path}: {name!r} cannot be a name in a cluster file; expected 1 to 63 "
                "letters, digits, dots, dashes and underscores"
            )
    levels = network.levels()
    seen: set[str] = set()
    waiting = [network.hosts[0]]
    joined: dict[str, set[str]] = {}
    for link in network.links:
        joined.setdefault(link.below, set()).add(link.above)
        joined.setdefault(link.above, set()).add(link.below)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += joined.get(name, ())
    for name in (*network.hosts, *network.switches):
        if name not in seen:
            raise BadInput(
                f"{source.path}: nothing joins {network.hosts[0]!r} and {name!r}; expected links "
                "or switches above that join all, as traffic between any two hosts needs them"
            )
    return levels


def _rate_of(network: Network, source: Source) -> Callable[[FoundLink, Mapping[str, int]], float]:
    rates = source.rates()
    if rates is None and any(link.rate_mbit_s is None for link in network.links):
        raise BadInput(
            f"{source.kind}:{source.path} has no rates; say them: "
            f"{source.kind}:{source.path},rate_mbit_s=10000/40000 is 10 Gbit/s for the hosts' "
            "links and 40 for those above"
        )

    def rate(link: FoundLink, levels: Mapping[str, int]) -> float:
        if rates is None:
            assert link.rate_mbit_s is not None
            return link.rate_mbit_s
        return rates[min(levels[link.below], len(rates) - 1)]

    return rate


def build(network: Network, source: Source) -> Cluster:
    """The cluster; BadInput where rates lack, names cannot be, or parts are not joined."""
    levels = _check(network, source)
    rate = _rate_of(network, source)
    queue = source.number("queue_packets")
    if queue is not None and not queue.is_integer():
        raise BadInput(f"queue_packets={queue:g} is no whole number; expected packets, such as 45")
    packets = network.queue_packets if queue is None else int(queue)
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", source.path.stem).lstrip("-")[:63] or source.kind
    lines = ["format = 1", f"name = {json.dumps(name)}"]
    lines.append(f"description = {json.dumps(f'read from {source.kind}:{source.path.name}')}")
    mtu = source.number("mtu_bytes")
    if mtu is not None:
        lines += ["[framing]", f"mtu_bytes = {int(mtu)}"]
    for switch in network.switches:
        lines += ["[[switch]]", f'name = "{switch}"']
        lines += [f'{key} = "{value}"' for key, value in network.switch_keys.items()]
    for host in network.hosts:
        lines += ["[[host]]", f'name = "{host}"']
    for link in network.links:
        lines += ["[[link]]", f'from = "{link.below}"', f'to = "{link.above}"']
        lines.append(f"rate_mbit_s = {rate(link, levels):g}")
        latency = source.number("latency_us")
        if latency is not None:
            lines.append(f"latency_us = {latency:g}")
        if packets is not None:
            lines.append(f"queue_down_packets = {packets}")
            if levels[link.below] > 0:
                lines.append(f"queue_up_packets = {packets}")
    return parse_cluster("\n".join([*lines, ""]), f"{source.kind}:{source.path}")
