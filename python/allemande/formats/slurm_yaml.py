"""Slurm's `topology.yaml`: topologies by name, each with a tree of switches, with blocks, or flat.

::

    - topology: wired
      cluster_default: true
      tree:
        switches:
          - switch: s0
            nodes: n[0-3]
          - switch: top
            children: s0
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from allemande.errors import BadInput
from allemande.formats.imported_network import some
from allemande.formats.slurm_tree import Tree, Written
from allemande.formats.yaml_text import Items, Table, Text, Value, read_yaml
from allemande.text_files import shown

_KINDS = ("tree", "block")
_TOPOLOGY = ("topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d")
_TRUE = {"true", "yes", "on", "1"}


def _table(value: Value, tree: Tree, what: str) -> Table:
    if isinstance(value, Table):
        return value
    raise BadInput(f"{tree.at(value.line)}: {value!r:.60} where {what} is expected, with its keys")


def _list(table: Table, key: str, tree: Tree) -> Items:
    value = table.get(key)
    if isinstance(value, Items):
        return value
    if value is None or value == "":
        return Items()
    raise BadInput(f"{tree.at(value.line)}: `{key}` is {value!r:.60}; expected a list")


def _text(table: Table, key: str, tree: Tree) -> str:
    value = table.get(key)
    if value is None or isinstance(value, Text):
        return "" if value is None or value in ("~", "null") else str(value)
    raise BadInput(
        f"{tree.at(value.line)}: `{key}` is {value!r}; expected text, as in {key}: n[0-3]"
    )


def _written(table: Table, key: str, tree: Tree) -> Written:
    return Written(_text(table, key, tree), table.key_lines.get(key, table.line))


def _pass_over_unknown(table: Table, known: Collection[str], tree: Tree) -> None:
    for key in table:
        if key not in known:
            tree.pass_over(table.key_lines[key], f"key `{key:.40}` is not known")


def _name(entry: Table, kind: str, tree: Tree) -> str:
    """Of a switch or block."""
    name = _text(entry, kind, tree)
    if not name:
        stands = f"has only {some(entry)}" if entry and kind not in entry else "has none"
        raise BadInput(
            f"{tree.at(entry.line)}: expected the name of a {kind}, as in {kind}: {kind[0]}0; this "
            f"entry {stands}"
        )
    return name


def _kind_of(entry: Table) -> str | None:
    """What names switches in it, and is not empty."""
    return next((kind for kind in _KINDS if isinstance(entry.get(kind), Table)), None)


def _choose(entries: Mapping[str, Table], tree: Tree, wanted: str | None) -> str:
    """The name of the topology that is taken."""
    source = tree.source
    if wanted is not None:
        if wanted not in entries:
            raise BadInput(f"{source}: no topology {wanted!r}; expected one of {some(entries)}")
        return wanted
    default = next(
        (
            name
            for name, entry in entries.items()
            if _text(entry, "cluster_default", tree).lower() in _TRUE
        ),
        None,
    )
    usable = [name for name, entry in entries.items() if _kind_of(entry) is not None]
    if default is not None and (default in usable or not usable):
        return default
    if default is None and len(entries) == 1:
        return next(iter(entries))
    if default is None and len(usable) != 1:
        raise BadInput(
            f"{source}: none of {some(entries)} is the default; say which: "
            f"slurm:{source},topology={shown((usable or list(entries))[0])}"
        )
    taken = usable[0]
    others = "".join(f", or topology={shown(name)}" for name in usable[1:4])
    which = (
        "no topology is the default"
        if default is None
        else f"the default, {shown(default)}, is flat"
    )
    tree.notes.append(
        f"{which}: taken is topology={shown(taken)}, which names switches"
        f"{others and f'; say so{others}'}"
    )
    return taken


def _described(entries: Mapping[str, Table], name: str, tree: Tree) -> tuple[str, Table]:
    """What names switches in a topology: its kind, and what is below."""
    entry = entries[name]
    kind = _kind_of(entry)
    if kind is not None:
        return kind, _table(entry[kind], tree, kind)
    more = [other for other, one in entries.items() if _kind_of(one) is not None]
    hint = f": topology={shown(more[0])} has them" if more else ""
    for kind, inner in zip(_KINDS, ("switches", "blocks"), strict=True):
        value = entry.get(kind)
        if value is not None:
            what = "empty" if value in ("", "~", "null") else f"{value!r:.60}"
            raise BadInput(
                f"{tree.at(entry.key_lines[kind])}: `{kind}` is {what}, which says nothing of "
                f"switches; expected `{inner}:` below it{hint}"
            )
    others = [key for key in entry if key not in ("topology", "cluster_default")]
    raise BadInput(
        f"{tree.at(entry.line)}: topology {shown(name)} is {some(others) or 'empty'}, which says "
        f"nothing of switches; expected tree or block{hint}"
    )


def _add_entries(described: Table, kind: str, tree: Tree) -> None:
    if kind == "tree":
        _pass_over_unknown(described, ("switches",), tree)
        for value in _list(described, "switches", tree):
            switch = _table(value, tree, "a switch")
            _pass_over_unknown(switch, ("switch", "nodes", "children"), tree)
            nodes, children = (_written(switch, key, tree) for key in ("nodes", "children"))
            tree.add_switch(_name(switch, "switch", tree), switch.line, nodes, children)
    else:
        _pass_over_unknown(described, ("blocks", "block_sizes"), tree)
        for value in _list(described, "blocks", tree):
            block = _table(value, tree, "a block")
            _pass_over_unknown(block, ("block", "nodes"), tree)
            nodes = _written(block, "nodes", tree)
            tree.add_block(_name(block, "block", tree), block.line, nodes)


def parse_yaml(text: str, source: str, wanted: str | None) -> Tree:
    """One topology of the file: `wanted`, the default, or the first that names switches."""
    tree = Tree(
        source,
        go_on="take the entry away to read the rest",
        other="take this entry away, or that of line {line}, to read the rest",
    )
    document = read_yaml(text, source)
    entries: dict[str, Table] = {}
    for value in document if isinstance(document, Items) else ():
        entry = _table(value, tree, "a topology")
        name = _text(entry, "topology", tree)
        if name in entries:
            raise BadInput(
                f"{tree.at(entry.line)}: topology {name!r:.60} stands twice; expected names that "
                "differ"
            )
        entries[name] = entry
    if not entries:
        raise BadInput(f"{source}: expected a list of topologies, each with `topology: NAME`")
    name = _choose(entries, tree, wanted)
    kind, described = _described(entries, name, tree)
    _pass_over_unknown(entries[name], _TOPOLOGY, tree)
    if kind == "tree" and "block" in entries[name]:
        tree.notes.append(f"topology {shown(name)} has tree and block: the tree is taken")
    _add_entries(described, kind, tree)
    return tree
