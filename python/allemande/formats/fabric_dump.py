"""The nodes and cables of an InfiniBand fabric, as ibnetdiscover and ibsim's files have them.

::

    Switch  36 "S-0002c902004885b0"     # "leaf0" enhanced port 0 lid 3 lmc 0
    [1]     "H-0002c9020048aa10"[1](2c9020048aa11)      # "node1 HCA-1" lid 5 4xEDR
    [19]    "S-0002c902004885c8"[1]     # "spine0" lid 2 4xEDR

    Ca      2 "H-0002c9020048aa10"      # "node1 HCA-1"
    [1](2c9020048aa11)  "S-0002c902004885b0"[1]     # lid 5 lmc 0 "leaf0" lid 3 4xEDR

Width times speed is the data rate. Each cable stands at both of its ends; one is enough, as in a
dump that is cut off.

ibsim has `Hca` for `Ca`, any text for a GUID, and `w=` and `s=` for the widths and speeds that a
port may have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from allemande.errors import BadInput
from allemande.formats.import_source import GO_ON
from allemande.formats.imported_network import some

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
NODES_MAX = 131_072
_KINDS = {"Switch": "Switch", "Ca": "Ca", "Hca": "Ca", "Rt": "Rt"}
_OF_PREFIX = {"S-": "Switch", "H-": "Ca", "R-": "Rt"}

_NODE = re.compile(r'(Switch|Ca|Hca|Rt)\s+[0-9]{1,4}\s+"([^"]{1,80})"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[([0-9]{1,4})\](?:\[ext [0-9]+\])?(?:\([0-9a-fA-F]+\))?\s*"([^"]{1,80})"'
    r"(?:\s*\[([0-9]{1,4})\])?"
)
_SPEED = re.compile(r"\b([0-9]{1,2})x([A-Za-z]+[0-9]{0,3})")
_LID = re.compile(r"\blid [0-9]")
_NODE_BEGINS = re.compile(r"^[ \t]*(Switch|Ca|Hca|Rt)[ \t]+[0-9]", re.MULTILINE)
_SAYS = re.compile(r"^[ \t]*([^#\s].*)", re.MULTILINE)
_QUOTED = re.compile(r'"([^"]*)"')
_BEFORE_A_NODE = re.compile(r"(vendid|devid|(sysimg|switch|ca|rt)guid)=")
_SYSTEM = re.compile(r"sysimgguid=(0x)?([0-9a-fA-F]{1,16})\b")
_OPTION = re.compile(r"\b([ws])=([0-9]{1,2})\b")
_DEFAULT = re.compile(r"(width|speed)=([0-9]{1,2})\b")


@dataclass(frozen=True)
class Port:
    """A port of one node, and what is at the other end of its cable."""

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
        self._lost: list[int] = []  # lines of ports without a node above them
        self._described: dict[str, str] = {}  # by identity, from the other end of a cable
        self.nodes: dict[str, Node] = {}
        self.notes: list[str] = []

    def _at(self, line: int) -> str:
        return f"{self._source}:{line}"

    def read(self) -> None:
        for number, text in enumerate(self._lines, 1):
            line = text.lstrip(" \t")  # as mail and documents indent what is copied into them
            if line.startswith("["):
                self._read_port(number, line)
            elif match := _NODE.match(line):
                self._begin(number, match)
            elif _BEFORE_A_NODE.match(line):
                self._node = None  # a header that is not known must not leave its ports to another
                if match := _SYSTEM.match(line):
                    self._system = match[2].lower()
            elif match := _DEFAULT.match(line):
                self._bits[match[1][0]] = int(match[2])
            elif line.startswith(("@", "include", "module")):
                self.notes.append(f"{self._at(number)}: {line!r:.60} is passed over")
        if self._lost:
            self.notes.append(
                f"{self._at(self._lost[0])}: ports below no node are left out, "
                f"{len(self._lost)} in all; is the beginning cut off?"
            )
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
        if len(self.nodes) > NODES_MAX:
            raise BadInput(f"{self._at(line)}: more than {NODES_MAX} nodes; expected fewer")

    def _read_port(self, number: int, line: str) -> None:
        match = _PORT.match(line)
        rest = "" if match is None else line[match.end() :]
        rate = None if match is None else self._rate_of(rest)
        if number == self._cut and (match is None or rate is None):
            self.notes.append(f"{self._at(number)}: the file ends inside a line: it is left out")
            return
        if match is None:
            raise BadInput(
                f"{self._at(number)}: {line!r:.60} cannot be read; expected a port as in "
                f'[1] "S-0002c902004885b0"[7] # \N{HORIZONTAL ELLIPSIS} 4xEDR, below a node: '
                f"{GO_ON}"
            )
        if self._node is None:
            self._lost.append(number)
            return
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

    def _with_both_rates(self, port: Port) -> Port:
        """A cable is as fast as its slower end; one end may be all that says it."""
        back = self._ports[port.peer, port.peer_port].rate_mbit_s
        rates = [rate for rate in (port.rate_mbit_s, back) if rate is not None]
        return replace(port, rate_mbit_s=min(rates)) if rates else port

    def _join_ends(self) -> None:
        """Every cable at both of its ends, with the rate that one of them has."""
        ends = self._ports
        alone: list[str] = []
        for (identity, number), port in list(ends.items()):
            back = ends.get((port.peer, port.peer_port))
            if back is None:
                if port.peer not in self.nodes:
                    kind = _OF_PREFIX.get(port.peer[:2], "Ca")
                    own = "" if port.peer[:2] in _OF_PREFIX else port.peer
                    described = self._described.get(port.peer, own)
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
            node.ports = [self._with_both_rates(port) for port in node.ports]
        if alone:
            self.notes.append(
                f"named by the other end of a cable alone: {some(alone)}; is the file cut off?"
            )


def parse(text: str, source: str, notes: list[str] | None = None) -> dict[str, Node]:
    """The nodes by identity, in the order of the file, with each cable at both of its ends."""
    if not _NODE_BEGINS.search(text) and (said := _SAYS.search(text)):
        line = text.count("\n", 0, said.start()) + 1
        raise BadInput(
            f"{source}:{line}: no node is in the file, which begins with {said[1][:60]!r}; "
            "expected what ibnetdiscover prints without -l or -p, or a net file of ibsim, with "
            'lines as in Switch 36 "S-0002c902004885b0"'
        )
    reader = _Reader(text, source)
    reader.read()
    if notes is not None:
        notes += reader.notes
    return reader.nodes
