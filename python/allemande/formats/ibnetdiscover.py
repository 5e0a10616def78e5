"""What `ibnetdiscover` prints of an InfiniBand fabric, and the net files of ibsim.

::

    Switch  36 "S-0002c902004885b0"     # "leaf0" enhanced port 0 lid 3 lmc 0
    [1]     "H-0002c9020048aa10"[1](2c9020048aa11)      # "node1 HCA-1" lid 5 4xEDR
    [19]    "S-0002c902004885c8"[1]     # "spine0" lid 2 4xEDR

    Ca      2 "H-0002c9020048aa10"      # "node1 HCA-1"
    [1](2c9020048aa11)  "S-0002c902004885b0"[1]     # lid 5 lmc 0 "leaf0" lid 3 4xEDR

A host's name is the first word of its adapters' description. Adapters that only say what model they
are, or the same as others, are each a host, named by GUID. Width times speed is the data rate.
Routers, and the nodes by which switches add up numbers (SHARP), are left out.

Each cable stands at both of its ends; one is enough, as in a dump that is cut off. A host has one
link in a cluster file, unless all its ports are asked for: where it has several in the fabric,
`rail` says which network counts, found by the switches (formats.rails), or `port` which port.

ibsim has `Hca` for `Ca`, any text for a GUID, and `w=` and `s=` for the widths and speeds that a
port may have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from allemande.errors import BadInput
from allemande.formats.imported_cluster import (
    GO_ON,
    LINKS_OF_HOST_MAX,
    OPTIONS,
    FoundLink,
    Network,
    Source,
    apart,
    build,
    keep_one_part,
    nothing_there,
    parse_source,
    some,
    some_hosts,
    turn_upwards,
)
from allemande.formats.rails import Rail, find_rails
from allemande.topology import Cluster

LOSSLESS_QUEUE_PACKETS = 32  # in each input buffer, as in the generated lossless networks
_EXPECTED = "what ibnetdiscover prints, or a net file of ibsim"
_KEYS = {*OPTIONS, "port", "rail"}
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
# ibsim's bits, as InfiniBand's: the highest of those a port may have.
_WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12}
_SPEEDS = {1: "SDR", 2: "DDR", 4: "QDR"}
_IBSIM_WIDTH, _IBSIM_SPEED = 2, 1  # where nothing is said
_KINDS = {"Switch": "Switch", "Ca": "Ca", "Hca": "Ca", "Rt": "Rt"}
_OF_PREFIX = {"S-": "Switch", "H-": "Ca", "R-": "Rt"}

_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+[0-9]{1,4}\s+"([^"]{1,80})"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[([0-9]{1,4})\](?:\[ext [0-9]+\])?(?:\([0-9a-fA-F]+\))?\s*"([^"]{1,80})"'
    r"(?:\s*\[([0-9]{1,4})\])?"
)
_SPEED = re.compile(r"\b([0-9]{1,2})x([A-Za-z]+[0-9]{0,3})")
_LID = re.compile(r"\blid [0-9]")
_QUOTED = re.compile(r'"([^"]*)"')
_SYSTEM = re.compile(r"sysimgguid=(0x)?([0-9a-fA-F]{1,16})\b")
_OPTION = re.compile(r"\b([ws])=([0-9]{1,2})\b")
_DEFAULT = re.compile(r"(width|speed)=([0-9]{1,2})\b")
# Descriptions that name a model: what firmware says before the host has said its name.
_MODEL = re.compile(
    r"MT[0-9]{3,6}\b|.*(Mellanox|NVIDIA) Technologies|(ConnectX|InfiniHost|BlueField|InfiniScale)|"
    r"(localhost(\.localdomain)?|\(none\)|unknown)(\s|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Port:
    """Of one node, and what is at the other end of its cable."""

    number: int
    peer: str
    peer_port: int
    rate_mbit_s: float | None  # None: a speed that is not said or not known
    line: int = 0


@dataclass
class Node:
    kind: str  # Switch, Ca or Rt
    identity: str  # "H-0002c9020048aa10"
    description: str
    line: int = 0
    system: str = ""  # the GUID of the device that it is a part of
    ports: list[Port] = field(default_factory=list)

    @property
    def left_out(self) -> bool:
        return self.kind == "Rt" or "Aggregation Node" in self.description

    @property
    def guid(self) -> str:
        return self.identity[2:] if self.identity[:2] in _OF_PREFIX else self.identity

    @property
    def adapter(self) -> str:
        """What follows the host's name: "HCA-1", "mlx5_0"."""
        return " ".join(self.description.split()[1:])


