"""Hosts and switches of an InfiniBand fabric by name, and the ports of hosts that count.

A host's name is the first word of its adapters' description. Adapters that only say what model they
are, or the same as others, are each a host, named by GUID.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from allemande.errors import BadInput
from allemande.formats.fabric_dump import Node, Port
from allemande.formats.import_source import Source
from allemande.formats.imported_cluster import LINKS_OF_HOST_MAX
from allemande.formats.imported_network import note_renamed, plain, some, some_hosts
from allemande.formats.rails import Rail
from allemande.quantities import format_rate
from allemande.topology import NAME_CHARACTERS_MAX

GUID_DIGITS = 16

# What firmware says before the host has said its name is a model. Its letters count: hosts may be
# called mt1001, intel or bluefield.
_MODEL = re.compile(
    r"(MT[0-9]{3,6}|Mellanox|NVIDIA|Intel|QLogic|Cornelis|Voltaire|HCA|CA|HFI)\b(?![-_.])|"
    r"ConnectX|InfiniHost|BlueField|InfiniScale|.*(Mellanox|NVIDIA) Technologies"
)
# Where a device of Linux follows, or a number of an adapter, the host has said its name.
_DEVICE = re.compile(
    r"\S+\s+(mlx[0-9]_\w*[0-9]|hfi[0-9]_[0-9]+|qib[0-9]+|mthca[0-9]+|ib[a-z][0-9]\w*|"
    r"(HCA|HFI)-?[0-9]+)\s*",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"(localhost(\.localdomain)?|\(none\)|unknown)(\s|$)", re.IGNORECASE)


# ---- names ---------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return plain(text)[:NAME_CHARACTERS_MAX]


def _names_no_host(description: str) -> bool:
    if _NO_NAME.match(description) or not _plain((description.split() or [""])[0]):
        return True
    return _MODEL.match(description) is not None and not _DEVICE.fullmatch(description)


def switch_names(nodes: Iterable[Node]) -> dict[str, str]:
    """By description where that tells switches apart; else with the end of the GUID."""
    switches = [node for node in nodes if node.kind == "Switch" and not node.left_out]
    described = {
        node.identity: _plain(node.description.partition(";")[2] or node.description)
        for node in switches
    }
    alike = Counter(described.values())
    names: dict[str, str] = {}
    used: set[str] = set()
    for identity, name in described.items():
        if not name or alike[name] > 1:
            name = f"{(name or 'switch')[:40]}-{_plain(identity)[-12:]}"
        begin, number = name[:40], 1
        while name in used:
            number += 1
            name = f"{begin}-{number}"
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
    # A name -> the word that it was made of. Who is called so keeps it; others get it after that.
    firsts = [(description.split() or [""])[0] for description in alike]
    words = {word: word for word in firsts if _plain(word) == word}
    names: dict[str, str] = {}
    nameless = []
    for description, same in alike.items():
        word = (description.split() or [""])[0]
        name = _plain(word)
        model = _names_no_host(description)
        one_device = len({card.system or card.guid for card in same}) == 1
        named = not model and words.setdefault(name, word) == word
        if named and (one_device or _is_alone(same)):
            names |= {card.identity: name for card in same}
            continue
        nameless.append(f"{len(same)} x {description!r:.50}")
        begin = "host" if model else name[: NAME_CHARACTERS_MAX - 1 - GUID_DIGITS]
        for card in same:
            device = card.system if card.system.strip("0") else card.guid
            devices.setdefault(device, f"{begin}-{_plain(card.guid)[-GUID_DIGITS:]}")
            names[card.identity] = devices[device]
    if nameless:
        notes.append(
            f"adapters whose description tells no host: {some(nameless)}; each device is taken for "
            "a host, named by its GUID"
        )
    stay = set(names.values())
    kept = {word: name for name, word in words.items() if name in stay}
    note_renamed("hosts", kept, notes)
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
class Plug:
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


Plugs = dict[str, list[Plug]]


def find_plugs(nodes: Mapping[str, Node], source: Source, notes: list[str]) -> Plugs:
    """The ports of each host that lead to a switch, in the order of its adapters."""
    cards = [node for node in nodes.values() if node.kind == "Ca" and not node.left_out]
    names = _host_names([card for card in cards if card.ports], notes)
    found: Plugs = {}
    direct: list[tuple[Node, Port]] = []
    for card in cards:
        for port in card.ports:
            peer = nodes[port.peer]
            if peer.kind == "Switch" and not peer.left_out:
                found.setdefault(names[card.identity], []).append(Plug(card, port))
            elif peer.kind == "Ca" and not peer.left_out:
                direct.append((card, port))
    loose = [card.description or card.identity for card in cards if not card.ports]
    if loose:
        notes.append(f"adapters without a cable are left out: {some(loose)}")
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
class Choice:
    """Which ports count."""

    plugs: Plugs
    rails: list[Rail]
    names: Mapping[str, str]  # of switches
    source: Source
    notes: list[str]

    def _described(self, number: int) -> str:
        rail = self.rails[number - 1]
        leaves = some(self.names[leaf] for leaf in rail.leaves)
        ports = (plug.port for plugs in self.plugs.values() for plug in plugs)
        inside = {port.rate_mbit_s for port in ports if port.peer in rail.leaves}
        rates = " or ".join(format_rate(rate) for rate in sorted(filter(None, inside)))
        at = f" at {rates}" if rates else ""
        return f"rail={number} is {len(rail.hosts)} hosts on {leaves}{at}"

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

    def _problem(self, host: str, plugs: Sequence[Plug], wanted: str | None) -> BadInput:
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

    def _choose_port(self, host: str, plugs: list[Plug], first: set[str]) -> Plug:
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

    def _warn_of_mixtures(self, chosen: Mapping[str, list[Plug]]) -> None:
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

    def make(self) -> Plugs:
        """The ports that count, by host."""
        wanted = self.source.options.get("rail")
        if not self.rails:
            self._warn_of_choices()
        if wanted == "all":
            return self.plugs
        first: set[str] = set()
        if wanted is not None:
            self._only(self._rail_called(wanted))
        elif self.rails:
            most = max(self.rails, key=lambda rail: len(rail.hosts))
            first = set(most.leaves)
            if self.source.options.get("port") == "first":
                self._tell_first(self.rails.index(most) + 1)
        chosen = {
            host: [self._choose_port(host, plugs, first)] for host, plugs in self.plugs.items()
        }
        if wanted is None:
            self._warn_of_mixtures(chosen)
        return chosen

    def _tell_first(self, taken: int) -> None:
        """Which rail a host's first port is on, as another one may be the faster."""
        others = [number + 1 for number in range(len(self.rails)) if number + 1 != taken]
        left = "; ".join(self._described(number) for number in others[:4])
        more = f"; and {len(others) - 4} more" if len(others) > 4 else ""
        self.notes.append(
            f"port=first prefers the rail with most hosts: {self._described(taken)}; left out: "
            f"{left}{more}"
        )

    def _warn_of_choices(self) -> None:
        """Where the switches tell no rails apart."""
        free = [
            host
            for host, plugs in self.plugs.items()
            if len({plug.port.peer for plug in plugs}) > 1
        ]
        if free:
            self.notes.append(
                f"ports on several switches, of which one counts: {some_hosts(free)}; the switches "
                "do not tell which of them belong together"
            )
