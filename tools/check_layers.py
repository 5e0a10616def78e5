#!/usr/bin/env python3
"""Rejects an #include the layer table does not allow, and files and rooms grown too long.

The table is docs/architecture.md's: a module uses itself, `base` and the modules listed here. It
lists no module that no #include uses.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LAYERS: dict[str, set[str]] = {
    "base": set(),
    "topology": set(),
    "routing": {"topology"},
    "schedule": set(),
    "model": {"topology", "wire"},
    "plan": {"schedule", "routing", "model", "topology"},
    "wire": set(),
    "blocks": {"wire"},
    "paths": set(),
    "clocks": set(),
    "transport": {"blocks", "clocks", "paths", "wire"},
    "transport/io": {"transport", "clocks", "wire"},
    "messages": set(),
    "messages/io": {"messages", "transport"},
    "probe": {"wire"},
    "probe/io": {"probe", "transport/io"},
    "sim": {"routing", "topology"},
    "emulate": {"sim", "topology"},
    "tcp": set(),
    "harness": {
        "probe",
        "execute",
        "plan",
        "model",
        "sim",
        "tcp",
        "messages",
        "transport",
        "paths",
        "wire",
        "clocks",
        "routing",
        "topology",
    },
    "scenario": {
        "harness",
        "execute",
        "plan",
        "model",
        "sim",
        "messages",
        "tcp",
        "transport",
        "paths",
        "wire",
        "routing",
        "topology",
    },
    "tuning": {"plan", "model", "wire", "topology"},
    "execute": {"blocks", "plan", "transport", "topology"},
    "node": {"plan", "transport", "transport/io"},
    "carrier": {"execute", "node", "plan", "topology", "messages", "transport", "transport/io"},
    "tally": set(),
    "job": {
        "tally",
        "tuning",
        "model",
        "carrier",
        "execute",
        "node",
        "plan",
        "topology",
        "transport",
        "transport/io",
    },
    "meeting": {"job", "plan", "schedule", "topology", "transport", "transport/io"},
    "ways": {"meeting", "tuning", "model", "carrier", "plan", "topology"},
    "courier": {
        "ways",
        "meeting",
        "job",
        "tally",
        "tuning",
        "carrier",
        "execute",
        "transport",
    },
    "communicator": {
        "courier",
        "ways",
        "meeting",
        "job",
        "tally",
        "tuning",
        "carrier",
        "execute",
        "node",
        "plan",
        "topology",
        "clocks",
        "transport/io",
    },
    "session": {"communicator", "ways", "job", "tally", "tuning", "model", "plan"},
    "mpi/abi": {"session", "job", "tuning", "tally", "carrier", "messages/io", "transport/io"},
    "capi": {"communicator", "job"},
    "bindings": {
        "capi",
        "harness",
        "scenario",
        "tuning",
        "plan",
        "probe",
        "probe/io",
        "model",
        "routing",
        "topology",
        "transport/io",
        "wire",
    },
}

# Modules without sockets, clocks, threads or random state of their own: what they need of the
# operating system comes in as a value.
PURE = {
    "wire",
    "blocks",
    "paths",
    "clocks",
    "transport",
    "messages",
    "probe",
    "schedule",
    "routing",
    "model",
    "plan",
    "tuning",
    "execute",
    "sim",
    "tcp",
    "harness",
    "scenario",
}
IMPURE_HEADER = re.compile(
    r"(sys|netinet|arpa|linux|net)/.*|(unistd|poll|pthread|fcntl|signal|time|ifaddrs|netdb)\.h"
    r"|thread|mutex|shared_mutex|condition_variable|future|chrono|random|fstream|iostream"
)
MPI_HEADER = re.compile(r"mpi(-ext)?\.h")
PYTHON_HEADER = re.compile(r"(nanobind|pybind11)/.*|Python\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')

LINES_WARN = 500
LINES_MAX = 600
ROOM_LINES_MAX = 3600  # of a room without its tests
COUNTED_SUFFIXES = {".h", ".cc", ".c", ".py", ".sh"}


def module_of(path: str) -> str | None:
    """The module a path below src/ belongs to: `transport/io/x.h` -> `transport/io`."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in LAYERS:
            return folder
        folder = folder.rpartition("/")[0]
    return None


