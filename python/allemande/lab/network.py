"""The network a lab builds: every link end as a port with its rate, queue, device and addresses.

A port is the egress side of one link end: what leaves the node there is shaped to the link's rate
and waits in a queue counted in packets. Hosts have one device, `eth0`; the ports of all switches
are `p0`, `p1`, … in one namespace.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

from allemande.errors import BadInput
from allemande.topology import load_cluster

# RFC 2544's range for network tests: never routed, so nothing real can be meant.
IPV4_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
# A unique local prefix (RFC 4193); exists inside the namespaces only.
IPV6_NETWORK = ipaddress.IPv6Network("fd00:a11e:3a4d:e::/64")

HOST_DEVICE = "eth0"


@dataclass(frozen=True)
class Link:
    """`up` is what `node_from` sends, `down` what `node_to` sends."""

    node_from: str
    node_to: str
    rate_up_mbit_s: float
    rate_down_mbit_s: float
    queue_up_packets: int
    queue_down_packets: int
    latency_us: float = 0
    bidirectional_cap_mbit_s: float = 0


@dataclass(frozen=True)
class Switch:
    name: str
    architecture: str = "output"
    switching: str = "store-and-forward"
    flow_control: str = "drop"
    buffer_packets: int = 0
    backplane_mbit_s: float = 0


@dataclass(frozen=True)
class Port:
    """The sending end of a link: `node` sends to `peer` through `device`."""

    index: int
    node: str
    peer: str
    device: str
    rate_mbit_s: float
    queue_packets: int

    @property
    def label(self) -> str:
        return f"{self.node} -> {self.peer}"


@dataclass(frozen=True)
class Network:
    name: str
    hosts: tuple[str, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]
    mtu_bytes: int = 1500
    link_header_bytes: int = 14

    def scaled(self, factor: float) -> Network:
        """Every rate times `factor`; queues, in packets, stay."""
        links = tuple(
            replace(
                link,
                rate_up_mbit_s=link.rate_up_mbit_s * factor,
                rate_down_mbit_s=link.rate_down_mbit_s * factor,
                bidirectional_cap_mbit_s=link.bidirectional_cap_mbit_s * factor,
            )
            for link in self.links
        )
        switches = tuple(
            replace(switch, backplane_mbit_s=switch.backplane_mbit_s * factor)
            for switch in self.switches
        )
        return replace(self, links=links, switches=switches)

    def _host_index(self, host: str) -> int:
        return self.hosts.index(host)

    def ipv4(self, host: str) -> str:
        return str(IPV4_NETWORK[self._host_index(host) + 1])

    def ipv6(self, host: str) -> str:
        return str(IPV6_NETWORK[self._host_index(host) + 1])

    def mac(self, host: str) -> str:
        """Locally administered; c6:12 are the first octets of 198.18."""
        return "02:c6:12:" + self._host_index(host).to_bytes(3).hex(":")

    def ports(self) -> list[Port]:
        """Two per link, in file order: first the `from` end's, then the `to` end's."""
        ports: list[Port] = []
        is_host = set(self.hosts)
        switch_ports = 0
        for link in self.links:
            for node, peer, rate, queue in (
                (link.node_from, link.node_to, link.rate_up_mbit_s, link.queue_up_packets),
                (link.node_to, link.node_from, link.rate_down_mbit_s, link.queue_down_packets),
            ):
                device = HOST_DEVICE
                if node not in is_host:
                    device = f"p{switch_ports}"
                    switch_ports += 1
                ports.append(Port(len(ports), node, peer, device, rate, queue))
        return ports

    def routes(self) -> dict[str, dict[str, Port]]:
        """switch -> host -> the port towards it, along a shortest path.

        Among equally short ones the choice is the host's index modulo their number, so that
        destinations spread over parallel links and every packet of a pair takes one path.
        """
        ports_of: dict[str, list[Port]] = {}
        for port in self.ports():
            ports_of.setdefault(port.node, []).append(port)
        hosts = set(self.hosts)
        routes: dict[str, dict[str, Port]] = {switch.name: {} for switch in self.switches}
        for index, host in enumerate(self.hosts):
            distance = {host: 0}
            frontier = deque([host])
            while frontier:
                node = frontier.popleft()
                if node in hosts and node != host:
                    continue  # hosts do not forward
                for port in ports_of.get(node, ()):
                    if port.peer not in distance:
                        distance[port.peer] = distance[node] + 1
                        frontier.append(port.peer)
            for switch in self.switches:
                nearer = [
                    port
                    for port in ports_of.get(switch.name, ())
                    if (port.peer not in hosts or port.peer == host)
                    and distance.get(port.peer, -1) == distance.get(switch.name, 0) - 1
                ]
                if nearer:
                    routes[switch.name][host] = nearer[index % len(nearer)]
        return routes

    def check(self, source: str) -> None:
        """Refuses what namespaces cannot be built from."""
        attached = dict.fromkeys(self.hosts, 0)
        for link in self.links:
            for node in (link.node_from, link.node_to):
                if node in attached:
                    attached[node] += 1
        wrong = [host for host, count in attached.items() if count != 1]
        if wrong:
            raise BadInput(
                f"{source}: the lab gives a host one interface, but {', '.join(wrong[:4])} "
                f"has {attached[wrong[0]]} links; expected exactly one link per host"
            )
        long_names = [host for host in self.hosts if len(host) > 63]
        if long_names:
            raise BadInput(f"{source}: host name {long_names[0]!r} is longer than 63 characters")

    def notes(self) -> list[str]:
        """What the file asks for and a bridge with token buckets does not give."""
        notes = []
        if any(link.latency_us for link in self.links):
            notes.append("link latencies are not emulated: this lab adds none")
        if any(link.bidirectional_cap_mbit_s for link in self.links):
            notes.append("bidirectional caps are not emulated: each direction has its own rate")
        if any(switch.architecture != "output" for switch in self.switches):
            notes.append(
                "switches are output-queued with a buffer per port here; input-buffered and "
                "shared-buffer switches exist in the simulator only"
            )
        if any(switch.flow_control != "drop" for switch in self.switches):
            notes.append("back-pressure between switches is not emulated: full queues drop")
        if any(switch.backplane_mbit_s for switch in self.switches):
            notes.append("switch backplanes are not emulated: they carry everything")
        return notes

    def to_toml(self, description: str) -> str:
        """A cluster file of the lab as built, addresses and interfaces filled in."""
        lines = [
            "format = 1",
            f'name = "{self.name}"',
            f'description = "{description}"',
            "",
            "[framing]",
            f"mtu_bytes = {self.mtu_bytes}",
            f"link_header_bytes = {self.link_header_bytes}",
        ]
        for switch in self.switches:
            lines += ["", "[[switch]]", f'name = "{switch.name}"']
            # As built, whatever the file asks for (notes): a queue per port and nothing else.
            lines += ['architecture = "output"', 'switching = "store-and-forward"']
            lines += ['flow_control = "drop"']
        for host in self.hosts:
            lines += ["", "[[host]]", f'name = "{host}"', f'address = "{self.ipv4(host)}"']
            lines += [f'interface = "{HOST_DEVICE}"']
        for link in self.links:
            lines += ["", "[[link]]", f'from = "{link.node_from}"', f'to = "{link.node_to}"']
            lines += [f"rate_up_mbit_s = {link.rate_up_mbit_s:.12g}"]
            lines += [f"rate_down_mbit_s = {link.rate_down_mbit_s:.12g}"]
            lines += [f"queue_up_packets = {link.queue_up_packets}"]
            lines += [f"queue_down_packets = {link.queue_down_packets}"]
        return "\n".join(lines) + "\n"


def load_network(cluster: str | Path) -> Network:
    """Reads a cluster file, given its path or the name of a ready-made one."""
    read = load_cluster(cluster)
    return Network(
        read.name,
        tuple(host.name for host in read.hosts),
        tuple(
            Switch(
                switch.name,
                switch.architecture,
                switch.switching,
                switch.flow_control,
                switch.buffer_packets,
                switch.backplane_mbit_s,
            )
            for switch in read.switches
        ),
        tuple(
            Link(
                link.from_,
                link.to,
                link.rate_up_mbit_s,
                link.rate_down_mbit_s,
                link.queue_up_packets,
                link.queue_down_packets,
                link.latency_us,
                link.bidirectional_cap_mbit_s,
            )
            for link in read.links
        ),
        read.mtu_bytes,
        read.link_header_bytes,
    )
