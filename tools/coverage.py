#!/usr/bin/env python3
"""Which lines of src the tests run: a table by room, and a page in out/coverage.

Runs the tests on the build of the CMake preset `coverage` (`make coverage` builds it), which counts
how often each line is run. Processes that are killed lose their counts, so that what is printed is
a lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "coverage"
PAGE = ROOT / "out" / "coverage"

# Python finds the counting module by it, in every process that a test starts.
SITE = """import importlib.machinery, importlib.util, sys

class Counting:
    def find_spec(self, name, path=None, target=None):
        if name != "allemande._core":
            return None
        return importlib.util.spec_from_file_location(name, {core!r})

sys.meta_path.insert(0, Counting())
"""

Environment = Mapping[str, str]


def pytest(folder: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-m", "not slow", folder]


def suites(jobs: int) -> dict[str, list[str]]:
    """What is run, by name. Left out is what takes long and reaches no other lines: the slow tests
    of Python, and swarm_full, which is swarm_fast with ten times the exchanges."""
    ctest = ["ctest", "--test-dir", str(BUILD), "--output-on-failure", "--parallel", str(jobs)]
    return {
        "ctest": [*ctest, "--exclude-regex", "^swarm_full$"],
        "python": pytest("tests/python"),
        "mpi": pytest("tests/mpi"),
    }


def counting_environment() -> Environment:
    """The libraries to preload and the module of Python are those that count."""
    folder = BUILD / "python"
    folder.mkdir(exist_ok=True)
    core = next((BUILD / "src" / "bindings").glob("_core.*.so"))
    (folder / "sitecustomize.py").write_text(SITE.format(core=str(core)), encoding="utf-8")
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "ALM_BUILD_DIR": str(BUILD.relative_to(ROOT)),
    }


def run(names: Sequence[str], jobs: int) -> list[str]:
    """Runs these suites from zero; which have failed."""
    for counts in BUILD.rglob("*.gcda"):
        counts.unlink()
    environment = counting_environment()
    failed = []
    for name in names:
        begin = time.monotonic()
        done = subprocess.run(suites(jobs)[name], cwd=ROOT, env=environment, check=False)
        print(f"coverage: {name} took {time.monotonic() - begin:.0f} s", flush=True)
        if done.returncode != 0:
            failed.append(name)
    return failed


def gather(jobs: int) -> dict[str, dict[str, int]]:
    """Lines and covered lines of each file; writes the page."""
    PAGE.mkdir(parents=True, exist_ok=True)
    summary = PAGE / "summary.json"
    command = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--object-directory", str(BUILD)]
    command += ["--filter", "src/", "--exclude", r".*_test(_\w+)?\.(cc|h)$", f"-j{jobs}"]
    # A source is compiled for several MPI libraries: a line is run where it is run in one of them.
    command += ["--merge-mode-functions=separate", "--merge-lines"]
    command += ["--gcov-ignore-parse-errors=negative_hits.warn_once_per_file"]
    command += ["--html-details", str(PAGE / "index.html"), "--html-title", "allemande"]
    command += ["--json-summary", str(summary), str(BUILD)]
    subprocess.run(command, cwd=ROOT, check=True)
    files = json.loads(summary.read_text(encoding="utf-8"))["files"]
    return {
        file["filename"]: {"lines": file["line_total"], "covered": file["line_covered"]}
        for file in files
    }


def table(files: Mapping[str, Mapping[str, int]]) -> list[str]:
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, counts in files.items():
        for room in (str(Path(name).parent), "all"):
            rooms[room][0] += counts["lines"]
            rooms[room][1] += counts["covered"]
    rows = [("room", "lines", "covered", "percent")]
    for room in [*sorted(set(rooms) - {"all"}), "all"]:
        lines, covered = rooms[room]
        rows.append((room, str(lines), str(covered), f"{100 * covered / max(lines, 1):.1f}"))
    width = max(len(row[0]) for row in rows)
    return [f"{room:{width}}" + "".join(f"{cell:>9}" for cell in cells) for room, *cells in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    names = list(suites(1))
    parser.add_argument("--only", choices=names, action="append", help="these tests (repeatable)")
    parser.add_argument("--report", action="store_true", help="run nothing: what is counted so far")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if not (BUILD / "build.ninja").exists():
        print(f"coverage: no build in {BUILD}; `make coverage` makes it", file=sys.stderr)
        return 1
    failed = [] if arguments.report else run(arguments.only or names, arguments.jobs)
    for line in table(gather(arguments.jobs)):
        print(line)
    print(f"every line: {(PAGE / 'index.html').relative_to(ROOT)}")
    if failed:
        print(f"coverage: tests failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
