"""Slurm's topology: `topology.conf`, what `scontrol show topology` prints, and `topology.yaml`.

`SwitchName=s0 Nodes=n[0-3]` is a leaf, `SwitchName=s2 Switches=s[0-1]` a switch above; a switch may
have several above it. `BlockName=b0 Nodes=n[0-3]` is a block: a leaf, all of them below one switch
that Slurm does not name. Case does not matter in keys, a `#` begins a comment. `LinkSpeed` means
nothing to Slurm and nothing here, so rates have to be said. `scontrol` repeats at every switch
above level 0 the nodes of all below.

Such files name what there is for jobs, and are seldom whole: leaves with nothing above, switches
without nodes, blocks yet to be filled. What hangs together with most nodes is taken, or what is
below the switch in `root`; the rest is said.

Slurm does not look at topology.conf where topology.yaml lies beside it, and neither does this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from allemande.errors import BadInput
from allemande.formats.import_source import GO_ON, OPTIONS, Source, parse_source
from allemande.formats.imported_cluster import build
from allemande.formats.imported_network import (
    FoundLink,
    Network,
    apart,
    keep_one_part,
    note_renamed,
    nothing_there,
    plain_names,
    some,
)
from allemande.formats.slurm_tree import Tree, Written
from allemande.formats.slurm_yaml import parse_yaml
from allemande.text_files import MIB, is_file, shown
from allemande.topology import Cluster

KIND = "slurm"
CONF, YAML = "topology.conf", "topology.yaml"
BLOCKS_ABOVE = "above-blocks"
CONF_BYTES_MAX = MIB
_EXPECTED = "topology.conf, topology.yaml or what `scontrol show topology` prints"
_NODES = "nodes below switches, as in SwitchName=s0 Nodes=n[0-3]"
_YAML_NODES = "`switches:` below `tree:`, as in - switch: s0, and below that nodes: n[0-3]"
_KEYS = {*OPTIONS, "topology"}
# What stands beside them says nothing of how the network is wired.
_KNOWN = {
    "switchname",
    "nodes",
    "switches",
    "level",
    "linkspeed",
    "blockname",
    "blockindex",
    "blocksize",
    "blocksizes",
    "aggregatedblock",
}
# A line with one of these says what it should, about neither a switch nor a block.
_ELSE = {"blocksizes", "aggregatedblock"}
# Blanks may stand around the `=`; behind them another key is no value.
_KEY = re.compile(r"([A-Za-z_.]+)\s*=(?:\s+(?![A-Za-z_.]+\s*=))?(\"[^\"]*\"|\S*)")
_WORD = re.compile(r"\S+")
_GAP = re.compile(r",\s+(?![A-Za-z_.]+\s*=)")  # in a list; behind a last comma a key may follow
_INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
_NOTHING = "(null)"  # as scontrol prints it
# What `scontrol show topoconf` prints may lie in a file of any name.
_YAML_BEGINS = re.compile(r"(?:[ \t]*(?:#.*)?\n)*(?:---|[ \t]*- +topology[ \t]*:)")


# ---- topology.conf and scontrol ------------------------------------------------------------------


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Whole lines, with those that end in a backslash joined, without comments.

    As in Slurm nothing comes between the two, so that a list may go on in the next line. Blanks
    before that are no end of the list.
    """
    pending: list[str] = []
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line and not pending:
            continue
        begin = begin if pending else number
        line = line.partition("#")[0].rstrip()
        if line.endswith("\\"):
            pending.append(line[:-1])
            continue
        yield begin, _GAP.sub(",", "".join([*pending, line]))
        pending = []
    if pending:
        yield begin, _GAP.sub(",", "".join(pending))


def _words(line: str) -> Iterator[tuple[str, str | None]]:
    """Keys and values; what is neither has no value. Blanks around the `=` are allowed."""
    place = 0
    while word := _WORD.search(line, place):
        match = _KEY.match(line, word.start())
        if match is None:
            place = word.end()
            yield word[0], None
        else:
            place = match.end()
            yield match[1], match[2].strip('"')


