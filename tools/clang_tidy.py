#!/usr/bin/env python3
"""Runs clang-tidy over every C++ source of a build, in parallel.

A source whose text, project headers, flags and checks are those of an earlier clean run is skipped;
the others are read in groups.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / ".venv/bin/clang-tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# Headers precompiled by g++: clang reads the sources as they are.
PRECOMPILED = re.compile(r"-Winvalid-pch|-include \S+/cmake_pch\.hxx")
OUTPUT = re.compile(r" -o \S+")
# Sources read at once. One that is pending alone is read alone, which shows includes it lacks.
GROUP = 40
# The generated flags are gcc's; clang has other warnings.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-ferror-limit=0"]


def project_headers(source: Path) -> list[Path]:
    """The source and every project file it includes, however deep."""
    seen: dict[Path, None] = {source: None}
    queue = [source]
    while queue:
        current = queue.pop()
        for name in INCLUDE.findall(current.read_text()):
            for header in (ROOT / "src" / name, current.parent / name):
                if header.is_file() and header not in seen:
                    seen[header] = None
                    queue.append(header)
    return sorted(seen)


def fingerprint(source: Path, command: str) -> str:
    digest = hashlib.sha256(command.encode())
    for path in [ROOT / ".clang-tidy", *project_headers(source)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Unit:
    """A source as one target compiles it."""

    source: Path
    folder: str
    command: str  # with {source} in place of its name
    key: str


def sources_in(compiled: Path) -> list[Path]:
    """The sources that the build compiles together in a file it has made, or the file itself."""
    if compiled.parent.name != "Unity":
        return [compiled]
    return [Path(name) for name in INCLUDE.findall(compiled.read_text())]


def units(build: Path) -> list[Unit]:
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        compiled = Path(entry["file"])
        command = PRECOMPILED.sub("", entry.get("command") or shlex.join(entry["arguments"]))
        # Outputs are named after the source and the target, and are not written.
        command = OUTPUT.sub("", command).replace(str(compiled), "{source}")
        for source in sources_in(compiled):
            if source.is_relative_to(ROOT / "src") and source.suffix == ".cc":
                key = fingerprint(source, command.replace(str(ROOT), "."))
                found.append(Unit(source, entry["directory"], command, key))
    return found


def groups(pending: list[Unit]) -> list[list[Unit]]:
    """Units with the same flags, so that one source can include them all: most of the time goes
    into headers. Folders stay together, and each has a namespace of its own."""
    alike: dict[str, list[Unit]] = {}
    for unit in sorted(pending, key=lambda unit: unit.source):
        alike.setdefault(unit.command, []).append(unit)
    return [
        together[begin : begin + GROUP]
        for together in alike.values()
        for begin in range(0, len(together), GROUP)
    ]


def run(group: list[Unit]) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="clang-tidy-") as folder:
        source = group[0].source
        if len(group) > 1:
            source = Path(folder) / "group.cc"
            source.write_text("".join(f'#include "{unit.source}"\n' for unit in group))
        command = {
            "directory": group[0].folder,
            "file": str(source),
            "command": group[0].command.replace("{source}", str(source)),
        }
        (Path(folder) / "compile_commands.json").write_text(json.dumps([command]))
        options = [f"--config-file={ROOT}/.clang-tidy", *EXTRA]
        if len(group) > 1:
            options.append("--checks=-bugprone-suspicious-include")
        done = subprocess.run(
            [TOOL, "-p", folder, "--quiet", *options, str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
    return done.returncode == 0, done.stdout + (done.stderr if done.returncode else "")


def tidy(group: list[Unit]) -> list[tuple[Unit, str]]:
    """For each source what is found, or an empty text."""
    clean, output = run(group)
    if clean:
        return [(unit, "") for unit in group]
    if len(group) == 1:
        return [(group[0], output or f"{group[0].source}: clang-tidy failed without a word\n")]
    # Two sources may not go together, and what is found shall be told of one: the named alone.
    named = [unit for unit in group if f"{unit.source}:" in output]
    rest = [unit for unit in group if unit not in named]
    found = [result for unit in named or rest for result in tidy([unit])]
    return found + (tidy(rest) if named and rest else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    cache: Path = options.build / "tidy"
    cache.mkdir(exist_ok=True)

    pending = [unit for unit in units(options.build) if not (cache / unit.key).exists()]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(tidy, groups(pending)):
            for unit, output in results:
                if output:
                    failed += 1
                    print(output, end="")
                else:
                    (cache / unit.key).touch()
    print(f"clang-tidy: {len(pending)} sources checked, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
