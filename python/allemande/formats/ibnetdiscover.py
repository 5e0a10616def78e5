"""What `ibnetdiscover` prints of an InfiniBand fabric.

::

    Switch  36 "S-0002c902004885b0"     # "leaf0" enhanced port 0 lid 3 lmc 0
    [1]     "H-0002c9020048aa10"[1](2c9020048aa11)      # "node1 HCA-1" lid 5 4xEDR
    [19]    "S-0002c902004885c8"[1]     # "spine0" lid 2 4xEDR

    Ca      2 "H-0002c9020048aa10"      # "node1 HCA-1"
    [1](2c9020048aa11)  "S-0002c902004885b0"[1]     # lid 5 lmc 0 "leaf0" lid 3 4xEDR

A host's name is the first word of its adapters' description. Width times speed is the data rate.
Routers, and the nodes by which switches add up numbers (SHARP), are left out. A host has one link
in a cluster file: where it has several ports in the fabric, `port` says which one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from allemande.errors import BadInput
from allemande.formats.imported_cluster import (
    OPTIONS,
    FoundLink,
    Network,
    Source,
    build,
    parse_source,
)
from allemande.topology import Cluster

LOSSLESS_QUEUE_PACKETS = 32  # in each input buffer, as in the generated lossless networks
_KEYS = {*OPTIONS, "port"}
# Data rate of a lane in Gbit/s: the signalling rate without the line code.
LANE_GBIT_S: Mapping[str, float] = {
    "SDR": 2,
    "DDR": 4,
    "QDR": 8,
    "FDR10": 10,
    "FDR": 13.64,
    "EDR": 25,
    "HDR": 50,
    "NDR": 100,
    "XDR": 200,
}
_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([SHR]-[0-9a-fA-F]+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([SHR]-[0-9a-fA-F]+)"\[(\d+)\].*?(\d+)x(\w+)\s*$'
)


@dataclass(frozen=True)
class Port:
    """A port of one node, and what is at the other end of its cable."""

    number: int
    peer: str
    peer_port: int
    rate_mbit_s: float | None  # None: a speed that is not known


@dataclass
class Node:
    kind: str  # Switch, Ca or Rt
    identity: str  # "H-0002c9020048aa10"
    description: str
    ports: list[Port] = field(default_factory=list)

    @property
    def left_out(self) -> bool:
        return self.kind == "Rt" or "Aggregation Node" in self.description

    @property
    def adapter(self) -> str:
        """What follows the host's name: "HCA-1", "mlx5_0"."""
        return " ".join(self.description.split()[1:])


def parse(text: str, source: str) -> dict[str, Node]:
    """The nodes by identity, in the order of the file."""
    nodes: dict[str, Node] = {}
    node: Node | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if match := _NODE.match(line):
            node = Node(match[1], match[2], (match[3] or "").strip())
            nodes[node.identity] = node
        elif line.startswith("["):
            match = _PORT.match(line)
            if match is None or node is None:
                raise BadInput(
                    f"{source}:{number}: {line!r:.60} cannot be read; expected a port as in "
                    '[1] "S-0002c902004885b0"[7] # … 4xEDR'
                )
            lane = LANE_GBIT_S.get(match[5].upper())
            rate = None if lane is None else int(match[4]) * lane * 1000
            node.ports.append(Port(int(match[1]), match[2], int(match[3]), rate))
    if not any(each.kind == "Ca" for each in nodes.values()):
        raise BadInput(f"{source}: no host is in it; expected what ibnetdiscover prints")
    return nodes


# ---- names ---------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")[:46]


def _switch_names(nodes: Iterable[Node]) -> dict[str, str]:
    """By description where that tells switches apart; else with the end of the GUID."""
    switches = [node for node in nodes if node.kind == "Switch"]
    plain = {
        node.identity: _plain(node.description.partition(";")[2] or node.description)
        for node in switches
    }
    names = {}
    for identity, name in plain.items():
        alone = name and list(plain.values()).count(name) == 1
        names[identity] = name if alone else f"{name or 'switch'}-{identity[-12:]}"
    return names


def _host_of(node: Node) -> str:
    words = node.description.split()
    return _plain(words[0]) if words else f"host-{node.identity[-12:]}"


# ---- the network ---------------------------------------------------------------------------------


def _choose_port(host: str, found: list[tuple[Node, Port]], source: Source) -> Port:
    """The one link of a host; BadInput asks where there are several."""
    if len(found) == 1:
        return found[0][1]

    def name(node: Node, port: Port) -> str:
        return f"{node.adapter or node.identity}/{port.number}"

    wanted = source.options.get("port")
    if wanted == "first":
        return found[0][1]
    if wanted is not None:
        for node, port in found:
            if wanted in (name(node, port), str(port.number), node.adapter, node.identity):
                return port
    names = ", ".join(name(node, port) for node, port in found)
    problem = "" if wanted is None else f", none of them {wanted!r}"
    raise BadInput(
        f"{source.path}: host {host!r} has the ports {names}{problem}; a cluster file has one link "
        f"for a host: say which with port=first, port={found[0][1].number} or "
        f"port={name(*found[0])}"
    )


def _hosts(nodes: Mapping[str, Node]) -> dict[str, list[tuple[Node, Port]]]:
    """The ports of each host that lead to a switch, in the order of the file."""
    hosts: dict[str, list[tuple[Node, Port]]] = {}
    for node in nodes.values():
        if node.kind == "Ca" and not node.left_out:
            hosts.setdefault(_host_of(node), []).extend(
                (node, port) for port in node.ports if port.peer.startswith("S-")
            )
    return {host: ports for host, ports in hosts.items() if ports}


def _network(nodes: Mapping[str, Node], source: Source) -> Network:
    names = _switch_names(nodes.values())
    network = Network(
        switch_keys={
            "architecture": "input",
            "switching": "cut-through",
            "flow_control": "back-pressure",
        },
        queue_packets=LOSSLESS_QUEUE_PACKETS,
    )
    linked: set[str] = set()
    for host, ports in sorted(_hosts(nodes).items(), key=lambda item: _natural(item[0])):
        port = _choose_port(host, ports, source)
        network.hosts.append(host)
        network.links.append(FoundLink(host, names[port.peer], port.rate_mbit_s))
        linked.add(names[port.peer])
    cables: set[frozenset[tuple[str, int]]] = set()
    trunks: list[tuple[str, str, float | None]] = []
    for node in nodes.values():
        for port in node.ports if node.kind == "Switch" else ():
            ends = frozenset({(node.identity, port.number), (port.peer, port.peer_port)})
            if port.peer in names and ends not in cables and len(ends) == 2:
                cables.add(ends)
                trunks.append((names[node.identity], names[port.peer], port.rate_mbit_s))
                linked |= {names[node.identity], names[port.peer]}
    network.switches = [name for name in names.values() if name in linked]
    network.links += [FoundLink(*trunk) for trunk in trunks]
    levels = network.levels()
    network.links = [
        link
        if levels.get(link.below, 0) <= levels.get(link.above, 0)
        else FoundLink(link.above, link.below, link.rate_mbit_s)
        for link in network.links
    ]
    left_out = sum(node.left_out for node in nodes.values())
    if left_out:
        network.notes.append(f"left out: {left_out} routers and aggregation nodes")
    return network


def _natural(name: str) -> list[tuple[int, str]]:
    """h2 before h10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`ibnetdiscover:FILE[,key=value...]`: the cluster, and what the reader should know of it."""
    source = parse_source(text, _KEYS)
    network = _network(parse(source.read_text(), str(source.path)), source)
    return build(network, source), network.notes
