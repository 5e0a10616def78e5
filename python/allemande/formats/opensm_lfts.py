"""LID tables as OpenSM dumps them (`opensm -D 0x40`, opensm-lfts.dump) and reads them (-R file -U).

    Unicast lids [0-13] of switch Lid 1 guid 0x0000000000200000 ('leaf0'):
    0x0001 000 # Switch portguid 0x0000000000200000: 'leaf0'
    0x0002 001 # Channel Adapter portguid 0x0000000000100001: 'h0'
    0x0003 001 # Channel Adapter portguid 0x0000000000100001: 'h0'
    3 lids dumped

A host has 2^LMC LIDs in a row. A table says by which port its switch sends what is for a LID; port
0 is the switch itself. Ports are numbered from 1 in the order of a switch's links in the cluster
file: write links in the order of the ports. Names are node descriptions, of which the first word
counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from allemande import _core
from allemande.errors import BadInput
from allemande.text_files import MIB, read_text, shown
from allemande.topology import Cluster

LMC_MAX = 7
DUMP_BYTES_MAX = 64 * MIB
_EXPECTED = "a dump of LID tables, as opensm -D 0x40 writes it"
_SWITCH = re.compile(r"Unicast lids .*guid (0x[0-9a-fA-F]{1,16}) \('?([^')]*)'?\)?")
_ENTRY = re.compile(
    r"0x([0-9a-fA-F]{1,8})\s+([0-9]{1,4})\s*[:#]\s*\(?"
    r"([A-Za-z ]+?) portguid (0x[0-9a-fA-F]{1,16}): '([^']*)'"
)
_OWN_GUIDS = {"host": 0x0000_0000_0010_0000, "switch": 0x0000_0000_0020_0000}


@dataclass(frozen=True)
class LidTables:
    """`ports[switch][host << lmc | offset]`: the port to leave by, from 1; 0: none."""

    lmc: int
    ports: list[list[int]]


@dataclass
class _Node:
    guid: int
    port_guid: int
    lids: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Fabric:
    """What OpenSM calls the nodes of a cluster: GUIDs and LIDs, by name."""

    hosts: dict[str, _Node]
    switches: dict[str, _Node]


def _word(description: str) -> str:
    return (description.split() or [""])[0]


class _Parsed:
    """The lines of a dump, by name."""

    def __init__(self, text: str, source: str) -> None:
        self.ports: dict[str, dict[int, int]] = {}  # switch -> LID -> port
        self.nodes: dict[str, dict[str, _Node]] = {"host": {}, "switch": {}}
        switch = ""
        for number, line in enumerate(text.split("\n"), 1):
            if head := _SWITCH.match(line):
                switch = _word(head[2])
                self.ports[switch] = {}
                self._node("switch", switch, int(head[1], 16))
            elif entry := _ENTRY.match(line):
                if not switch:
                    raise BadInput(f"{source}:{number}: a LID before any switch; expected a dump")
                lid, port = int(entry[1], 16), int(entry[2])
                kind = "switch" if entry[3] == "Switch" else "host"
                node = self._node(kind, _word(entry[5]), int(entry[4], 16))
                if lid not in node.lids:
                    node.lids.append(lid)
                if len(node.lids) > 1 << LMC_MAX:
                    raise BadInput(
                        f"{source}:{number}: {kind} {_word(entry[5])!r:.60} has more than "
                        f"{1 << LMC_MAX} LIDs; expected names that differ"
                    )
                self.ports[switch][lid] = port
            elif line.startswith("0x") and "UNREACHABLE" not in line:
                raise BadInput(
                    f"{source}:{number}: {line!r:.80} cannot be read; expected LID and port"
                )
        if not self.ports:
            raise BadInput(f"{source}: no table is in it; expected what opensm -D 0x40 dumps")

    def _node(self, kind: str, name: str, guid: int) -> _Node:
        return self.nodes[kind].setdefault(name, _Node(guid, guid))


def read_fabric(text: str, source: str) -> Fabric:
    """The GUIDs and LIDs of a dump, to write another for the same fabric."""
    parsed = _Parsed(text, source)
    return Fabric(parsed.nodes["host"], parsed.nodes["switch"])


def read_tables(cluster: Cluster, text: str, source: str) -> LidTables:
    """The tables of a dump for the hosts and switches of a cluster.

    Raises BadInput for a host or switch that the dump does not name, LIDs that are no power of two
    per host, and lines that cannot be read.
    """
    parsed = _Parsed(text, source)
    lids: list[int] = []
    counts = set()
    for host in cluster.hosts:
        node = parsed.nodes["host"].get(host.name)
        if node is None:
            raise BadInput(f"{source}: host {host.name!r} of cluster {cluster.name} has no LID")
        counts.add(len(node.lids))
        lids.extend(sorted(node.lids))
    number = counts.pop()
    lmc = number.bit_length() - 1
    if counts or number != 1 << lmc or lmc > LMC_MAX:
        raise BadInput(
            f"{source}: hosts have {sorted({number, *counts})} LIDs; expected 1, 2, 4 .. 128 of "
            "each, the same of all"
        )
    rows = []
    for switch in cluster.switches:
        if switch.name not in parsed.ports:
            raise BadInput(f"{source}: switch {switch.name!r} of {cluster.name} has no table")
        table = parsed.ports[switch.name]
        rows.append([table.get(lid, 0) for lid in lids])
    return LidTables(lmc, rows)


def load_tables(cluster: Cluster, path: str) -> LidTables:
    """The same from a file."""
    return read_tables(cluster, read_text(path, _EXPECTED, DUMP_BYTES_MAX), shown(path))


def _own_fabric(cluster: Cluster, lmc: int) -> Fabric:
    """GUIDs in the order of the file; LIDs of switches first, those of hosts aligned behind."""
    switches = {
        switch.name: _Node(_OWN_GUIDS["switch"] + i, _OWN_GUIDS["switch"] + i, [i + 1])
        for i, switch in enumerate(cluster.switches)
    }
    first = -(-(len(switches) + 1) >> lmc)
    hosts = {
        host.name: _Node(
            _OWN_GUIDS["host"] + i,
            _OWN_GUIDS["host"] + i,
            [(first + i << lmc) + offset for offset in range(1 << lmc)],
        )
        for i, host in enumerate(cluster.hosts)
    }
    return Fabric(hosts, switches)


def write_tables(cluster: Cluster, tables: LidTables, fabric: Fabric | None = None) -> str:
    """A dump. `fabric`: as read_fabric() found it, so that OpenSM takes the dump for its own.

    Raises BadInput where the fabric lacks a node, or has other numbers of LIDs.
    """
    fabric = fabric or _own_fabric(cluster, tables.lmc)
    known: list[tuple[str, _Node]] = []
    for host in cluster.hosts:
        node = fabric.hosts.get(host.name)
        if node is None or len(node.lids) != 1 << tables.lmc:
            found = "none" if node is None else str(len(node.lids))
            raise BadInput(
                f"host {host.name!r}: the fabric has {found} LIDs for it; expected "
                f"{1 << tables.lmc}, as the tables have"
            )
        known.append((host.name, node))
    out = []
    last = max(lid for _, node in known for lid in node.lids)
    for switch, row in zip(cluster.switches, tables.ports, strict=True):
        own = fabric.switches.get(switch.name)
        if own is None:
            raise BadInput(f"switch {switch.name!r} is not in the fabric")
        lid = own.lids[0] if own.lids else 0
        out.append(
            f"Unicast lids [0-{last}] of switch Lid {lid} guid 0x{own.guid:016x} ('{switch.name}'):"
        )
        if own.lids:
            out.append(f"0x{lid:04x} 000 # Switch portguid 0x{own.guid:016x}: '{switch.name}'")
        count = len(out)
        for number, (name, node) in enumerate(known):
            for offset, host_lid in enumerate(sorted(node.lids)):
                port = row[number << tables.lmc | offset]
                if port:
                    out.append(
                        f"0x{host_lid:04x} {port:03} # Channel Adapter portguid "
                        f"0x{node.port_guid:016x}: '{name}'"
                    )
        out.append(f"{len(out) - count + (1 if own.lids else 0)} lids dumped")
    return "\n".join(out) + "\n"


def make_dump(
    cluster: Cluster,
    lmc: int,
    engine: str,
    like: str | None = None,
    tables: list[list[int]] | None = None,
) -> str:
    """A dump of `tables`, or of such as `engine` makes, minhop or updn; `like`: a dump of the same
    fabric."""
    fabric = None
    if like is not None:
        fabric = read_fabric(read_text(like, _EXPECTED, DUMP_BYTES_MAX), shown(like))
    ports = tables or _core.make_routes(cluster, "lid", lmc, engine).lid_tables()
    return write_tables(cluster, LidTables(lmc, ports), fabric)
