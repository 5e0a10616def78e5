"""What `ibnetdiscover` prints of an InfiniBand fabric, and the net files of ibsim, as clusters.

Switches are crossbars with input buffers, cut-through and back-pressure. Routers, and the nodes by
which switches add up numbers (SHARP), are left out. A host has one link in a cluster file, unless
all its ports are asked for: where it has several in the fabric, `rail` says which network counts,
found by the switches (formats.rails), or `port` which port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from allemande.formats.fabric_dump import Node, parse
from allemande.formats.fabric_hosts import Choice, find_plugs, switch_names
from allemande.formats.import_source import OPTIONS, Source, parse_source
from allemande.formats.imported_cluster import build
from allemande.formats.imported_network import (
    FoundLink,
    Network,
    apart,
    keep_one_part,
    nothing_there,
    some,
    turn_upwards,
)
from allemande.formats.rails import find_rails
from allemande.topology import Cluster

__all__ = ["parse", "read_cluster"]

LOSSLESS_QUEUE_PACKETS = 32  # in each input buffer, as in the generated lossless networks
_EXPECTED = "what ibnetdiscover prints, or a net file of ibsim"
_KEYS = {*OPTIONS, "port", "rail"}


# ---- the network ---------------------------------------------------------------------------------


def _trunks(nodes: Mapping[str, Node], source: Source, notes: list[str]) -> list[FoundLink]:
    """The cables between switches, by identity, in the order of the file."""
    found = []
    loops = []
    seen: set[frozenset[tuple[str, int]]] = set()
    for node in nodes.values():
        for port in node.ports if node.kind == "Switch" and not node.left_out else ():
            peer = nodes[port.peer]
            ends = frozenset({(node.identity, port.number), (port.peer, port.peer_port)})
            if peer.kind != "Switch" or peer.left_out or ends in seen:
                continue
            seen.add(ends)
            if port.peer == node.identity:
                loops.append(f"{source.at(port.line)}: {node.description or node.identity}")
            else:
                found.append(FoundLink(node.identity, port.peer, port.rate_mbit_s, line=port.line))
    if loops:
        notes.append(f"cables from a switch to itself are left out: {some(loops)}")
    return found


def _dead_ends(network: Network, others: set[str]) -> set[str]:
    """Switches that carry nothing between hosts: those of ports that do not count, and what leads
    only to them."""
    hosts = set(network.hosts)
    busy = {link.above for link in network.links if link.below in hosts}
    joined = {name: set(names) for name, names in network.neighbours().items()}
    waiting = [name for name in network.switches if name in others and name not in busy]
    if not waiting:
        return set()  # nothing was left out: the fabric stays as it is
    waiting += [name for name in network.switches if name not in busy and len(joined[name]) < 2]
    gone: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in gone:
            continue
        gone.add(name)
        for other in joined.pop(name):
            if other in joined:
                joined[other].discard(name)
                if other not in busy and len(joined[other]) < 2:
                    waiting.append(other)
    return gone


def _network(nodes: Mapping[str, Node], source: Source, notes: list[str]) -> Network:
    plugs = find_plugs(nodes, source, notes)
    trunks = _trunks(nodes, source, notes)
    found_names = switch_names(nodes.values())
    renamed = apart(found_names.values(), plugs, notes)
    names = {identity: renamed[name] for identity, name in found_names.items()}
    leaves_of = {host: [plug.port.peer for plug in found] for host, found in plugs.items()}
    rails = find_rails(leaves_of, ((trunk.below, trunk.above) for trunk in trunks))
    chosen = Choice(plugs, rails, names, source, notes).make()
    network = Network(
        switch_keys={
            "architecture": "input",
            "switching": "cut-through",
            "flow_control": "back-pressure",
        },
        queue_packets=LOSSLESS_QUEUE_PACKETS,
        notes=notes,
    )
    for host, found in chosen.items():
        network.hosts.append(host)
        network.lines[host] = found[0].node.line
        network.links += [
            FoundLink(host, names[plug.port.peer], plug.port.rate_mbit_s, line=plug.port.line)
            for plug in found
        ]
    network.switches = list(names.values())
    network.lines |= {name: nodes[identity].line for identity, name in names.items()}
    network.links += [
        replace(trunk, below=names[trunk.below], above=names[trunk.above]) for trunk in trunks
    ]
    gone = _dead_ends(network, {names[leaf] for found in leaves_of.values() for leaf in found})
    if gone:
        network.keep({*network.hosts, *network.switches} - gone)
        notes.append(f"switches to which no port that counts leads are left out: {some(gone)}")
    left_out = sum(node.left_out for node in nodes.values())
    if left_out:
        notes.append(f"left out: {left_out} routers and aggregation nodes")
    return network


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`ibnetdiscover:FILE[,key=value...]`: the cluster, and what the reader should know of it."""
    source = parse_source(text, _KEYS)
    notes: list[str] = []
    nodes = parse(source.read(_EXPECTED), source.name, notes)
    network = _network(nodes, source, notes)
    if not network.hosts:
        raise nothing_there(network, source, _EXPECTED)
    keep_one_part(network, source)
    turn_upwards(network)
    return build(network, source), network.notes
