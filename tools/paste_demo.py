#!/usr/bin/env python3
"""Puts the tables that `allemande demo` wrote into the README, between their marks.

python tools/paste_demo.py [out/demo/readme.md [README.md]]
"""

from __future__ import annotations

import sys
from pathlib import Path

BEGIN, END = "<!-- demo-tables -->", "<!-- /demo-tables -->"


def pasted(document: str, block: str) -> str:
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise SystemExit(f"paste_demo: expected one {BEGIN} and one {END} in the document")
    if not block.startswith(BEGIN) or not block.rstrip().endswith(END):
        raise SystemExit("paste_demo: expected the readme.md that `allemande demo` writes")
    head, _, rest = document.partition(BEGIN)
    return head + block.rstrip() + rest.partition(END)[2]


def main() -> None:
    names = [*sys.argv[1:], *("out/demo/readme.md", "README.md")[len(sys.argv) - 1 :]]
    block, document = (Path(name) for name in names)
    text = document.read_text(encoding="utf-8")
    document.write_text(pasted(text, block.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
