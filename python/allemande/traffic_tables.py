"""LID tables for a given traffic: messages of one step meet as little as tables by destination let
them.

Such a table sends all that comes to a switch for a number of a host by one port. So what the hosts
of a leaf send to one host stays together, and what they send to several can be spread. Number by
number, each switch takes, of its ports on shortest paths, the one by which least goes in the same
steps. Then each number is taken out and laid again while that helps. It ends with the tables of a
subnet manager (`minhop`) if these are as good.

All numbers of a host carry the traffic, each for itself: whoever uses the first alone has the same
steps as whoever stripes over all. Of ports that are alike a number takes one that other numbers of
the host leave free, so that stripes part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from allemande import _core
from allemande.errors import BadInput
from allemande.patterns import Steps, make_steps, parse_pattern
from allemande.topology import Cluster, expand_hostlist

ROUNDS_MAX = 4
MESSAGE_BYTES = 1 << 16  # of every message of a pattern: only ratios count

Tables = list[list[int]]  # by switch and number of a host: a port, from 1; 0: none
Flow = dict[int, int]  # bytes by step


@dataclass(frozen=True)
class _Port:
    number: int  # of its switch, from 1
    index: int  # among all ports of switches
    leads_to: int  # a switch, or minus one less than a host


class _Fabric:
    def __init__(self, cluster: Cluster) -> None:
        self.hosts = {host.name: i for i, host in enumerate(cluster.hosts)}
        self.switches = {switch.name: i for i, switch in enumerate(cluster.switches)}
        self.ports: list[list[_Port]] = [[] for _ in cluster.switches]
        self.leaf_of = [-1] * len(self.hosts)
        self.port_count = 0
        for link in cluster.links:
            if link.one_way:
                raise BadInput(
                    f"cluster {cluster.name}: the link from {link.from_} to {link.to} has one "
                    "way; tables for a traffic expect links with two"
                )
            for here, there in ((link.from_, link.to), (link.to, link.from_)):
                if here in self.switches:
                    self._add(self.switches[here], there)

    def _add(self, switch: int, there: str) -> None:
        host = self.hosts.get(there)
        if host is not None and self.leaf_of[host] < 0:
            self.leaf_of[host] = switch
        leads_to = self.switches[there] if host is None else -1 - host
        ports = self.ports[switch]
        ports.append(_Port(len(ports) + 1, self.port_count, leads_to))
        self.port_count += 1

    def shortest(self, host: int) -> Iterator[tuple[int, list[_Port]]]:
        """Switches from the farthest to the leaf of the host, with their ports towards it."""
        hops = {self.leaf_of[host]: 0}
        near = [self.leaf_of[host]]
        for switch in near:  # grows on the way
            for port in self.ports[switch]:
                if port.leads_to >= 0 and port.leads_to not in hops:
                    hops[port.leads_to] = hops[switch] + 1
                    near.append(port.leads_to)
        for switch in reversed(near):
            if switch == self.leaf_of[host]:
                yield switch, [p for p in self.ports[switch] if p.leads_to == -1 - host][:1]
                continue
            closer = hops[switch] - 1
            yield switch, [p for p in self.ports[switch] if hops.get(p.leads_to) == closer]


class _Layout:
    """The tables while they are made, and what each port carries in each step."""

    def __init__(self, fabric: _Fabric, hosts: int, steps: int, lmc: int) -> None:
        self.count = 1 << lmc
        self.tables: Tables = [[0] * (hosts * self.count) for _ in fabric.ports]
        # Bytes by offset, port and step, and how many numbers a port is used by.
        self.load = np.zeros((self.count, fabric.port_count, steps), dtype=np.int64)
        self.used = np.zeros(fabric.port_count, dtype=np.int64)

    def bound(self) -> int:
        """The sum over numbers and steps of what the fullest port carries."""
        return int(self.load.max(axis=1).sum())


@dataclass(frozen=True)
class _Traffic:
    steps: int
    to: Sequence[dict[int, Flow]]  # by destination host and source leaf


def _traffic_of(fabric: _Fabric, hosts: Sequence[int], steps: Steps) -> _Traffic:
    # Steps that are alike load ports alike: they count once.
    distinct = list({tuple(sorted(step)): None for step in steps})
    to: list[dict[int, Flow]] = [{} for _ in fabric.hosts]
    for number, step in enumerate(distinct):
        for source, destination, size in step:
            leaf = fabric.leaf_of[hosts[source]]
            flow = to[hosts[destination]].setdefault(leaf, {})
            flow[number] = flow.get(number, 0) + size
    return _Traffic(len(distinct), to)


class _Maker:
    def __init__(self, cluster: Cluster, hosts: Sequence[str], steps: Steps, lmc: int) -> None:
        self.fabric = _Fabric(cluster)
        order = [self.fabric.hosts[name] for name in hosts]
        self.traffic = _traffic_of(self.fabric, order, steps)
        self.layout = _Layout(self.fabric, len(cluster.hosts), self.traffic.steps, lmc)
        self.ways = [list(self.fabric.shortest(host)) for host in range(len(cluster.hosts))]

    def lay(self, host: int, offset: int, given: Tables | None = None) -> None:
        """The ports of one number on all switches: the best ones, or those that are `given`."""
        self._change(host, offset, 1, given)

    def take_out(self, host: int, offset: int) -> None:
        """As if the number had never been laid."""
        self._change(host, offset, -1, self.layout.tables)

    def _change(self, host: int, offset: int, sign: int, given: Tables | None) -> None:
        layout = self.layout
        column = host * layout.count + offset
        arriving: dict[int, Flow] = {
            leaf: dict(flow) for leaf, flow in self.traffic.to[host].items()
        }
        for switch, ports in self.ways[host]:
            flow = arriving.get(switch, {})
            when = np.fromiter(flow.keys(), dtype=np.intp, count=len(flow))
            what = np.fromiter(flow.values(), dtype=np.int64, count=len(flow))
            if given is not None:
                port = next(p for p in ports if p.number == given[switch][column])
            else:
                port = self._best(switch, ports, host, offset, when, what)
            layout.tables[switch][column] = port.number if sign > 0 else 0
            layout.used[port.index] += sign
            layout.load[offset, port.index, when] += sign * what
            if flow and port.leads_to >= 0:
                onward = arriving.setdefault(port.leads_to, {})
                for step, size in flow.items():
                    onward[step] = onward.get(step, 0) + size

    def _best(
        self,
        switch: int,
        ports: Sequence[_Port],
        host: int,
        offset: int,
        when: np.ndarray,
        what: np.ndarray,
    ) -> _Port:
        if len(ports) == 1:
            return ports[0]
        layout = self.layout
        index = [port.index for port in ports]
        first = host * layout.count
        taken = layout.tables[switch][first : first + layout.count]
        # Products of bytes do not fit 64 bits.
        meets = layout.load[offset][index][:, when].astype(float) @ what
        return min(
            zip(ports, meets, layout.used[index], strict=True),
            key=lambda one: (one[1], taken.count(one[0].number), one[2]),
        )[0]

    def numbers(self) -> list[tuple[int, int]]:
        """Hosts that get most first, offset by offset."""
        order = sorted(
            range(len(self.ways)),
            key=lambda host: -sum(sum(flow.values()) for flow in self.traffic.to[host].values()),
        )
        return [(host, offset) for offset in range(self.layout.count) for host in order]


def make_tables(cluster: Cluster, hosts: Sequence[str], steps: Steps, lmc: int = 0) -> Tables:
    """Tables for the messages of these steps, whose rank i is on hosts[i].

    Other hosts are reached as well, by the ports that fewest numbers use. Raises BadInput for an
    LMC that has no place in a LID, and for links with one way.
    """
    usual = _core.make_routes(cluster, "lid", lmc).lid_tables()
    maker = _Maker(cluster, hosts, steps, lmc)
    numbers = maker.numbers()
    for host, offset in numbers:
        maker.lay(host, offset)
    best, tables = maker.layout.bound(), [list(row) for row in maker.layout.tables]
    for _ in range(ROUNDS_MAX):
        for host, offset in numbers:
            if not maker.traffic.to[host]:
                continue
            maker.take_out(host, offset)
            maker.lay(host, offset)
        found = maker.layout.bound()
        if found >= best:
            break
        best, tables = found, [list(row) for row in maker.layout.tables]
    other = _Maker(cluster, hosts, steps, lmc)
    for host, offset in numbers:
        other.lay(host, offset, usual)
    return usual if other.layout.bound() <= best else tables


def tables_for_pattern(cluster: Cluster, hosts: str | None, pattern: str, lmc: int = 0) -> Tables:
    """The same for a pattern as `allemande simulate` takes it, on hosts as `h[0-23]` names them."""
    names = [host.name for host in cluster.hosts]
    if hosts is not None:
        known = set(names)
        names = expand_hostlist(hosts, "--hosts")
        if unknown := [name for name in names if name not in known]:
            raise BadInput(f"cluster {cluster.name} has no host {unknown[0]!r}; expected its hosts")
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadInput(f"--hosts {hosts}: {twice[0]!r} stands there twice; expected each once")
    steps = make_steps(parse_pattern(pattern), len(names), MESSAGE_BYTES)
    return make_tables(cluster, names, steps, lmc)
