"""The switches, blocks and nodes of Slurm's topology, as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from allemande.errors import BadInput
from allemande.formats.import_source import GO_ON
from allemande.formats.imported_cluster import HOSTS_MAX
from allemande.formats.imported_network import some
from allemande.topology import NAME_CHARACTERS_MAX, expand_hostlist

_ODD_SHOWN = 4


class Written(NamedTuple):
    """A list of names as it stands in a line; empty where none stands there."""

    text: str
    line: int


@dataclass
class Tree:
    """Switches and blocks as they are written, before anything is joined."""

    source: str
    go_on: str = GO_ON  # how to do without what is wrong
    other: str = "put # before this line, or before line {line}, to read the rest"
    nodes: dict[str, list[str]] = field(default_factory=dict)  # by switch
    children: dict[str, list[str]] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of switches and blocks
    nodes_lines: dict[str, int] = field(default_factory=dict)  # of their nodes
    notes: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)  # what was passed over first, with its line
    odd_count: int = 0
    names: int = 0  # of nodes, so far

    def at(self, line: int) -> str:
        return f"{self.source}:{line}"

    def pass_over(self, line: int, why: str) -> None:
        self.odd_count += 1
        if self.odd_count <= _ODD_SHOWN:
            self.odd.append(f"{self.at(line)}: {why}")

    def passed_over(self) -> str:
        """What was passed over, as a note; empty where nothing was."""
        more = f" and {self.odd_count - len(self.odd)} more" if self.odd_count > _ODD_SHOWN else ""
        return f"passed over: {some(self.odd)}{more}" if self.odd else ""

    def _expand(self, text: str, line: int) -> list[str]:
        """The names of a list, each once. Slurm takes a comma at its end."""
        try:
            found = list(dict.fromkeys(expand_hostlist(text.removesuffix(","))))
        except BadInput as error:
            raise BadInput(f"{self.at(line)}: {error}; {self.go_on}") from None
        self.names += len(found)
        if self.names > 2 * HOSTS_MAX:
            raise BadInput(
                f"{self.at(line)}: more than {2 * HOSTS_MAX} names; expected at most {HOSTS_MAX} "
                "nodes"
            )
        return found

    def add_switch(self, name: str, line: int, nodes: Written, children: Written) -> None:
        self._check_new(name, "switch", self.nodes, line)
        self.nodes_lines[name] = nodes.line
        self.nodes[name] = self._expand(nodes.text, nodes.line) if nodes.text else []
        self.children[name] = self._expand(children.text, children.line) if children.text else []
        if name in self.children[name]:
            self.children[name].remove(name)
            self.notes.append(f"{self.at(line)}: switch {name!r} is below itself: passed over")

    def add_block(self, name: str, line: int, nodes: Written) -> None:
        self._check_new(name, "block", self.blocks, line)
        self.nodes_lines[name] = nodes.line
        self.blocks[name] = self._expand(nodes.text, nodes.line) if nodes.text else []

    def _check_new(self, name: str, kind: str, known: Mapping[str, object], line: int) -> None:
        if not 0 < len(name) <= NAME_CHARACTERS_MAX:
            raise BadInput(
                f"{self.at(line)}: {name!r:.80} is no name of a {kind}; expected 1 to "
                f"{NAME_CHARACTERS_MAX} letters, or {self.go_on}"
            )
        if name in known:
            raise BadInput(
                f"{self.at(line)}: {kind} {name!r} stands twice; expected each once: "
                f"{self.other.format(line=self.lines[name])}"
            )
        self.lines[name] = line