def _parse_conf(text: str, source: str) -> Tree:
    tree = Tree(source)
    for number, line in _lines(text):
        if include := _INCLUDE.match(line):
            tree.pass_over(number, f"Include is not followed; give {include[1]:.80} itself")
            continue
        found: dict[str, str] = {}
        odd: list[str] = []
        for key, value in _words(line):
            if value is None or key.lower() not in _KNOWN:
                odd = odd or [key if value is None else f"{key}={value}"]
            elif key.lower() in found:
                raise BadInput(
                    f"{tree.at(number)}: {key} stands twice; expected it once in a line: take one "
                    f"away, or {GO_ON}"
                )
            else:
                found[key.lower()] = "" if value == _NOTHING else value
        if odd:
            tree.pass_over(number, f"{odd[0]!r:.60} is not known")
        if found or not odd:
            _add_line(tree, found, number)
    return tree


def _add_line(tree: Tree, found: Mapping[str, str], line: int) -> None:
    if "switchname" in found:
        level = found.get("level") or "0"
        if not re.fullmatch(r"[0-9]{1,4}", level):
            raise BadInput(
                f"{tree.at(line)}: Level={level:.40} is no number; expected 0 for a leaf, or more; "
                f"{GO_ON}"
            )
        nodes = "" if int(level) > 0 else found.get("nodes", "")
        children = found.get("switches", "")
        tree.add_switch(found["switchname"], line, Written(nodes, line), Written(children, line))
    elif "blockname" in found:
        tree.add_block(found["blockname"], line, Written(found.get("nodes", ""), line))
    elif found and not _ELSE & set(found):
        tree.pass_over(line, f"{next(iter(found))}= is about neither switch nor block")


# ---- the network ---------------------------------------------------------------------------------


