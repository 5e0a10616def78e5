"""YAML as plain tables, lists and texts that know their lines.

Nothing is made of values: a date, a number or `true` is the text that stands there, so that none
can be wrong. An alias (`*name`) stands for one thing that is there once. Whoever reads asks for
texts where texts belong, so that aliases inside aliases cannot grow.
"""

from __future__ import annotations

import re
from typing import Any

from allemande.errors import BadInput
from allemande.text_files import MIB

YAML_BYTES_MAX = MIB
_EXPECTED = "expected plain YAML, as Slurm's topology.yaml is"
_DEPTH_MAX = 32
_NODES_MAX = 200_000
_TAB = re.compile(r" *\t")


class Text(str):
    """A scalar."""

    line: int


class Items(list["Text | Items | Table"]):
    """A sequence."""

    line: int

    def __repr__(self) -> str:
        return "a list"  # however much aliases put into it


class Table(dict[str, "Text | Items | Table"]):
    """A mapping, with texts as keys."""

    line: int
    key_lines: dict[str, int]

    def __repr__(self) -> str:
        return "a table"


Value = Text | Items | Table


class _Builder:
    """Puts the events of a parser together, without recursion."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._open: list[tuple[Items | Table, str | None]] = []  # with the anchor of each
        self._keys: list[Text | None] = []  # of each open table: the key that waits for its value
        self._anchors: dict[str, Value] = {}
        self._nodes = 0
        self.root: Value | None = None

    def wrong(self, line: int, text: str) -> BadInput:
        return BadInput(f"{self._source}:{line}: {text}; {_EXPECTED}")

    def _place(self, value: Value, line: int) -> None:
        self._nodes += 1
        if self._nodes > _NODES_MAX:
            raise self.wrong(line, f"more than {_NODES_MAX} values")
        if not self._open:
            if self.root is not None:
                raise self.wrong(line, "a second document begins")
            self.root = value
            return
        holder = self._open[-1][0]
        if isinstance(holder, Items):
            holder.append(value)
        elif self._keys[-1] is None:
            if not isinstance(value, Text):
                raise self.wrong(line, "a list or table stands where a key belongs")
            self._keys[-1] = value
        else:
            key = self._keys[-1]
            if key in holder:
                raise self.wrong(key.line, f"{str(key)!r:.60} stands twice")
            holder[str(key)] = value
            holder.key_lines[str(key)] = key.line
            self._keys[-1] = None

    def take(self, event: Any) -> None:
        import yaml

        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            text = Text(event.value)
            text.line = line
            if event.anchor:
                self._anchors[event.anchor] = text
            self._place(text, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= _DEPTH_MAX:
                raise self.wrong(line, f"more than {_DEPTH_MAX} levels")
            table = isinstance(event, yaml.MappingStartEvent)
            opened: Items | Table = Table() if table else Items()
            opened.line = line
            if isinstance(opened, Table):
                opened.key_lines = {}
            if not self._open or isinstance(self._open[-1][0], Items) or self._keys[-1] is not None:
                self._open.append((opened, event.anchor))
                self._keys.append(None)
            else:
                raise self.wrong(line, "a list or table stands where a key belongs")
        elif isinstance(event, yaml.CollectionEndEvent):
            closed, anchor = self._open.pop()
            self._keys.pop()
            if anchor:
                self._anchors[anchor] = closed
            self._place(closed, closed.line)
        elif isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                raise self.wrong(line, f"*{event.anchor:.40} stands for nothing")
            self._place(known, line)


def read_yaml(text: str, source: str) -> Value | None:
    """The one document of a text; None for an empty one. BadInput, with the line, for anything
    else."""
    import yaml

    loader: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    builder = _Builder(source)
    if len(text) > YAML_BYTES_MAX:
        raise BadInput(f"{source}: has more than {YAML_BYTES_MAX // MIB} MiB; expected less")
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = source if mark is None else f"{source}:{mark.line + 1}"
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        number = len(text) if mark is None else mark.line  # YAML knows more ends of lines
        tab = any(map(_TAB.match, text.split("\n")[number : number + 1]))
        hint = ", with blanks, and no tabs, before each line" if tab else ""
        raise BadInput(f"{where}: not valid YAML: {what}; {_EXPECTED}{hint}") from None
    except (ValueError, RecursionError) as error:  # such as \UFFFFFFFF in quotes
        raise BadInput(f"{source}: not valid YAML: {error}") from None
    return builder.root
