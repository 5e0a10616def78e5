#!/usr/bin/env python3
"""Rejects words that have meant several things outside the folders of their one meaning.

docs/glossary.md defines them, and has a word for each of the other things.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("src", "include", "python", "tests")
SUFFIXES = {".h", ".cc", ".c", ".py", ".pyi"}
ITSELF = "tests/python/test_check_words.py"


def part(word: str) -> str:
    """Finds the word in prose, or as a part of a name: one_word, OneWord, kWordsMax."""
    return rf"(?:(?<![A-Za-z]){word}s?(?![a-z])|{word.capitalize()}s?(?![a-z]))"


class Word(NamedTuple):
    name: str
    pattern: str
    places: tuple[str, ...]  # folders, or beginnings of file names, where it may stand


# What carries out the exchanges of a program.
EXCHANGING = (
    *(f"src/{room}/" for room in ("job", "meeting", "ways", "courier", "communicator", "session")),
    "src/mpi/abi/",
)
WORDS = (
    Word("course", part("course"), ("src/execute/", "src/harness/")),
    # The names of the module and of a key in profiles are free.
    Word(
        "carrier",
        rf"(?<!alm::){part('carrier')}(?!::|/)",
        (
            "src/execute/",
            "src/carrier/udp_group.",
            "src/carrier/message_group.",
            "src/model/profile",
            "python/allemande/model/",
            "python/allemande/probe/",
            "python/allemande/reproduce/probed_network.py",
            "tests/swarm/",
        ),
    ),
    Word("kin", part("kin"), ()),
    # Links of InfiniBand have lanes, too.
    Word(
        "lane",
        part("lane"),
        (
            "src/carrier/",
            *EXCHANGING,
            "src/node/node_test_processes.h",
            "python/allemande/formats/",
        ),
    ),
    # In names of C++ alone: prose has ways of all kinds, names have one way, both ways, under way.
    Word(
        "way",
        r"(?<!One)(?<!Both)(?<!Each)(?<!Under)Ways?(?![a-z])|\w(?<!both)_ways\b",
        (
            "src/tuning/",
            "src/tally/",
            *EXCHANGING,
            "src/model/predictor_test.",
            "src/model/structural_test.",
            "src/bindings/model.cc",
            "python/",
            "tests/",
        ),
    ),
    # The option `steps` is free. Patterns have stages in C++ alone.
    Word(
        "step",
        rf"(?<![\"`]){part('step')}",
        (
            *(f"src/{room}/" for room in ("carrier", "clocks", "communicator", "courier", "model")),
            *(f"src/{room}/" for room in ("plan", "scenario", "schedule", "transport")),
            "src/base/plain_text.",
            "src/base/rounds.",
            "src/bindings/model.cc",
            "src/bindings/plan.cc",
            "src/meeting/found_routes.",
            "src/mpi/abi/datatype.",
            "src/routing/routes_test.",
            "src/sim/event_queue_test.",
            "src/sim/flow",
            "src/sim/random.",
            "src/topology/graph.",
            "src/topology/warnings.",
            "src/tuning/trial_",
            "python/",
            "tests/",
        ),
    ),
)


def complaints(root: Path) -> Iterator[str]:
    patterns = [(word, re.compile(word.pattern)) for word in WORDS]
    paths = (path for folder in SOURCES for path in sorted((root / folder).rglob("*")))
    for path in paths:
        name = path.relative_to(root).as_posix()
        if path.suffix not in SUFFIXES or name == ITSELF:
            continue
        bound = [(word, found) for word, found in patterns if not name.startswith(word.places)]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for word, pattern in bound:
                if pattern.search(line):
                    places = ", ".join(word.places) or "nowhere"
                    yield f"{name}:{number}: `{word.name}` may stand in: {places}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    found = list(complaints(parser.parse_args().root))
    for complaint in found:
        print(complaint, file=sys.stderr)
    if found:
        print("docs/glossary.md has a word for each thing.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