def _names(
    switches: Iterable[str], nodes: Iterable[str], notes: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """What switches and nodes are called here; both may have the same name in Slurm."""
    hosts = plain_names(nodes, "node")
    note_renamed("nodes", hosts, notes)
    plain = plain_names(switches, "switch")
    note_renamed("switches", plain, notes)
    others = apart(plain.values(), hosts.values(), notes)
    return {name: others[new] for name, new in plain.items()}, hosts


def _below(tree: Tree, root: str) -> set[str]:
    """The switches that hang on one, and itself; a block is alone."""
    known = tree.nodes or tree.blocks
    if root not in known:  # a note may have given the name that it has here
        names, _ = _names(known, chain.from_iterable(known.values()), [])
        root = next((name for name, new in names.items() if new == root), root)
    if root not in known:
        above = {child for children in tree.children.values() for child in children}
        roots = [name for name in known if name not in above]
        raise BadInput(
            f"{tree.source}: root={shown(root)}: no switch or block is called so; expected one of "
            f"{some(roots)}, or of those below"
        )
    found = {root}
    waiting = [root]
    while waiting:
        for child in tree.children.get(waiting.pop(), ()):
            if child in tree.nodes and child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _without_empty(tree: Tree, names: set[str]) -> set[str]:
    """Those of the switches or blocks under which there are nodes."""
    leaves = tree.nodes or tree.blocks
    parents: dict[str, list[str]] = {}
    for name, children in tree.children.items():
        for child in children:
            parents.setdefault(child, []).append(name)
    found = {name for name in names if leaves[name]}
    waiting = list(found)
    while waiting:
        for name in parents.get(waiting.pop(), ()):
            if name in names and name not in found:
                found.add(name)
                waiting.append(name)
    return found


def _note_what_is_left_out(tree: Tree, kept: set[str], names: set[str]) -> None:
    kind, kinds = ("switch", "switches") if tree.nodes else ("block", "blocks")
    without = names - kept
    empty = [name for name in tree.lines if name in without]
    if len(empty) == 1:
        where = tree.at(tree.lines[empty[0]])
        tree.notes.append(f"{where}: {kind} {empty[0]!r} has nothing below: left out")
    elif empty:
        first = f"the first in line {tree.lines[empty[0]]}"
        tree.notes.append(f"{kinds} with nothing below are left out: {some(empty)}; {first}")
    lacking = [
        f"{child!r} below {name!r}"
        for name in tree.children
        if name in names
        for child in tree.children[name]
        if child not in tree.nodes
    ]
    if lacking:
        verb = "is" if len(lacking) == 1 else "are"
        tree.notes.append(f"switch {some(lacking)} {verb} not described: left out")


def _add_nodes(network: Network, tree: Tree, kept: set[str]) -> None:
    home: dict[str, str] = {}
    for switch, nodes in (tree.nodes or tree.blocks).items():
        for node in nodes if switch in kept else ():
            line = tree.lines[switch]
            if node in home:
                raise BadInput(
                    f"{tree.at(line)}: node {node!r} hangs on {home[node]!r} and {switch!r}; "
                    f"expected one link for each host: take it out of line "
                    f"{tree.lines[home[node]]} or {line}, or take one part with "
                    f"root={shown(home[node])}"
                )
            home[node] = switch
            network.hosts.append(node)
            network.lines[node] = tree.nodes_lines[switch]
            network.links.append(FoundLink(node, switch, line=line))


def _add_switches(network: Network, tree: Tree, kept: set[str]) -> None:
    joined: set[frozenset[str]] = set()
    for name in tree.nodes or tree.blocks:
        if name in kept:
            network.switches.append(name)
    for switch, children in tree.children.items():
        for child in children if switch in kept else ():
            ends = frozenset({child, switch})
            if child in kept and ends not in joined:
                joined.add(ends)
                network.links.append(FoundLink(child, switch, line=tree.lines[switch]))
    if not tree.nodes and len(kept) > 1:
        network.switches.append(BLOCKS_ABOVE)
        network.links += [
            FoundLink(block, BLOCKS_ABOVE, line=tree.lines[block])
            for block in tree.blocks
            if block in kept
        ]
        network.notes.append(
            f"what joins the blocks is not described: taken to be one switch, {BLOCKS_ABOVE}"
        )


def _with_names(network: Network, tree: Tree) -> None:
    """Everything by the names that it has here."""
    names, hosts = _names(network.switches, network.hosts, network.notes)
    # The first links are the nodes', in their order.
    network.links = [
        FoundLink(
            (hosts if number < len(network.hosts) else names)[link.below],
            names[link.above],
            line=link.line,
        )
        for number, link in enumerate(network.links)
    ]
    network.hosts = list(hosts.values())
    network.switches = list(names.values())
    network.lines = {new: network.lines[name] for name, new in hosts.items()}
    network.lines |= {new: tree.lines[name] for name, new in names.items() if name in tree.lines}


def _network(tree: Tree, root: str | None) -> Network:
    if tree.blocks and tree.nodes:
        tree.notes.append(
            f"switches and blocks at once: the blocks {some(tree.blocks)} are left out"
        )
        tree.blocks = {}
    network = Network(notes=tree.notes)
    names = set(tree.nodes or tree.blocks) if root is None else _below(tree, root)
    kept = _without_empty(tree, names)
    _note_what_is_left_out(tree, kept, names)
    _add_nodes(network, tree, kept)
    _add_switches(network, tree, kept)
    _with_names(network, tree)
    if passed_over := tree.passed_over():
        network.notes.append(passed_over)
    return network


def _file_of(source: Source, notes: list[str]) -> Path:
    path = source.path
    try:
        folder = path.is_dir()
    except (OSError, ValueError):
        folder = False  # reading it will say why
    if folder:
        found = [path / name for name in (YAML, CONF) if is_file(path / name)]
        if not found:
            raise BadInput(f"{shown(path)}: neither {YAML} nor {CONF} lies there")
        return found[0]
    beside = path.with_name(YAML) if path.name == CONF else path
    if beside != path and is_file(beside):
        notes.append(f"{YAML} lies beside {shown(path)}: Slurm reads that one, and so does this")
        return beside
    return path


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`slurm:FILE[,key=value...]`: the cluster, and what the reader should know of it.

    FILE may be the folder of slurm.conf.
    """
    given = parse_source(text, _KEYS)
    notes: list[str] = []
    path = _file_of(given, notes)
    source = Source(given.kind, path, given.options)
    content = source.read(_EXPECTED, CONF_BYTES_MAX)
    yaml = (
        re.fullmatch(r"\.ya?ml", path.suffix) is not None or _YAML_BEGINS.match(content) is not None
    )
    if yaml:
        tree = parse_yaml(content, source.name, given.options.get("topology"))
    elif "topology" in given.options:
        raise BadInput(f"{source.name}: topology= is of {YAML}; expected none for other files")
    else:
        tree = _parse_conf(content, source.name)
    root = given.options.get("root")
    network = _network(tree, root)
    if not network.hosts:
        raise nothing_there(network, source, _YAML_NODES if yaml else _NODES)
    # What is below a switch is one part; its name here may be another.
    whole = Source(source.kind, path, {k: v for k, v in source.options.items() if k != "root"})
    keep_one_part(network, whole)
    return build(network, whole), [*notes, *network.notes]