def check_include(source: Path, module: str, own: str | None, system: str | None) -> str | None:
    """What is wrong with one #include, or nothing. `source` is relative to src/."""
    if own is not None:
        target = module_of(own)
        if target is None:
            return f'"{own}" names no module; write "<module>/<file>"'
        if target not in {module, "base"} | LAYERS[module]:
            allowed = ", ".join(sorted(LAYERS[module] | {"base"} - {module})) or "nothing"
            return f'"{own}": {module} must not use {target}; it may use {allowed}'
        return None
    assert system is not None
    if MPI_HEADER.fullmatch(system) and module not in {"mpi/abi", "messages/io"}:
        return f"<{system}>: only src/mpi/abi and src/messages/io know MPI"
    if PYTHON_HEADER.fullmatch(system) and module != "bindings":
        return f"<{system}>: only src/bindings knows Python"
    # A test may hold a file or a clock; the module may not.
    is_test = source.stem.endswith("_test")
    if module in PURE and not is_test and IMPURE_HEADER.fullmatch(system):
        return f"<{system}>: {module} takes time, randomness and the outside world as values"
    return None


def unused_arrows(used: dict[str, set[str]]) -> Iterator[str]:
    if used.keys() != LAYERS.keys():
        return  # a part of the tree
    for module, targets in LAYERS.items():
        for target in sorted(targets - used[module]):
            yield f"tools/check_layers.py: nothing in {module} includes {target}; drop the arrow"


def layer_problems(src: Path) -> Iterator[str]:
    used: dict[str, set[str]] = {}
    files = sorted(path for suffix in ("h", "cc", "c", "def") for path in src.rglob(f"*.{suffix}"))
    for path in files:
        relative = path.relative_to(src)
        module = module_of(relative.as_posix())
        if module is None:
            yield f"{path}: belongs to no module of the layer table in tools/check_layers.py"
            continue
        targets = used.setdefault(module, set())
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            include = INCLUDE.match(line)
            if include is None:
                continue
            if include[1] is not None:
                targets.add(module_of(include[1]) or "")
            problem = check_include(relative, module, include[1], include[2])
            if problem:
                yield f"{path}:{number}: {problem}"
    yield from unused_arrows(used)


def length_problems(root: Path) -> Iterator[tuple[bool, str]]:
    """(fatal, message) for each long file."""
    for folder in ("src", "include", "python", "tests", "tools", "bench"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in COUNTED_SUFFIXES or not path.is_file():
                continue
            lines = path.read_text().count("\n")
            if lines > LINES_WARN:
                yield lines > LINES_MAX, f"{path}: {lines} lines; split it below {LINES_WARN}"


def room_problems(src: Path) -> Iterator[str]:
    lines = dict.fromkeys(LAYERS, 0)
    for path in src.rglob("*"):
        if path.suffix not in {".h", ".cc", ".c", ".def"} or "_test" in path.stem:
            continue
        module = module_of(path.relative_to(src).as_posix())
        if module is not None:
            lines[module] += path.read_text().count("\n")
    for module, count in lines.items():
        if count > ROOM_LINES_MAX:
            yield (
                f"{src / module}: {count} lines without tests; find what is a room of its own "
                f"(at most {ROOM_LINES_MAX})"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the repository")
    root: Path = parser.parse_args().root
    failures = [*layer_problems(root / "src"), *room_problems(root / "src")]
    for fatal, message in length_problems(root):
        if fatal:
            failures.append(message)
        else:
            print(f"warning: {message}", file=sys.stderr)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
