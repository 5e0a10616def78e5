"""The network a lab builds: every link end as a port with its rate, queue, device and addresses.

A port is the egress side of one link end: what leaves the node there has the link's rate and waits
in a queue counted in packets. A host has a device per link, `eth0`, `eth1`, …; ports of switches
are the emulator's.

The addresses are in 198.18.0.0/15: those of the hosts' first devices in 198.18.0.0/19, those of
their second ones in 198.18.32.0/19 and so on, those of switches in 198.19.0.0/16.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from allemande.errors import BadInput
from allemande.topology import load_cluster

# RFC 2544's range for network tests: never routed, so nothing real can be meant.
IPV4_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
# A unique local prefix (RFC 4193); exists inside the namespaces only.
IPV6_NETWORK = ipaddress.IPv6Network("fd00:a11e:3a4d:e::/64")

# How switches forward.
BRIDGES, ROUTERS = "bridges", "routers"
FORWARDING = (BRIDGES, ROUTERS)

HOST_DEVICE = "eth0"
# How many addresses there are for the hosts' devices of one number, and how many such numbers.
PLANE_ADDRESSES = 8192
PLANES_MAX = 8
# Switches come after all devices of hosts, from 198.19.0.1 on: the emulator answers as them.
SWITCHES_MAX = 60_000


def _host_device(number: int) -> str:
    return f"eth{number}"


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
    one_way: bool = False  # nothing goes down
    ecn_packets: int = 0  # queue length from which a switch marks packets; 0: never


@dataclass(frozen=True)
class Switch:
    name: str
    architecture: str = "output"
    switching: str = "store-and-forward"
    flow_control: str = "drop"
    buffer_packets: int = 0
    buffer_alpha: float = 0
    backplane_mbit_s: float = 0
    site: str = ""


@dataclass(frozen=True)
class Port:
    """The sending end of a link: `node` sends to `peer`, a host through `device`."""

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
class Interface:
    """One of a host's devices. `number` is its place among them, in the order of the links."""

    host: str
    number: int
    device: str
    ipv4: str
    ipv6: str
    mac: str
    egress: Port  # what the host sends
    ingress: Port  # what its switch sends to it


