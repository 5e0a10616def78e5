"""The network as found, as a cluster file.

Where figures of one kind differ by less than their measurement can tell, all get the median: links
that are alike are written as one. What is not known is left out, and has the format's default; but
queues that are not known count as short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from allemande.model.profile import MEASURED, NOT_TRIED, UNDETERMINED
from allemande.probe.network_findings import ACROSS, LEAF, Findings
from allemande.probe.overload import PortFinding
from allemande.probe.passing import passing_s
from allemande.topology import compress_hostlist

RATE_ALIKE = 0.02
BUFFER_ALIKE = 0.1
MEGA = 1e6
LINK_HEADER_BYTES = 14  # of cluster files that say nothing else
# Queues of ports that nobody could fill, by architecture: the shallowest of 000, less where ports
# share a buffer (docs/adr/0047). The format's default would be 1000, and a window of that size
# overflows most switches.
QUEUE_UNKNOWN = 43
QUEUE_UNKNOWN_OF = {"input": 10, "shared": 21}
LATENCY_SHARE_MIN = 0.05  # of what a full packet takes by the links' rates; less is not told apart
ONE_SWITCH = "switch0"
CORE = "core"


@dataclass(frozen=True)
class _Link:
    up_mbit_s: float
    down_mbit_s: float
    queue_up: int | None
    queue_down: int | None
    to: str
    latency_us: float = 0


def _pooled(values: Sequence[float | None], alike: float) -> list[float | None]:
    """The median for those near it, others as they are."""
    known = [value for value in values if value is not None]
    if not known:
        return list(values)
    middle = float(np.median(known))
    return [
        middle if value is not None and abs(value - middle) <= alike * middle else value
        for value in values
    ]


def _rates(findings: Sequence[PortFinding]) -> list[float | None]:
    return [None if one.rate_bit_s is None else one.rate_bit_s.value for one in findings]


def _buffers(findings: Sequence[PortFinding]) -> list[float | None]:
    return [
        one.buffer_packets.value if one.state == MEASURED and one.buffer_packets else None
        for one in findings
    ]


def _cautious(queue: float | None, found: Findings, state: str | None) -> int | None:
    """What stands in the file of a port: where its queue was not found, or where unknown leaves may
    hide a port that holds less, at most what is safe. A window is sized from it."""
    known = None if queue is None else max(1, round(queue))
    safe = QUEUE_UNKNOWN_OF.get(found.answers.get("leaf_architecture", ""), QUEUE_UNKNOWN)
    if found.groups.leaves is None:
        return min(known or safe, safe)
    return safe if known is None and state == NOT_TRIED else known


def _mbit(bit_s: float) -> float:
    """Four digits: no measurement is better."""
    return float(f"{bit_s / MEGA:.4g}")


def leaf_name(number: int) -> str:
    """The name of the leaf with this number."""
    return f"leaf{number}"


def _host_links(found: Findings, leaf_of: Callable[[int], str]) -> list[_Link]:
    ranks = len(found.hosts)
    up = _pooled([one.value or None for one in found.up], RATE_ALIKE)
    down = _pooled(_rates(found.host_ports) or [None] * ranks, RATE_ALIKE)
    queue = _pooled(_buffers(found.host_ports) or [None] * ranks, BUFFER_ALIKE)
    links = []
    for rank in range(ranks):
        sends = up[rank] or down[rank]
        takes = down[rank] or sends
        if sends is None or takes is None:
            continue
        # Rates that differ by less than can be told are one rate.
        if abs(sends - takes) <= RATE_ALIKE * sends:
            takes = sends
        state = found.host_ports[rank].state if found.host_ports else None
        links.append(
            _Link(
                _mbit(sends),
                _mbit(takes),
                None,
                _cautious(queue[rank], found, state),
                leaf_of(rank),
            )
        )
    return links


def _uplinks(found: Findings, leaves: Sequence[Sequence[int]]) -> list[_Link]:
    up = _pooled(_rates(found.uplinks), RATE_ALIKE)
    down = _pooled(_rates(found.downlinks), RATE_ALIKE)
    held_up = _pooled(_buffers(found.uplinks), BUFFER_ALIKE)
    held_down = _pooled(_buffers(found.downlinks), BUFFER_ALIKE)
    links = []
    for k in range(len(found.uplinks)):
        ways = [(up[k], found.uplinks[k].lower_bound), (down[k], found.downlinks[k].lower_bound)]
        sure = [rate for rate, bound in ways if rate is not None and not bound]
        # What was only bounded from below is no slower than the other way; where both were, what
        # all hosts of the leaf send is all that anybody can say.
        least = max([rate for rate, _ in ways if rate is not None], default=0.0)
        if not sure:
            least = max(least, sum(found.up[rank].value for rank in leaves[k]))
        rates = [least if bound or rate is None else rate for rate, bound in ways]
        if abs(rates[0] - rates[1]) <= RATE_ALIKE * rates[0]:
            rates[1] = rates[0]
        queues = [
            _cautious(held_up[k], found, found.uplinks[k].state),
            _cautious(held_down[k], found, found.downlinks[k].state),
        ]
        links.append(_Link(_mbit(rates[0]), _mbit(rates[1]), queues[0], queues[1], CORE))
    return links


def _passing_s(found: Findings, frame_bits: float, rates_mbit_s: Sequence[float]) -> float:
    """What a full packet takes from host to host over these links, by their rates alone."""
    switches = ["leaf", CORE, "leaf"] if len(rates_mbit_s) > 2 else ["leaf"]
    kinds = [found.answers.get(f"{one}_switching", UNDETERMINED) for one in switches]
    return passing_s(frame_bits, [rate * MEGA for rate in rates_mbit_s], kinds)


def _with_latencies(
    found: Findings, hosts: Sequence[_Link], uplinks: Sequence[_Link]
) -> tuple[list[_Link], list[_Link]]:
    """Links with what packets take beyond their rates: L (002), shared by the links of the way.

    L is known by level only: links of one kind have one latency, the switches' and the kernels'
    included. What is within LATENCY_SHARE_MIN of the rates' part is none. Where rates differ the
    slowest count: what is beyond them is latency for sure.
    """
    measured = {one.level: one.estimate.value for one in found.quantities if one.name == "latency"}
    frame_bits = 8.0 * (found.mtu_bytes + LINK_HEADER_BYTES)

    def slowest(links: Sequence[_Link]) -> list[float]:
        return [min(one.up_mbit_s for one in links), min(one.down_mbit_s for one in links)]

    up, down = slowest(hosts)

    def beyond_s(level: str, rates: list[float]) -> float | None:
        if level not in measured:
            return None
        passing_s = _passing_s(found, frame_bits, rates)
        beyond = measured[level] - passing_s
        return beyond if beyond > LATENCY_SHARE_MIN * passing_s else 0.0

    near_s = beyond_s(LEAF, [up, down])
    far_s = None
    if uplinks:
        far_s = beyond_s(ACROSS, [up, *slowest(uplinks), down])
    if near_s is None:  # no leaf has two hosts: four links alike
        near_s = (far_s or 0.0) / 2
    rest_s = max(0.0, (far_s or 0.0) - near_s)

    def each(links: Sequence[_Link], way_s: float) -> list[_Link]:
        return [replace(one, latency_us=float(f"{way_s / 2 * MEGA:.3g}")) for one in links]

    return each(hosts, near_s), each(uplinks, rest_s)


def _link_tables(names: Sequence[str], links: Sequence[_Link]) -> list[str]:
    """Neighbours that are alike share a table."""
    tables: list[str] = []
    begin = 0
    while begin < len(links):
        end = begin
        while end < len(links) and links[end] == links[begin]:
            end += 1
        link = links[begin]
        lines = [
            "[[link]]",
            f'from = "{compress_hostlist(list(names[begin:end]))}"',
            f'to = "{link.to}"',
        ]
        if link.up_mbit_s == link.down_mbit_s:
            lines.append(f"rate_mbit_s = {link.up_mbit_s:g}")
        else:
            lines += [
                f"rate_up_mbit_s = {link.up_mbit_s:g}",
                f"rate_down_mbit_s = {link.down_mbit_s:g}",
            ]
        if link.latency_us > 0:
            lines.append(f"latency_us = {link.latency_us:g}")
        if link.queue_up is not None:
            lines.append(f"queue_up_packets = {link.queue_up}")
        if link.queue_down is not None:
            lines.append(f"queue_down_packets = {link.queue_down}")
        tables.append("\n".join(lines))
        begin = end
    return tables


def _switch_table(name: str, found: Findings) -> str:
    lines = ["[[switch]]", f'name = "{name}"']
    for key in ("architecture", "switching"):
        answer = found.answers.get(f"{'core' if name == CORE else 'leaf'}_{key}", UNDETERMINED)
        if answer != UNDETERMINED:
            lines.append(f'{key} = "{answer}"')
    pool = found.core_pool_packets if name == CORE else found.leaf_pool_packets
    if pool is not None:
        lines.append(f"buffer_packets = {pool}")
    return "\n".join(lines)


def cluster_text(found: Findings, name: str = "probed") -> str:
    """A cluster file. Where leaves are undetermined all hosts are on one switch, and it says so.

    Precondition: the rates of all hosts are known.
    """
    leaves = found.groups.leaves
    several = leaves is not None and len(leaves) > 1 and len(found.uplinks) == len(leaves)
    parts = ["format = 1", f'name = "{name}"']
    if several and leaves is not None:
        parts.append('description = "as measured by allemande probe"')
        number_of = {rank: k for k, leaf in enumerate(leaves) for rank in leaf}
        order = [rank for leaf in leaves for rank in leaf]
    else:
        parts.append(
            'description = "as measured by allemande probe; which hosts share a leaf could not be '
            'told"'
        )
        number_of = {}
        order = list(range(len(found.hosts)))
    text = "\n".join(parts) + "\n"
    if found.mtu_bytes != 1500:
        text += f"\n[framing]\nmtu_bytes = {found.mtu_bytes}\n"
    names = [found.hosts[rank] for rank in range(len(found.hosts))]
    text += f'\n[[host]]\nname = "{compress_hostlist(names)}"\n'
    switches = [leaf_name(k) for k in range(len(leaves or []))] if several else [ONE_SWITCH]
    for switch in [*switches, *([CORE] if several else [])]:
        text += "\n" + _switch_table(switch, found) + "\n"
    links = _host_links(found, lambda r: leaf_name(number_of[r]) if several else ONE_SWITCH)
    uplinks = _uplinks(found, leaves) if several and leaves is not None else []
    links, uplinks = _with_latencies(found, links, uplinks)
    tables = _link_tables([names[rank] for rank in order], [links[rank] for rank in order])
    if uplinks:
        tables += _link_tables(switches, uplinks)
    return text + "".join("\n" + table + "\n" for table in tables)
