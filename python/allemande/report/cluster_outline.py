"""A cluster drawn as an indented tree."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text
from rich.tree import Tree

from allemande.quantities import format_rate
from allemande.topology import Cluster, Link, Switch, compress_hostlist

DEPTH_MAX = 40
FURTHER_LINES_MAX = 20


class _Strand(NamedTuple):
    """Links between switches that are not part of the tree: alike, from the same switch."""

    origin: str
    targets: tuple[tuple[str, int], ...]  # switch, how many links to it
    text: str

    def links(self) -> int:
        return sum(count for _, count in self.targets)


def _describe_link(link: Link, upward: bool) -> str:
    """Rates and queues of a link, as seen from its lower end."""
    up = link.rate_up_mbit_s, link.queue_up_packets
    down = link.rate_down_mbit_s, link.queue_down_packets
    if not upward:
        up, down = down, up
    rate = format_rate(up[0])
    if up[0] != down[0]:
        rate = f"{rate} up, {format_rate(down[0])} down"
    text = f"{rate}, queues {up[1]} up, {down[1]} down"
    if link.latency_us:
        text += f", {link.latency_us:g} us"
    if link.bidirectional_cap_mbit_s:
        text += f", both ways together {format_rate(link.bidirectional_cap_mbit_s)}"
    return text


def _describe_switch(switch: Switch) -> str:
    """Architecture and what a switch shares among its ports."""
    text = f"site {switch.site}, " if switch.site else ""
    text += f"{switch.architecture}-buffered, {switch.switching}"
    if switch.flow_control != "drop":
        text += f", {switch.flow_control}"
    if switch.buffer_packets:
        text += f", pool of {switch.buffer_packets} packets"
    if switch.backplane_mbit_s:
        text += f", backplane {format_rate(switch.backplane_mbit_s)}"
    return text


class Outline:
    """Hosts on equal links share a line, and so does what is said of equal leaf switches.

    A host is drawn below every switch that it has a link to. Switches that only hosts join to the
    others, as those of a second network, have a tree of their own.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._switches = {switch.name: switch for switch in cluster.switches}
        # parent -> (name, link text) of each node below
        self._children: dict[str, list[tuple[str, str]]] = {}
        # (switch, text) -> switch -> number of links, of those that are not part of a tree
        self._further: dict[tuple[str, str], dict[str, int]] = {}
        self._roots: list[str] = []
        neighbours: dict[str, list[tuple[str, Link, bool]]] = {name: [] for name in self._switches}
        for link in cluster.links:
            if link.to in self._switches:
                neighbours[link.to].append((link.from_, link, True))
            if link.from_ in self._switches:
                neighbours[link.from_].append((link.to, link, False))
        seen: set[str] = set()
        for root in (cluster.root_switch(), *self._switches):
            if root not in seen:
                self._roots.append(root)
                self._walk(root, neighbours, seen)

    def _walk(
        self, root: str, neighbours: dict[str, list[tuple[str, Link, bool]]], seen: set[str]
    ) -> None:
        """Breadth first from a switch, over switches alone."""
        drawn = set()
        seen.add(root)
        queue = [root]
        for node in queue:
            alike: dict[tuple[str, str], int] = {}  # links to one neighbour
            for name, link, upward in neighbours[node]:
                if id(link) in drawn:
                    continue
                drawn.add(id(link))
                if name in seen:
                    described = link.from_, _describe_link(link, True)
                    targets = self._further.setdefault(described, {})
                    targets[link.to] = targets.get(link.to, 0) + 1
                    continue
                below = name, _describe_link(link, upward)
                alike[below] = alike.get(below, 0) + 1
                if name in self._switches:
                    seen.add(name)
                    queue.append(name)
            self._children[node] = [
                (name, text if count == 1 else f"{count} links, each {text}")
                for (name, text), count in alike.items()
            ]

    def further(self) -> list[str]:
        """Lines for the links that no tree has: those of one kind together, few lines in all."""
        strands = [
            _Strand(origin, tuple(targets.items()), text)
            for (origin, text), targets in self._further.items()
        ]
        alike: dict[tuple[object, str], list[str]] = {}
        for strand in strands:
            alike.setdefault((strand.targets, strand.text), []).append(strand.origin)
        lines = []
        for strand in strands:
            origins = alike.pop((strand.targets, strand.text), [])
            if origins:
                lines.append((self._further_line(origins, strand), len(origins) * strand.links()))
        told = [line for line, _ in lines[:FURTHER_LINES_MAX]]
        untold = sum(count for _, count in lines[FURTHER_LINES_MAX:])
        return [*told, f"and {untold} more, all of which --json lists"] if untold else told

    @staticmethod
    def _further_line(origins: list[str], strand: _Strand) -> str:
        by_count: dict[int, list[str]] = {}
        for name, count in strand.targets:
            by_count.setdefault(count, []).append(name)
        targets = ", ".join(
            (f"{count} links to " if count > 1 else "")
            + ("each of " if len(names) > 1 else "")
            + compress_hostlist(names)
            for count, names in by_count.items()
        )
        each = "each of " if len(origins) > 1 else ""
        return f"{each}{compress_hostlist(origins)} - {targets}  {strand.text}"

    def tree(self) -> Tree:
        """The whole of it for a rich console."""
        tree = Tree("", hide_root=True)
        for root in self._roots:
            self._draw(tree, [(root, "")], 0)
        return tree

    def _kind(self, name: str, link: str) -> object:
        """Equal for neighbours that share a line: hosts, and leaves with one kind of hosts."""
        if name not in self._switches:
            return link
        links = {link for _, link in self._children[name]}
        if len(links) == 1 and not any(c in self._switches for c, _ in self._children[name]):
            return link, _describe_switch(self._switches[name]), links.pop()
        return name

    def _draw(self, parent: Tree, nodes: list[tuple[str, str]], depth: int) -> None:
        if depth > DEPTH_MAX:
            parent.add("...")
            return
        groups: list[tuple[object, list[str], str]] = []
        for name, link in nodes:
            kind = self._kind(name, link)
            if groups and groups[-1][0] == kind:
                groups[-1][1].append(name)
            else:
                groups.append((kind, [name], link))
        for _, names, link in groups:
            self._draw_group(parent, names, link, depth)

    def _draw_group(self, parent: Tree, names: list[str], link: str, depth: int) -> None:
        label = Text(compress_hostlist(names), style="bold")
        if names[0] not in self._switches:
            parent.add(label.append(f"  {link}", style="not bold"))
            return
        label.append(f"  {_describe_switch(self._switches[names[0]])}", style="not bold")
        if link:
            label.append(f"; uplink {link}", style="not bold")
        branch = parent.add(label)
        if len(names) == 1:
            self._draw(branch, self._children[names[0]], depth + 1)
            return
        # A line per switch shows which hosts share a leaf.
        for name in names:
            hosts = compress_hostlist([child for child, _ in self._children[name]])
            branch.add(Text(f"{name}: {hosts}  {self._children[name][0][1]}"))
