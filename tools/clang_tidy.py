#!/usr/bin/env python3
"""Runs clang-tidy over every C++ source of a build, in parallel.

A source whose text, project headers, flags and checks are those of an earlier clean run is skipped.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = ROOT / ".venv/bin/clang-tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# Headers precompiled by g++: clang reads the sources as they are.
PRECOMPILED = re.compile(r"-Winvalid-pch|-include \S+/cmake_pch\.hxx")
# The generated flags are gcc's; clang has other warnings.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option"]


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


def tidy(commands: Path, source: Path) -> tuple[Path, bool, str]:
    done = subprocess.run(
        [TOOL, "-p", str(commands), "--quiet", *EXTRA, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    return source, done.returncode == 0, done.stdout + (done.stderr if done.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    cache: Path = options.build / "tidy"
    cache.mkdir(exist_ok=True)

    pending: dict[Path, str] = {}
    commands: list[dict[str, str]] = []
    for entry in json.loads((options.build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.is_relative_to(ROOT / "src") and source.suffix == ".cc":
            command = PRECOMPILED.sub("", entry.get("command") or shlex.join(entry["arguments"]))
            commands.append({**entry, "command": command})
            key = fingerprint(source, command.replace(str(ROOT), "."))
            if not (cache / key).exists():
                pending[source] = key
    (cache / "compile_commands.json").write_text(json.dumps(commands))

    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for source, clean, output in pool.map(lambda s: tidy(cache, s), pending):
            if clean:
                (cache / pending[source]).touch()
            else:
                failed += 1
                print(output, end="")
    print(f"clang-tidy: {len(pending)} sources checked, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