@dataclass(frozen=True)
class Network:
    name: str
    hosts: tuple[str, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]
    mtu_bytes: int = 1500
    link_header_bytes: int = 14

    def scaled(self, factor: float) -> Network:
        """Slow motion: every rate times `factor`, every latency by it; queues, in packets, stay.

        So as many packets are on a link as in the network itself.
        """
        links = tuple(
            replace(
                link,
                rate_up_mbit_s=link.rate_up_mbit_s * factor,
                rate_down_mbit_s=link.rate_down_mbit_s * factor,
                bidirectional_cap_mbit_s=link.bidirectional_cap_mbit_s * factor,
                latency_us=link.latency_us / factor,
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
        """The address of the host's first device, as with `ipv6` and `mac`."""
        return str(IPV4_NETWORK[_address_offset(self._host_index(host), 0)])

    def ipv6(self, host: str) -> str:
        return str(IPV6_NETWORK[_address_offset(self._host_index(host), 0)])

    def mac(self, host: str) -> str:
        return _host_mac(self._host_index(host), 0)

    def ports(self) -> list[Port]:
        """Two per link, in file order: first the `from` end's, then the `to` end's."""
        ports: list[Port] = []
        devices = dict.fromkeys(self.hosts, 0)
        for link in self.links:
            for node, peer, rate, queue in (
                (link.node_from, link.node_to, link.rate_up_mbit_s, link.queue_up_packets),
                (link.node_to, link.node_from, link.rate_down_mbit_s, link.queue_down_packets),
            ):
                device = ""
                if node in devices:
                    device = _host_device(devices[node])
                    devices[node] += 1
                ports.append(Port(len(ports), node, peer, device, rate, queue))
        return ports

    def interfaces(self) -> list[Interface]:
        """All devices of hosts: each host's first, then each one's second, and so on."""
        ports = self.ports()
        of_host: dict[str, list[Port]] = {host: [] for host in self.hosts}
        for port in ports:
            if port.node in of_host:
                of_host[port.node].append(port)
        found = []
        for index, host in enumerate(self.hosts):
            for number, port in enumerate(of_host[host]):
                offset = _address_offset(index, number)
                found.append(
                    Interface(
                        host,
                        number,
                        port.device,
                        str(IPV4_NETWORK[offset]),
                        str(IPV6_NETWORK[offset]),
                        _host_mac(index, number),
                        port,
                        ports[port.index ^ 1],
                    )
                )
        return sorted(found, key=lambda interface: interface.number)

    def common_devices(self) -> list[str]:
        """Those that every host has."""
        counts = dict.fromkeys(self.hosts, 0)
        for interface in self.interfaces():
            counts[interface.host] += 1
        return [_host_device(number) for number in range(min(counts.values(), default=0))]

    def ways(self) -> dict[str, list[list[Port]]]:
        """switch -> per interface of a host, all ports towards it on shortest paths.

        A switch that does not reach an interface has no port towards it.
        """
        switches = {switch.name for switch in self.switches}
        ports = self.ports()
        ports_of: dict[str, list[Port]] = {name: [] for name in switches}
        for port in ports:
            against = port.index % 2 == 1 and self.links[port.index // 2].one_way
            if port.node in switches and not against:
                ports_of[port.node].append(port)
        neighbours: dict[str, list[str]] = {name: [] for name in switches}  # that send to it
        for name, own in ports_of.items():
            for port in own:
                if port.peer in switches:
                    neighbours[port.peer].append(name)
        ways: dict[str, list[list[Port]]] = {switch.name: [] for switch in self.switches}
        for interface in self.interfaces():
            last = interface.ingress
            distance = {last.node: 0}
            frontier = deque(distance)
            while frontier:  # hosts do not forward
                node = frontier.popleft()
                for near in neighbours[node]:
                    if near not in distance:
                        distance[near] = distance[node] + 1
                        frontier.append(near)
            for name, found in ways.items():
                nearer = [
                    port
                    for port in ports_of[name]
                    if name in distance
                    and port.peer in switches
                    and distance.get(port.peer, -1) == distance[name] - 1
                ]
                found.append([last] if distance.get(name) == 0 else nearer)
        return ways

    def has_several_ways(self) -> bool:
        """Whether any switch has more than one shortest path to a host."""
        return any(len(ports) > 1 for found in self.ways().values() for ports in found)

    def routes(self) -> dict[str, list[Port | None]]:
        """switch -> per interface of a host, the port towards it along a shortest path.

        Among equally short ones the choice is the host's index modulo their number, so that
        destinations spread over parallel links and every packet of a pair takes one path.
        """
        indices = [self._host_index(interface.host) for interface in self.interfaces()]
        return {
            switch: [
                ports[index % len(ports)] if ports else None
                for index, ports in zip(indices, found, strict=True)
            ]
            for switch, found in self.ways().items()
        }

    def links_between(self, one: str, other: str) -> list[int]:
        """The links that join two nodes, by their places in the file."""
        ends = {one, other}
        return [
            number
            for number, link in enumerate(self.links)
            if {link.node_from, link.node_to} == ends
        ]

    def check(self, source: str) -> None:
        """Refuses what a lab cannot be built from."""
        attached = dict.fromkeys(self.hosts, 0)
        for link in self.links:
            for node in (link.node_from, link.node_to):
                if node in attached:
                    attached[node] += 1
        wrong = [host for host, count in attached.items() if not 1 <= count <= PLANES_MAX]
        if wrong:
            raise BadInput(
                f"{source}: {', '.join(wrong[:4])} has {attached[wrong[0]]} links; "
                f"the lab gives a host from one link to {PLANES_MAX}"
            )
        if len(self.hosts) >= PLANE_ADDRESSES or len(self.switches) > SWITCHES_MAX:
            raise BadInput(
                f"{source}: {len(self.hosts)} hosts and {len(self.switches)} switches; the lab has "
                f"addresses for {PLANE_ADDRESSES - 1} hosts and {SWITCHES_MAX} switches"
            )
        long_names = [host for host in self.hosts if len(host) > 63]
        if long_names:
            raise BadInput(f"{source}: host name {long_names[0]!r} is longer than 63 characters")

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
            lines += [f'site = "{switch.site}"'] if switch.site else []
            lines += [f'architecture = "{switch.architecture}"']
            lines += [f'switching = "{switch.switching}"']
            lines += [f'flow_control = "{switch.flow_control}"']
            for name in ("buffer_packets", "buffer_alpha", "backplane_mbit_s"):
                lines += [f"{name} = {value:.12g}"] if (value := getattr(switch, name)) else []
        of_host: dict[str, list[Interface]] = {host: [] for host in self.hosts}
        for interface in self.interfaces():
            of_host[interface.host].append(interface)
        for host, own in of_host.items():
            lines += ["", "[[host]]", f'name = "{host}"']
            lines += [f"links = {len(own)}"] if len(own) > 1 else []
            lines += [f"address = {_toml_list([interface.ipv4 for interface in own])}"]
            lines += [f"interface = {_toml_list([interface.device for interface in own])}"]
        for link in self.links:
            lines += ["", "[[link]]", f'from = "{link.node_from}"', f'to = "{link.node_to}"']
            lines += [f"rate_up_mbit_s = {link.rate_up_mbit_s:.12g}"]
            lines += [f"rate_down_mbit_s = {link.rate_down_mbit_s:.12g}"]
            lines += [f"queue_up_packets = {link.queue_up_packets}"]
            lines += [f"queue_down_packets = {link.queue_down_packets}"]
            for name in ("latency_us", "bidirectional_cap_mbit_s"):
                lines += [f"{name} = {value:.12g}"] if (value := getattr(link, name)) else []
            lines += ["one_way = true"] if link.one_way else []
            lines += [f"ecn_packets = {link.ecn_packets}"] if link.ecn_packets else []
        return "\n".join(lines) + "\n"


def choose_forwarding(name: str | None, network: Network) -> str:
    """How the lab's switches forward: as routers where packets have a choice, unless `name` says
    otherwise."""
    if name is None:
        return ROUTERS if network.has_several_ways() else BRIDGES
    if name not in FORWARDING:
        raise BadInput(f"forwarding {name!r} is unknown; expected one of: {', '.join(FORWARDING)}")
    return name


def _toml_list(texts: Sequence[str]) -> str:
    """One text stands for itself."""
    quoted = [f'"{text}"' for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _address_offset(host: int, number: int) -> int:
    return PLANE_ADDRESSES * number + host + 1


def _host_mac(host: int, number: int) -> str:
    """Locally administered; c6:12 are the first octets of 198.18."""
    return f"02:c6:12:{number:02x}:" + host.to_bytes(2).hex(":")


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
                switch.buffer_alpha,
                switch.backplane_mbit_s,
                switch.site,
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
                link.one_way,
                link.ecn_packets,
            )
            for link in read.links
        ),
        read.mtu_bytes,
        read.link_header_bytes,
    )