# ---- reading -------------------------------------------------------------------------------------


def _rate(width: int, speed: str) -> float | None:
    lane = LANE_GBIT_S.get(speed.upper())
    return None if lane is None or width == 0 else width * lane * 1000


class _Reader:
    """The nodes of a text, in its order."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines = text.split("\n")
        self._cut = len(self._lines) if self._lines[-1] else 0  # a last line that does not end
        self._node: Node | None = None
        self._system = ""
        self._bits = {"w": _IBSIM_WIDTH, "s": _IBSIM_SPEED}
        self._ibsim = not _SPEED.search(text) and not _LID.search(text)
        self._ports: dict[tuple[str, int], Port] = {}
        self._described: dict[str, str] = {}  # by identity, from the other end of a cable
        self.nodes: dict[str, Node] = {}
        self.notes: list[str] = []

    def _at(self, line: int) -> str:
        return f"{self._source}:{line}"

    def read(self) -> None:
        for number, line in enumerate(self._lines, 1):
            if line.startswith("["):
                self._read_port(number, line)
            elif match := _NODE.match(line):
                self._begin(number, match)
            elif match := _SYSTEM.match(line):
                self._system = match[2].lower()
            elif match := _DEFAULT.match(line):
                self._bits[match[1][0]] = int(match[2])
            elif line.startswith(("@", "include", "module")):
                self.notes.append(f"{self._at(number)}: {line!r:.60} is passed over")
        if self._ibsim and any(node.ports for node in self.nodes.values()):
            self.notes.append(
                "no speeds as ibnetdiscover prints them: read as a net file of ibsim, in which "
                "ports without w= and s= have 4x SDR, 8 Gbit/s"
            )
        self._join_ends()

    def _begin(self, line: int, match: re.Match[str]) -> None:
        kind, identity = _KINDS[match[1]], match[2]
        known = self.nodes.get(identity)
        if known is not None and known.kind != kind:
            raise BadInput(
                f"{self._at(line)}: {identity!r} is {kind} here and {known.kind} in line "
                f"{known.line}; expected one node for each GUID: {GO_ON}"
            )
        own = match[1] == "Hca" or identity[:2] not in _OF_PREFIX  # ibsim's default
        description = (match[3] or (identity if own else "")).strip()
        self._node = known or Node(kind, identity, description, line)
        self._node.system = self._node.system or self._system
        self._system = ""
        self.nodes[identity] = self._node

    def _read_port(self, number: int, line: str) -> None:
        match = _PORT.match(line)
        rest = "" if match is None else line[match.end() :]
        rate = None if match is None else self._rate_of(rest)
        if number == self._cut and (match is None or rate is None):
            self.notes.append(f"{self._at(number)}: the file ends inside a line: it is left out")
            return
        if match is None or self._node is None:
            raise BadInput(
                f"{self._at(number)}: {line!r:.60} cannot be read; expected a port as in "
                f'[1] "S-0002c902004885b0"[7] # \N{HORIZONTAL ELLIPSIS} 4xEDR, below a node: '
                f"{GO_ON}"
            )
        quoted = _QUOTED.findall(rest)
        if quoted and quoted[-1].strip():
            self._described.setdefault(match[2], quoted[-1].strip())
        port = Port(int(match[1]), match[2], int(match[3] or 1), rate, number)
        twin = self._ports.setdefault((self._node.identity, port.number), port)
        if twin is port:
            self._node.ports.append(port)
        elif (twin.peer, twin.peer_port) != (port.peer, port.peer_port):
            raise BadInput(
                f"{self._at(number)}: port [{port.number}] of {self._node.identity!r} stands in "
                f"line {twin.line}, too, and leads elsewhere; expected each port once: {GO_ON}"
            )

    def _rate_of(self, rest: str) -> float | None:
        if self._ibsim:
            bits = {**self._bits, **{key: int(value) for key, value in _OPTION.findall(rest)}}
            width = max((one for bit, one in _WIDTHS.items() if bits["w"] & bit), default=0)
            speeds = [name for bit, name in _SPEEDS.items() if bits["s"] & bit]
            return _rate(width, speeds[-1] if speeds else "")
        found = _SPEED.findall(_QUOTED.sub('""', rest.partition("#")[2]))
        return _rate(int(found[-1][0]), found[-1][1]) if found else None

    def _join_ends(self) -> None:
        """Every cable at both of its ends, with the rate that one of them has."""
        ends = self._ports
        alone: list[str] = []
        for (identity, number), port in list(ends.items()):
            back = ends.get((port.peer, port.peer_port))
            if back is None:
                if port.peer not in self.nodes:
                    kind = _OF_PREFIX.get(port.peer[:2], "Ca")
                    described = self._described.get(port.peer, "")
                    self.nodes[port.peer] = Node(kind, port.peer, described, port.line)
                    alone.append(described or port.peer)
                back = Port(port.peer_port, identity, number, port.rate_mbit_s, port.line)
                self.nodes[port.peer].ports.append(back)
                ends[port.peer, port.peer_port] = back
            elif (back.peer, back.peer_port) != (identity, number):
                raise BadInput(
                    f"{self._at(port.line)}: port [{number}] of {identity!r} leads to "
                    f"{port.peer!r}[{port.peer_port}], which leads elsewhere by line {back.line}; "
                    "expected that the ends of a cable name each other: put # before one of the "
                    "lines to read the rest"
                )
        for node in self.nodes.values():
            node.ports = [
                port
                if port.rate_mbit_s is not None
                else replace(port, rate_mbit_s=ends[port.peer, port.peer_port].rate_mbit_s)
                for port in node.ports
            ]
        if alone:
            self.notes.append(
                f"named by the other end of a cable alone: {some(alone)}; is the file cut off?"
            )


def parse(text: str, source: str, notes: list[str] | None = None) -> dict[str, Node]:
    """The nodes by identity, in the order of the file, with each cable at both of its ends."""
    reader = _Reader(text, source)
    reader.read()
    if notes is not None:
        notes += reader.notes
    return reader.nodes


# ---- names ---------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")[:46]


def _switch_names(nodes: Iterable[Node]) -> dict[str, str]:
    """By description where that tells switches apart; else with the end of the GUID."""
    switches = [node for node in nodes if node.kind == "Switch" and not node.left_out]
    plain = {
        node.identity: _plain(node.description.partition(";")[2] or node.description)
        for node in switches
    }
    alike = Counter(plain.values())
    names: dict[str, str] = {}
    used: set[str] = set()
    for identity, name in plain.items():
        if not name or alike[name] > 1:
            name = f"{(name or 'switch')[:40]}-{_plain(identity)[-12:]}"
        while name in used:
            name = f"{name[:40]}-{len(used)}"
        used.add(name)
        names[identity] = name
    return names


def _is_alone(cards: Sequence[Node]) -> bool:
    """Whether adapters of one description can be in one host: a name alone, each on a switch of
    its own."""
    leaves = [{port.peer for port in card.ports} for card in cards]
    return (
        len(cards) <= LINKS_OF_HOST_MAX
        and len(cards[0].description.split()) == 1
        and len(set().union(*leaves)) == sum(len(each) for each in leaves)
    )


def _host_names(cards: Sequence[Node], notes: list[str]) -> dict[str, str]:
    """The host of each adapter, by identity."""
    alike: dict[str, list[Node]] = {}
    for card in cards:
        alike.setdefault(card.description, []).append(card)
    devices: dict[str, str] = {}  # those of which each is taken for a host -> its name
    words: dict[str, str] = {}  # a name -> the word that it was made of
    names: dict[str, str] = {}
    nameless = []
    for description, same in alike.items():
        word = (description.split() or [""])[0]
        name = _plain(word)
        model = not name or _MODEL.match(description) is not None
        one_device = len({card.system or card.guid for card in same}) == 1
        named = not model and words.setdefault(name, word) == word
        if named and (one_device or _is_alone(same)):
            names |= {card.identity: name for card in same}
            continue
        nameless.append(f"{len(same)} x {description!r:.50}")
        begin = "host" if model else name[:40]
        for card in same:
            device = card.system if card.system.strip("0") else card.guid
            devices.setdefault(device, f"{begin}-{_plain(card.guid)[-16:]}")
            names[card.identity] = devices[device]
    if nameless:
        notes.append(
            f"adapters whose description tells no host: {some(nameless)}; each device is taken for "
            "a host, named by its GUID"
        )
    return names


def _natural(name: str) -> list[tuple[int, str]]:
    """h2 before h10."""
    return [
        (int(part), "") if part.isdecimal() and part.isascii() else (-1, part)
        for part in re.split(r"([0-9]{1,18})", name)
        if part
    ]


# ---- the ports that count ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plug:
    """A port of a host that leads to a switch."""

    node: Node
    port: Port

    @property
    def name(self) -> str:
        return f"{self.node.adapter or self.node.identity}/{self.port.number}"

    @property
    def order(self) -> tuple[list[tuple[int, str]], int, str]:
        return _natural(self.node.adapter), self.port.number, self.node.identity

    def is_called(self, wanted: str) -> bool:
        node = self.node
        return wanted in (self.name, str(self.port.number), node.adapter, node.identity, node.guid)


_Plugs = dict[str, list[_Plug]]


def _plugs(nodes: Mapping[str, Node], source: Source, notes: list[str]) -> _Plugs:
    """The ports of each host that lead to a switch, in the order of its adapters."""
    cards = [node for node in nodes.values() if node.kind == "Ca" and not node.left_out]
    names = _host_names([card for card in cards if card.ports], notes)
    found: _Plugs = {}
    direct: list[tuple[Node, Port]] = []
    for card in cards:
        for port in card.ports:
            peer = nodes[port.peer]
            if peer.kind == "Switch" and not peer.left_out:
                found.setdefault(names[card.identity], []).append(_Plug(card, port))
            elif peer.kind == "Ca" and not peer.left_out:
                direct.append((card, port))
    if direct:
        card, port = direct[0]
        ends = f"{names[card.identity]!r} and {names.get(port.peer, port.peer)!r}"
        if not found:
            raise BadInput(
                f"{source.at(port.line)}: {ends} are joined without a switch; expected hosts on "
                "switches, as a cluster file has them: write one with a switch between the two"
            )
        notes.append(f"{source.at(port.line)}: {ends} are joined without a switch: left out")
    for plugs in found.values():
        plugs.sort(key=lambda plug: plug.order)
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


@dataclass
class _Choice:
    """Which ports count."""

    plugs: _Plugs
    rails: list[Rail]
    names: Mapping[str, str]  # of switches
    source: Source
    notes: list[str]

    def _described(self, number: int) -> str:
        rail = self.rails[number - 1]
        leaves = some(self.names[leaf] for leaf in rail.leaves)
        return f"rail={number} is {len(rail.hosts)} hosts on {leaves}"

    def _all_described(self) -> str:
        return "; ".join(self._described(number + 1) for number in range(len(self.rails)))

    def _rail_called(self, wanted: str) -> int:
        if wanted.isdecimal() and wanted.isascii() and 1 <= int(wanted[:9]) <= len(self.rails):
            return int(wanted[:9])
        for fits in (str.__eq__, str.startswith):
            found = {
                number
                for number, rail in enumerate(self.rails, 1)
                for leaf in rail.leaves
                if fits(self.names[leaf], wanted) or fits(leaf, wanted)
            }
            if wanted and len(found) == 1:
                return found.pop()
        known = (
            f"expected rail=all, or: {self._all_described()}"
            if self.rails
            else ("no host has ports on several switches; leave it out")
        )
        raise BadInput(f"{self.source.name}: no rail is called {wanted!r:.60}; {known}")

    def _problem(self, host: str, plugs: Sequence[_Plug], wanted: str | None) -> BadInput:
        names = ", ".join(plug.name for plug in plugs)
        problem = "" if wanted is None else f", none of them {wanted!r:.60}"
        say = (
            f"port=first, port={plugs[0].port.number} or port={plugs[0].name}"
            if not self.rails
            else f"port=first, or one rail for all: {self._all_described()}; rail=all takes all"
        )
        return BadInput(
            f"{self.source.name}: host {host!r} has the ports {names}{problem}; a cluster file has "
            f"one link for a host: say which with {say}"
        )

    def _choose_port(self, host: str, plugs: list[_Plug], first: set[str]) -> _Plug:
        if len(plugs) == 1:
            return plugs[0]
        wanted = self.source.options.get("port")
        if wanted == "first":
            return next((plug for plug in plugs if plug.port.peer in first), plugs[0])
        if wanted is not None:
            for plug in plugs:
                if plug.is_called(wanted):
                    return plug
        raise self._problem(host, plugs, wanted)

    def _only(self, number: int) -> None:
        """Leaves the ports of one rail."""
        leaves = set(self.rails[number - 1].leaves)
        inside = {
            host: [plug for plug in plugs if plug.port.peer in leaves]
            for host, plugs in self.plugs.items()
        }
        without = [host for host, plugs in inside.items() if not plugs]
        if without:
            self.notes.append(f"without a port on rail {number}, left out: {some_hosts(without)}")
        doubled = [host for host, plugs in inside.items() if len(plugs) > 1]
        self.plugs = {host: plugs for host, plugs in inside.items() if plugs}
        if doubled and "port" not in self.source.options:
            self.notes.append(
                f"several ports on rail {number}, the first is taken: {some_hosts(doubled)}"
            )
            self.plugs = {host: plugs[:1] for host, plugs in self.plugs.items()}

    def _warn_of_mixtures(self, chosen: Mapping[str, list[_Plug]]) -> None:
        rail_of = {leaf: n for n, rail in enumerate(self.rails, 1) for leaf in rail.leaves}
        used: dict[int, list[str]] = {}
        for host, (plug, *_) in chosen.items():
            if plug.port.peer in rail_of:
                used.setdefault(rail_of[plug.port.peer], []).append(host)
        if len(used) > 1:
            counted = ", ".join(f"{some_hosts(used[n])} on rail {n}" for n in sorted(used))
            self.notes.append(
                f"rails are mixed: {counted}; what one rail carries is not seen like this: say "
                f"which with rail=1 to rail={len(self.rails)}"
            )

    def make(self) -> _Plugs:
        """The ports that count, by host."""
        wanted = self.source.options.get("rail")
        if wanted == "all":
            return self.plugs
        first: set[str] = set()
        if wanted is not None:
            self._only(self._rail_called(wanted))
        elif self.rails:
            most = max(self.rails, key=lambda rail: len(rail.hosts))
            first = set(most.leaves)
        chosen = {
            host: [self._choose_port(host, plugs, first)] for host, plugs in self.plugs.items()
        }
        if wanted is None:
            self._warn_of_mixtures(chosen)
        return chosen


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
    busy = {link.above for link in network.links if link.below in set(network.hosts)}
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
    plugs = _plugs(nodes, source, notes)
    trunks = _trunks(nodes, source, notes)
    found_names = _switch_names(nodes.values())
    renamed = apart(found_names.values(), plugs, notes)
    names = {identity: renamed[name] for identity, name in found_names.items()}
    leaves_of = {host: [plug.port.peer for plug in found] for host, found in plugs.items()}
    rails = find_rails(leaves_of, ((trunk.below, trunk.above) for trunk in trunks))
    chosen = _Choice(plugs, rails, names, source, notes).make()
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
    linked = {end for trunk in trunks for end in (trunk.below, trunk.above)}
    linked |= {plug.port.peer for found in chosen.values() for plug in found}
    network.switches = [name for identity, name in names.items() if identity in linked]
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
