"""Slurm's topology: `topology.conf`, what `scontrol show topology` prints, and `topology.yaml`.

`SwitchName=s0 Nodes=n[0-3]` is a leaf, `SwitchName=s2 Switches=s[0-1]` a switch above; a switch may
have several above it. `BlockName=b0 Nodes=n[0-3]` is a block: a leaf, all of them below one switch
that Slurm does not name. Case does not matter in keys, a `#` begins a comment. `LinkSpeed` means
nothing to Slurm and nothing here, so rates have to be said. `scontrol` repeats at every switch
above level 0 the nodes of all below.

Slurm does not look at topology.conf where topology.yaml lies beside it, and neither does this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.formats.imported_cluster import (
    OPTIONS,
    FoundLink,
    Network,
    Source,
    build,
    parse_source,
)
from allemande.topology import Cluster, expand_hostlist

KIND = "slurm"
CONF, YAML = "topology.conf", "topology.yaml"
BLOCKS_ABOVE = "above-blocks"
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


@dataclass
class Tree:
    """Switches and blocks as they are written, before anything is joined."""

    nodes: dict[str, list[str]] = field(default_factory=dict)  # by switch
    children: dict[str, list[str]] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)


def _names(text: str, where: str) -> list[str]:
    try:
        return list(expand_hostlist(text))
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


# ---- topology.conf and scontrol ------------------------------------------------------------------


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Whole lines, with those that end in a backslash joined, without comments."""
    pending, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin if pending else number
        line = line.partition("#")[0].rstrip()
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        yield begin, pending + line
        pending = ""
    if pending:
        yield begin, pending


def _parse_conf(text: str, source: str) -> Tree:
    tree = Tree()
    for number, line in _lines(text):
        where = f"{source}:{number}"
        found: dict[str, str] = {}
        for word in line.split():
            key, equals, value = word.partition("=")
            if not equals or key.lower() not in _KNOWN:
                raise BadInput(
                    f"{where}: {word!r} is not known; expected SwitchName=, Switches=, Nodes=, "
                    "BlockName= and the like"
                )
            if key.lower() in found:
                raise BadInput(f"{where}: {key} stands twice; expected it once in a line")
            found[key.lower()] = value.strip('"')
        _add_line(tree, found, where)
    return tree


def _add_line(tree: Tree, found: Mapping[str, str], where: str) -> None:
    if "switchname" in found:
        name = found["switchname"]
        if name in tree.nodes:
            raise BadInput(f"{where}: switch {name!r} stands twice; expected each once")
        level = found.get("level") or "0"
        if not level.isdecimal():
            raise BadInput(f"{where}: Level={level} is no number; expected 0 for a leaf, or more")
        repeats = int(level) > 0
        nodes = "" if repeats else found.get("nodes", "")
        tree.nodes[name] = _names(nodes, where) if nodes else []
        switches = found.get("switches", "")
        tree.children[name] = _names(switches, where) if switches else []
        if not tree.nodes[name] and not tree.children[name]:
            raise BadInput(
                f"{where}: switch {name!r} has nothing below; expected Nodes= or Switches="
            )
    elif "blockname" in found:
        name = found["blockname"]
        if name in tree.blocks or not found.get("nodes"):
            raise BadInput(f"{where}: block {name!r} stands twice or has no nodes")
        tree.blocks[name] = _names(found["nodes"], where)
    elif found and not {"blocksizes", "aggregatedblock"} & set(found):
        raise BadInput(f"{where}: neither switch nor block; expected SwitchName= or BlockName=")


# ---- topology.yaml -------------------------------------------------------------------------------


def _choose(entries: list[Any], wanted: str | None, source: str) -> Mapping[str, Any]:
    names = [str(entry.get("topology")) for entry in entries]
    if wanted is not None:
        if wanted not in names:
            raise BadInput(f"{source}: no topology {wanted!r}; expected one of {', '.join(names)}")
        return dict(entries[names.index(wanted)])
    default = [entry for entry in entries if entry.get("cluster_default")]
    if len(entries) > 1 and not default:
        raise BadInput(
            f"{source}: none of {', '.join(names)} is the default; say which: "
            f"{KIND}:{source},topology={names[0]}"
        )
    return dict((default or entries)[0])


def _parse_yaml(text: str, source: str, wanted: str | None) -> Tree:
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"{source}: not valid YAML: {error}") from None
    entries = document if isinstance(document, list) else None
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        raise BadInput(f"{source}: expected a list of topologies, each with `topology: NAME`")
    entry = _choose(entries, wanted, source)
    where = f"{source}: topology {entry.get('topology')}"
    tree = Tree()
    kinds = [kind for kind in ("tree", "block") if kind in entry]
    if len(kinds) > 1:
        raise BadInput(f"{where} has tree and block; expected one of them")
    if not kinds:
        others = ", ".join(key for key in entry if key not in ("topology", "cluster_default"))
        raise BadInput(
            f"{where} is {others or 'empty'}, which says nothing of switches; expected tree or "
            "block"
        )
    try:
        if kinds == ["tree"]:
            for switch in entry["tree"]["switches"]:
                name, nodes, children = (
                    str(switch.get(key) or "") for key in ("switch", "nodes", "children")
                )
                _add_line(tree, {"switchname": name, "nodes": nodes, "switches": children}, where)
        else:
            for block in entry["block"]["blocks"]:
                name, nodes = (str(block.get(key) or "") for key in ("block", "nodes"))
                _add_line(tree, {"blockname": name, "nodes": nodes}, where)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{where}: {error!r}; expected switches or blocks as Slurm has them") from (
            None
        )
    return tree


# ---- the network ---------------------------------------------------------------------------------


def _network(tree: Tree, source: str) -> Network:
    if tree.blocks and tree.nodes:
        raise BadInput(f"{source}: switches and blocks at once; expected one of them")
    network = Network()
    home: dict[str, str] = {}
    for switch, nodes in (tree.blocks or tree.nodes).items():
        network.switches.append(switch)
        for node in nodes:
            if node in home:
                raise BadInput(
                    f"{source}: node {node!r} hangs on {home[node]!r} and {switch!r}; expected one "
                    "link for each host"
                )
            home[node] = switch
            network.hosts.append(node)
            network.links.append(FoundLink(node, switch))
    for switch, children in tree.children.items():
        for child in children:
            if child not in tree.nodes:
                raise BadInput(f"{source}: switch {child!r} below {switch!r} is not described")
            network.links.append(FoundLink(child, switch))
    if len(tree.blocks) > 1:
        network.switches.append(BLOCKS_ABOVE)
        network.links += [FoundLink(block, BLOCKS_ABOVE) for block in tree.blocks]
        network.notes.append(
            f"what joins the blocks is not described: taken to be one switch, {BLOCKS_ABOVE}"
        )
    return network


def _file_of(source: Source, notes: list[str]) -> Path:
    path = source.path
    if path.is_dir():
        found = [path / name for name in (YAML, CONF) if (path / name).is_file()]
        if not found:
            raise BadInput(f"{path}: neither {YAML} nor {CONF} lies there")
        return found[0]
    beside = path.with_name(YAML)
    if path.name == CONF and beside.is_file():
        notes.append(f"{YAML} lies beside {path}: Slurm reads that one, and so does this")
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
    content = source.read_text()
    if re.fullmatch(r"\.ya?ml", path.suffix):
        tree = _parse_yaml(content, str(path), given.options.get("topology"))
    else:
        tree = _parse_conf(content, str(path))
    network = _network(tree, str(path))
    return build(network, source), [*notes, *network.notes]
