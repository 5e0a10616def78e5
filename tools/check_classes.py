#!/usr/bin/env python3
"""Rejects classes grown too large: more methods than one can hold in mind.

A method is what a class declares with a parameter list, operators too. Constructors, what is
inherited, defaulted or a friend's, and what a class within it declares do not count.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METHODS_MAX = 40

# Text between quotes and comments hold no code; raw strings may hold quotes.
NO_CODE = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/'
    r"|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
CLASS = re.compile(r"\b(?:class|struct)\s+(?:alignas\s*\([^)]*\)\s*)?([\w:]+)[^;{}()=]*\{")
ACCESS = re.compile(r"\b(?:public|protected|private)\s*:")
NO_METHOD = re.compile(r"^\s*(?:friend|using|typedef|enum|static_assert|class|struct|union)\b")
BRACKETS = re.compile(r"<[^<>]*>")


def declarations(body: str) -> Iterator[str]:
    """What stands in the body of a class at its own depth, without the blocks of methods."""
    depth, begin, text = 0, 0, ""
    for at, letter in enumerate(body):
        if letter == "{":
            if depth == 0:
                text += body[begin:at]
            depth += 1
        elif letter == "}":
            depth -= 1
            begin = at + 1
            rest = body[begin:].lstrip()
            # After a block in the list of initial values, or of a member's value, more follows.
            if depth == 0 and rest[:1] not in (",", "{", ";"):
                yield text
                text = ""
        elif letter == ";" and depth == 0:
            yield text + body[begin:at]
            begin, text = at + 1, ""


def is_method(declaration: str, name: str) -> bool:
    text = ACCESS.sub(" ", declaration)
    if NO_METHOD.match(text) or re.search(r"=\s*(?:default|delete)\s*$", text):
        return False
    text = text.replace("operator()", "operator_call").replace("->", " ")
    text = re.sub(r"operator\s*[<>=!+\-*/&|\[\]]+", "operator_sign", text)
    while (shorter := BRACKETS.sub("", text)) != text:
        text = shorter
    before = text.partition("=")[0]
    return "(" in before and not re.search(rf"\b{name}\s*\(", before)


def classes(text: str) -> Iterator[tuple[str, int]]:
    """Every class that is defined, and how many methods it has."""
    code = NO_CODE.sub(" ", text)
    for found in CLASS.finditer(code):
        depth, at = 1, found.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        name = found[1].rpartition("::")[2]
        declared = declarations(code[found.end() : at - 1])
        yield found[1], sum(is_method(one, name) for one in declared)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--list", type=int, metavar="N", help="show the N largest instead")
    arguments = parser.parse_args()
    found = [
        (count, name, path)
        for suffix in ("h", "cc")
        for path in sorted((arguments.root / "src").rglob(f"*.{suffix}"))
        if not path.stem.endswith("_test")
        for name, count in classes(path.read_text())
    ]
    if arguments.list:
        for count, name, path in sorted(found, reverse=True)[: arguments.list]:
            print(f"{count:4} {name}  {path.relative_to(arguments.root)}")
        return 0
    large = [one for one in found if one[0] > METHODS_MAX]
    for count, name, path in large:
        print(
            f"{path}: {name} has {count} methods; expected at most {METHODS_MAX}: give a part of "
            "its state to a class of its own",
            file=sys.stderr,
        )
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
