"""XML as elements that know their lines, made so that no file can blow up.

Entities are refused where they are declared, so that none can grow, and where they are used without
that; nothing outside the file is read. How deep and how many elements may be is bounded. What
stands between elements is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from allemande.errors import BadInput

_DEPTH_MAX = 64
ELEMENTS_MAX = 200_000


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


class _Reader:
    def __init__(self, source: str, expected: str, lines_before: int, elements_max: int) -> None:
        self._elements_max = elements_max
        self._source = source
        self._lines_before = lines_before
        self._expected = expected
        self._open: list[Element] = []
        self._count = 0
        self.root: Element | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def _wrong(self, text: str, line: int) -> BadInput:
        return BadInput(f"{self._source}:{line}: {text}; expected {self._expected}")

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._lines_before

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._line()
        self._count += 1
        if self._count > self._elements_max:
            raise self._wrong(f"more than {self._elements_max} elements", line)
        if len(self._open) >= _DEPTH_MAX:
            raise self._wrong(f"elements more than {_DEPTH_MAX} deep", line)
        element = Element(tag, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._wrong(
            f"declares the entity {name!r:.60}; write out what it stands for",
            self._line(),
        )

    def read(self, text: str) -> Element:
        try:
            self._parser.Parse(text.encode("utf-8"), True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            line = error.lineno + self._lines_before
            raise self._wrong(f"not valid XML: {what}", line) from None
        assert self.root is not None  # else expat finds no element
        return self.root


def read_xml(text: str, source: str, expected: str, elements_max: int = ELEMENTS_MAX) -> Element:
    """The outermost element; BadInput, with the line, for what is no XML or too much of it."""
    begun = text.lstrip()
    lines_before = text.count("\n", 0, len(text) - len(begun))
    # The text is UTF-8 by now, whatever the file says that it was. Where a file may say more
    # elsewhere, expat leaves out entities that nobody declares: to it, this one stands alone.
    declared = re.match(r"<\?xml\s[^?>]{0,100}\?>", begun)
    if declared:
        lines_before += declared[0].count("\n")
        begun = begun[declared.end() :]
    plain = '<?xml version="1.0" standalone="yes"?>' + begun
    return _Reader(source, expected, lines_before, elements_max).read(plain)
