#!/usr/bin/env python3
"""Writes what comes from src/base/options.def: the Python table and docs/options.md.

`--check` writes nothing and fails when a file is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/base/options.def"
COLUMNS = 100  # of the documents
CELL_COLUMNS = 100  # of a table
STRING = r'"((?:[^"\\]|\\.)*)"'
ENTRY = re.compile(
    rf"ALM_OPTION\(\s*(\w+),\s*(\w+),\s*{STRING},\s*{STRING},\s*(\w+),\s*{STRING}\s*\)"
)


@dataclass(frozen=True)
class Entry:
    key: str
    kind: str
    default: str
    valid: str
    scope: str
    help: str

    @property
    def variable(self) -> str:
        return f"ALLEMANDE_{self.key.upper()}"

    @property
    def valid_text(self) -> str:
        return {
            "Text": "text",
            "Path": "path",
            "Flag": "on, off",
            "Integer": self.valid,
            "Number": self.valid,
            "Choice": ", ".join(self.valid.split("|")),
        }[self.kind]


def read_table() -> list[Entry]:
    code = "\n".join(
        line for line in SOURCE.read_text().splitlines() if not line.lstrip().startswith("//")
    )
    entries = [Entry(*match) for match in ENTRY.findall(code)]
    if len(entries) != code.count("ALM_OPTION("):
        raise SystemExit(f"{SOURCE}: an ALM_OPTION entry is not in the form the header describes")
    return entries


def python_table(entries: list[Entry]) -> str:
    lines = [
        '"""The options of allemande. Made by tools/make_options.py from src/base/options.def."""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "",
        "# ruff: noqa: E501",
        "",
        "",
        "@dataclass(frozen=True)",
        "class Option:",
        "    key: str",
        "    kind: str  # text, path, integer, number, choice or flag",
        "    default: str  # as text; empty: not set",
        '    valid: str  # integer: ranges "0,576..65535"; number: "1..9"; choice: "a|b|c"',
        "    shared: bool  # must be equal on all ranks of a job",
        "    help: str",
        "",
        "    @property",
        "    def variable(self) -> str:",
        '        return f"ALLEMANDE_{self.key.upper()}"',
        "",
        "",
        "OPTIONS: tuple[Option, ...] = (",
    ]
    for entry in entries:
        lines += [
            "    Option(",
            f'        key="{entry.key}",',
            f'        kind="{entry.kind.lower()}",',
            f'        default="{entry.default}",',
            f'        valid="{entry.valid}",',
            f"        shared={entry.scope == 'Shared'},",
            f'        help="{entry.help}",',
            "    ),",
        ]
    return "\n".join([*lines, ")", ""])


INTRODUCTION = """\
# Options

Made by `tools/make_options.py` from `src/base/options.def`.

An option is set, strongest first, by a flag of the command (`--set key=value` of `allemande run`
and `allemande config`), by an environment variable, or in the configuration file
`~/.config/allemande/config.toml` (`ALLEMANDE_CONFIG` names another one):

```toml
peer_timeout_s = 60
interface = "eth0"
```

An unknown name or a value out of range is an error that lists the valid ones. An empty environment
variable counts as not set. `allemande config` shows every option with its value and where the value
comes from.

Options marked *shared* must be equal on all ranks of a job; if they are not, allemande says so and
lets the MPI library do the work.

| key | variable | default | valid | shared |
|---|---|---|---|---|
"""


def _cell(entry: Entry) -> str:
    """What is valid, if it is short enough for a cell; else where it stands."""
    return entry.valid_text if len(entry.valid_text) <= CELL_COLUMNS else "see below"


def markdown(entries: list[Entry]) -> str:
    text = INTRODUCTION
    for entry in entries:
        default = f"`{entry.default}`" if entry.default else "not set"
        shared = "yes" if entry.scope == "Shared" else ""
        text += f"| [`{entry.key}`](#{entry.key}) | `{entry.variable}` | {default} "
        text += f"| {_cell(entry)} | {shared} |\n"
    for entry in entries:
        paragraph = textwrap.fill(
            entry.help, COLUMNS, break_long_words=False, break_on_hyphens=False
        )
        text += f"\n## {entry.key}\n\n{paragraph}\n"
        if _cell(entry) != entry.valid_text:
            valid = textwrap.fill(f"One of: {entry.valid_text}.", COLUMNS, break_on_hyphens=False)
            text += f"\n{valid}\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a file is out of date")
    check = parser.parse_args().check
    entries = read_table()
    stale = 0
    for path, text in (
        (ROOT / "python/allemande/option_table.py", python_table(entries)),
        (ROOT / "docs/options.md", markdown(entries)),
    ):
        if path.exists() and path.read_text() == text:
            continue
        if check:
            stale += 1
            relative = path.relative_to(ROOT)
            print(f"{relative}: out of date; run tools/make_options.py", file=sys.stderr)
        else:
            path.write_text(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
