"""The documents of the tree, taken apart for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("experiments/**/*.md"),
    ]
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)


@dataclass(frozen=True)
class Block:
    language: str
    line: int  # of its first line
    text: str


@cache
def split(path: Path) -> tuple[list[Block], list[tuple[int, str]]]:
    """The fenced blocks, and the lines that are in none, with their numbers."""
    blocks: list[Block] = []
    lines: list[tuple[int, str]] = []
    inside: list[str] | None = None
    language, begin = "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = line.strip().startswith("```")
        if inside is None and fence:
            inside, language, begin = [], line.strip()[3:].strip(), number + 1
        elif inside is not None and fence:
            blocks.append(Block(language, begin, "\n".join(inside)))
            inside = None
        elif inside is not None:
            inside.append(line)
        else:
            lines.append((number, line))
    assert inside is None, f"{name_of(path)}: a fenced block does not end"
    return blocks, lines
