"""A profile of more hosts than were measured: the network goes on as it is.

Leaves that hold fewer hosts than the fullest are filled; then leaves like the fullest are added,
with links to the same switches. Where there is one leaf, or where leaves are unknown, the hosts are
added to its switch. Nobody has measured such a network: what is predicted for it is extrapolated,
and the interval is wider for each doubling of the hosts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from allemande.errors import BadInput
from allemande.model.profile import Profile
from allemande.topology import Cluster, Link, Switch, parse_cluster

GROWTH_MOST = 64  # times the hosts that were measured
SIGMA_PER_DOUBLING = 0.15  # of the logarithm of the time
NORMAL_90 = 1.645  # deviations that hold nine in ten

_LINK_KEYS = (
    *("rate_up_mbit_s", "rate_down_mbit_s", "latency_us", "queue_up_packets"),
    *("queue_down_packets", "bidirectional_cap_mbit_s"),
)
_SWITCH_WORDS = ("architecture", "switching", "flow_control")
_SWITCH_NUMBERS = ("buffer_packets", "buffer_alpha", "backplane_mbit_s")


def _fresh_names(taken: Iterable[str], like: str) -> Callable[[], str]:
    """Names that go on counting: h32 after h31; a name without a number gets one."""
    names = set(taken)
    match = re.fullmatch(r"(.*?)([0-9]+)", like)
    prefix = match[1] if match else f"{like}-"
    numbers = [re.fullmatch(re.escape(prefix) + r"([0-9]+)", name) for name in names]
    last = max((int(found[1]) for found in numbers if found), default=-1)

    def next_name() -> str:
        nonlocal last
        last += 1
        return f"{prefix}{last}"

    return next_name


def _link_table(link: Link, from_: str, to: str) -> str:
    lines = ["[[link]]", f'from = "{from_}"', f'to = "{to}"']
    lines += [f"{key} = {getattr(link, key)!r}" for key in _LINK_KEYS if getattr(link, key)]
    if link.one_way:
        lines.append("one_way = true")
    return "\n".join(lines)


def _switch_table(switch: Switch, name: str) -> str:
    lines = ["[[switch]]", f'name = "{name}"']
    lines += [f'{key} = "{getattr(switch, key)}"' for key in _SWITCH_WORDS]
    lines += [
        f"{key} = {getattr(switch, key)!r}" for key in _SWITCH_NUMBERS if getattr(switch, key)
    ]
    return "\n".join(lines)


def _host_links(cluster: Cluster) -> list[tuple[str, Link]]:
    """The switch of each host, and the link to it; raises BadInput where a host has several."""
    by_host: dict[str, tuple[str, Link]] = {}
    names = {host.name for host in cluster.hosts}
    for link in cluster.links:
        if link.from_ not in names and link.to not in names:
            continue
        if link.to in names or link.from_ in by_host:
            raise BadInput(
                "more hosts than were measured can be predicted where every host has one link, "
                f"from it to a switch; {link.to if link.to in names else link.from_} has others"
            )
        by_host[link.from_] = (link.to, link)
    return [by_host[host.name] for host in cluster.hosts]


def _grown_cluster(cluster: Cluster, names: Sequence[str]) -> Cluster:
    """With hosts of these names besides."""
    leaves: dict[str, list[Link]] = {}
    for leaf, link in _host_links(cluster):
        leaves.setdefault(leaf, []).append(link)
    fullest = max(leaves, key=lambda leaf: len(leaves[leaf]))
    full = len(leaves[fullest])
    pattern = leaves[fullest]
    switches = {switch.name: switch for switch in cluster.switches}
    uplinks = [
        link
        for link in cluster.links
        if fullest in (link.from_, link.to) and {link.from_, link.to} <= switches.keys()
    ]
    next_switch = _fresh_names(switches, fullest)
    # Room as it is used: leaf by leaf.
    room = {leaf: full - len(links) for leaf, links in leaves.items()}
    tables = []
    for name in names:
        free = [leaf for leaf, hosts in room.items() if hosts > 0]
        if free:
            leaf = free[0]
        elif not uplinks:
            leaf = fullest
            room[leaf] = 1
        else:
            leaf = next_switch()
            tables.append(_switch_table(switches[fullest], leaf))
            for link in uplinks:
                ends = [leaf if end == fullest else end for end in (link.from_, link.to)]
                tables.append(_link_table(link, *ends))
            room[leaf] = full
        room[leaf] -= 1
        tables.append(f'[[host]]\nname = "{name}"')
        tables.append(_link_table(pattern[room[leaf] % full], name, leaf))
    text = cluster.to_toml() + "\n" + "\n\n".join(tables) + "\n"
    return parse_cluster(text, f"{cluster.name}, {len(cluster.hosts) + len(names)} hosts")


def grown(profile: Profile, count: int) -> Profile:
    """The same network with so many hosts, more than were measured.

    Raises BadInput where that is beyond `GROWTH_MOST` times as many, or where a host has several
    links.
    """
    hosts = profile.network.hosts
    if count > GROWTH_MOST * len(hosts):
        raise BadInput(
            f"{count} hosts; the profile has {len(hosts)}; expected at most {GROWTH_MOST} times "
            "as many: probe a larger part of the network"
        )
    next_host = _fresh_names(hosts, hosts[-1])
    names = [next_host() for _ in range(count - len(hosts))]
    cluster = profile.cluster
    return replace(
        profile,
        network=replace(profile.network, hosts=(*hosts, *names)),
        cluster=None if cluster is None else _grown_cluster(cluster, names),
    )


def doubt(measured: int, predicted: int) -> float:
    """By what factor an interval is wider to either side, for so many hosts of a grown network."""
    return math.exp(NORMAL_90 * SIGMA_PER_DOUBLING * math.log2(predicted / measured))
