#!/usr/bin/env python3
"""Rejects what nothing calls: names of headers and members of `_core` that only tests use.

A name is used where it stands in product code outside its declarations and definitions. One of two
things with the same name hides the other: what is rejected is unused, but not all that is unused is
rejected.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What stays although nothing calls it, and why.
ALLOWED = {
    "banked": "a count of the receive clock: its test holds it against the paper's algorithm",
    "build_one_switch": "the smallest network, for the tests of twelve rooms",
    "eta": "the receive clock's other count",
    "rerouted": "when the simulator had new routes: its tests see nothing else of it",
}

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)
DIRECTIVE = re.compile(r"^\s*#\s*(?:define\s+\w+|(?!define)[^\n]*)", re.MULTILINE)
NAME = re.compile(r"(?<!\w)[A-Za-z_]\w*")
QUALIFIERS = re.compile(r"(?:[A-Za-z_]\w*::)*\Z")
# What stands before a name that is declared: a type. Behind a space, * and & are operators.
TYPE_BEFORE = re.compile(r"(?:(?P<word>[A-Za-z_]\w*)\s+|(?<!-)>\s*|\S[&*]\s*|\]\s*)\Z")
NO_TYPE = {"return", "else", "case", "throw", "new", "co_return", "delete", "goto", "and", "or"}
CONSTANT = re.compile(r"k[A-Z]\w*")
VALUE = re.compile(r"(?:\[\w*\])?\s*(?:=[^=]|\{)")
TYPE_BODY = re.compile(r"(?:\s+final)?\s*(?:[{:=;]|\Z)")
CONTEXT = 200  # characters before and after a name that tell what it is there
TYPE_KEYWORD = re.compile(r"\b(?:struct|class|enum|using|concept)\s+\Z")


def without_comments(text: str) -> str:
    text = COMMENT_OR_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
    return DIRECTIVE.sub("", text)


class Occurrence:
    """One place at which a name stands in a C++ text."""

    def __init__(self, text: str, found: re.Match[str], header: bool) -> None:
        self.name = found[0]
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        before = text[max(0, found.start() - CONTEXT) : found.start()]
        before = QUALIFIERS.sub("", before)
        after = text[found.end() : found.end() + CONTEXT]
        type_before = TYPE_BEFORE.search(before)
        typed = type_before is not None and type_before["word"] not in NO_TYPE
        # In a source file a definition begins at the first column, and calls do not.
        outermost = "=" not in line and (header or not line[:1].isspace())
        called = after.startswith("(")
        is_type = TYPE_KEYWORD.search(before) is not None and TYPE_BODY.match(after) is not None
        is_function = typed and called and outermost
        is_constant = typed and bool(CONSTANT.fullmatch(self.name) and VALUE.match(after))
        self.declares = is_type or is_function or is_constant
        # `Name(` where a constructor stands, `~Name(`, and the `Name::` before a member's name.
        own = line.strip() in {"", "~", "explicit"} and self.name[0].isupper() and called
        scope = after.startswith("::") and outermost and typed | (not line.strip())
        self.uses = not (self.declares or (outermost and own) or (scope and not header))


def sources(src: Path) -> Iterator[Path]:
    for path in sorted(src.rglob("*")):
        test = re.search(r"(^|_)test(_|$)", path.stem)
        if path.suffix in {".h", ".cc", ".c", ".def"} and not test:
            yield path


def unused_names(src: Path) -> Iterator[str]:
    declared: dict[str, Path] = {}
    used: set[str] = set()
    for path in sources(src):
        text = without_comments(path.read_text())
        header = path.suffix == ".h"
        for found in NAME.finditer(text):
            one = Occurrence(text, found, header)
            if one.uses:
                used.add(one.name)
            elif one.declares and header:
                declared.setdefault(one.name, path)
    for name, path in declared.items():
        if name not in used:
            yield f"{path}: nothing but tests uses `{name}`; remove it, or move it to the tests"


def names_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # getattr() and names in tables


def members(stub: Path) -> Iterator[tuple[str, str]]:
    """(name, with its class) of all that `_core` holds."""
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("__"):
                    yield inner.name, f"{node.name}.{inner.name}"
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.target.id


def unused_members(python: Path) -> Iterator[str]:
    stub = python / "allemande/_core.pyi"
    if not stub.is_file():
        return
    used = {name for path in sorted(python.rglob("*.py")) for name in names_in(path)}
    returned = set(re.findall(r"\w+", " ".join(re.findall(r"->([^\n]*):", stub.read_text()))))
    for name, full in members(stub):
        if name not in used | returned:
            yield f"{stub}: nothing but tests uses `{full}`; remove it from src/bindings"


def stale_exceptions(failing: str) -> Iterator[str]:
    for name in ALLOWED:
        if f"`{name}`" not in failing:
            yield f"tools/check_callers.py: `{name}` is used or gone; take it out of ALLOWED"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the repository")
    root: Path = parser.parse_args().root
    found = [*unused_names(root / "src"), *unused_members(root / "python")]
    failures = [one for one in found if not any(f"`{name}`" in one for name in ALLOWED)]
    if root == ROOT:
        failures.extend(stale_exceptions("\n".join(found)))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
