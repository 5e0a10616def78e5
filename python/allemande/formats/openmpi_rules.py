"""Rules for Open MPI's component `tuned`: which algorithm MPI_Alltoall takes, by ranks and bytes.

Three versions of the file exist. Open MPI ignores a file it cannot read without a word, so the
version must be that of the library.

Version 2, for 5.0.7 and later 5.x, 4.1.8 and later 4.1.x: numbers, after a first line that must be
the file's very first bytes. Behind a `#` stands a comment::

    rule-file-version-2
    1                   collectives that follow
    3                   this one: alltoall (4: alltoallv)
    3                   numbers of ranks that follow
    0 1                 from 0 ranks on 1 rule
    0 0 0 0 0           from 0 bytes on the library's own choice
    32 2                from 32 ranks on 2 rules
    0 0 0 0 0
    16000 4 0 0 8       from 16000 bytes on linear-sync, 8 messages under way
    33 1                from 33 ranks on its own choice again
    0 0 0 0 0

The bytes are those of a rank's whole buffer, ranks times bytes per pair. The last entry that is not
above the real number counts, of ranks as of bytes. Below the first number of ranks the first counts
all the same. Numbers with leading zeros would be octal. For alltoallv Open MPI looks up 0 bytes.

Version 1, for everything older: the same without the first line and the last column.

Version 3, for 6.0 and later: JSON, with ranges of ranks and bytes that include both ends. The first
that fits counts, and none means the library's own choice. Such a library reads the older versions
too, but ends a range of ranks where they begin one.

Rules count where `coll_tuned_use_dynamic_rules` is 1. An algorithm that is forced by
`coll_tuned_alltoall_algorithm` outranks them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.formats.tuning_table import TuningTable
from allemande.stock_algorithms import OPENMPI, OPENMPI_NUMBERS, StockAlgorithm, need_stock
from allemande.text_files import parse_json

HEADER = "rule-file-version-2"
COLLECTIVES = {"alltoall": 3, "alltoallv": 4}
UNLIMITED = 2**63 - 1
_NUMBER_MAX = {"alltoall": 5, "alltoallv": 2}


@dataclass(frozen=True)
class Rule:
    """Among so many ranks, for so many bytes in all, this algorithm; the ends are included."""

    ranks: tuple[int, int]
    totals: tuple[int, int]
    number: int  # of coll_tuned_<collective>_algorithm; 0: the library's own choice
    reqs: int = 0  # 0: no bound

    def fits(self, ranks: int, total: int) -> bool:
        return self.ranks[0] <= ranks <= self.ranks[1] and self.totals[0] <= total <= self.totals[1]


@dataclass(frozen=True)
class Rules:
    """A file, read as Open MPI reads it."""

    version: int
    by_collective: Mapping[str, Sequence[Rule]] = field(default_factory=dict)

    def find(self, ranks: int, size: int, collective: str = "alltoall") -> Rule | None:
        """The rule for `size` bytes per pair; None: the library's own choice."""
        total = ranks * size if collective == "alltoall" else 0
        for rule in self.by_collective.get(collective, ()):
            if rule.fits(ranks, total):
                return rule if rule.number else None
        return None


# Releases of these read files of different versions.
DIFFER_WITHIN = (("4", "1"), ("5", "0"))


def version_for(mpi_version: str) -> int:
    """The version of the file that a release of Open MPI reads: 1, 2 or 3."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", mpi_version)
    if match is None:
        raise BadInput(f"Open MPI {mpi_version!r} is no release; expected one as in 5.0.7")
    if match[3] is None and (match[1], match[2]) in DIFFER_WITHIN:
        raise BadInput(f"Open MPI {mpi_version!r} is no single release; expected one as in 5.0.7")
    release = tuple(int(part) for part in match.groups("0"))
    if release >= (6, 0, 0):
        return 3
    if release >= (5, 0, 7) or (4, 1, 8) <= release < (5, 0, 0):
        return 2
    return 1


def settings(path: Path) -> dict[str, str]:
    """The variables that make Open MPI read the file."""
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
    }


# ---- writing -------------------------------------------------------------------------------------

# By collective and number of ranks: (first byte in all, algorithm), ascending.
_Lines = dict[str, dict[int, list[tuple[int, StockAlgorithm]]]]


def _number(algorithm: StockAlgorithm, collective: str) -> int:
    if algorithm.is_default:
        return 0
    numbers = OPENMPI_NUMBERS[algorithm.name]
    if collective not in numbers:
        raise BadInput(
            f"{algorithm} is no algorithm of MPI_{collective.capitalize()}; expected some of: "
            + ", ".join(f"{OPENMPI}:{n}" for n, c in OPENMPI_NUMBERS.items() if collective in c)
        )
    return numbers[collective]


def _classic(lines: _Lines, version: int) -> Iterator[str]:
    if version > 1:
        yield HEADER
    yield f"{len(lines)} # collectives"

    def rule(first: int, number: int, algorithm: StockAlgorithm) -> str:
        if version > 1:
            return f"{first} {number} 0 0 {algorithm.value or 0} # {algorithm}"
        if algorithm.value is not None:
            raise BadInput(
                f"{algorithm}: rules can bound the messages under way from Open MPI 4.1.8 and "
                f"5.0.7 on; leave the bound out, or name a later release"
            )
        return f"{first} {number} 0 0 # {algorithm}"

    default = StockAlgorithm(OPENMPI)
    for collective, by_ranks in lines.items():
        yield f"{COLLECTIVES[collective]} # {collective}"
        blocks: dict[int, list[tuple[int, StockAlgorithm]]] = {0: [(0, default)]}
        for ranks in sorted(by_ranks):
            blocks[ranks] = by_ranks[ranks]
            blocks.setdefault(ranks + 1, [(0, default)])
        yield f"{len(blocks)} # numbers of ranks"
        for ranks, found in sorted(blocks.items()):
            yield f"{ranks} # ranks and more"
            yield f"{len(found)} # rules"
            for first, algorithm in found:
                yield rule(first, _number(algorithm, collective), algorithm)


def _json(lines: _Lines) -> str:
    collectives: dict[str, list[dict[str, Any]]] = {}
    for collective, by_ranks in lines.items():
        entries = collectives.setdefault(collective, [])
        for ranks, found in sorted(by_ranks.items()):
            rules = []
            ends: list[int | str] = [first - 1 for first, _ in found[1:]]
            for (first, algorithm), last in zip(found, [*ends, "inf"], strict=True):
                number = _number(algorithm, collective)
                if number:
                    rule = {"msg_size_min": first, "msg_size_max": last, "alg": number}
                    rules.append(rule | ({"reqs": algorithm.value} if algorithm.value else {}))
            if rules:
                entries.append({"comm_size_min": ranks, "comm_size_max": ranks, "rules": rules})
    document = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return json.dumps(document, indent=2) + "\n"


def write(table: TuningTable, version: int, alltoallv: Mapping[int, str] | None = None) -> str:
    """The file for a table of MPI_Alltoall, and candidates of MPI_Alltoallv by ranks."""
    lines: _Lines = {
        "alltoall": {
            ranks: [(ranks * each.first, each.algorithm) for each in ranges]
            for ranks, ranges in table.by_ranks.items()
        }
    }
    if alltoallv:
        lines["alltoallv"] = {
            ranks: [(0, need_stock(candidate, OPENMPI))] for ranks, candidate in alltoallv.items()
        }
    return _json(lines) if version == 3 else "\n".join([*_classic(lines, version), ""])


# ---- reading -------------------------------------------------------------------------------------


class _Words:
    """The numbers of a classic file, one after the other, and where each stands."""

    def __init__(self, text: str, source: str, first_line: int) -> None:
        self._source = source
        self._rows = [
            (number, line.partition("#")[0].split())
            for number, line in enumerate(text.split("\n"), first_line)
        ]
        self._words = [(number, word) for number, words in self._rows for word in words]
        self._next = 0

    def wrong(self, text: str, expected: str) -> BadInput:
        where = self._words[max(self._next - 1, 0)][0] if self._words else 1
        return BadInput(
            f"{self._source}:{where}: {text}; expected {expected} (Open MPI would say nothing)"
        )

    def number(self, what: str) -> int:
        if self._next == len(self._words):
            raise self.wrong("the file ends", what)
        self._next += 1
        word = self._words[self._next - 1][1]
        if not re.fullmatch(r"0|[1-9]\d{0,17}", word):
            raise self.wrong(
                f"{word!r:.60} is not valid", f"{what}, decimal, without leading zeros"
            )
        return int(word)

    def more_in_line(self) -> bool:
        """Whether the line of the last number goes on."""
        return (
            self._next < len(self._words)
            and self._words[self._next][0] == self._words[self._next - 1][0]
        )

    def end(self) -> None:
        if self._next < len(self._words):
            self._next += 1
            raise self.wrong(f"{self._words[self._next - 1][1]!r} is too much", "the file's end")


def _check_number(words: _Words, collective: str, number: int) -> int:
    if number > _NUMBER_MAX[collective]:
        raise words.wrong(
            f"{collective} has no algorithm {number}", f"0 to {_NUMBER_MAX[collective]}"
        )
    return number


def _read_classic(text: str, source: str) -> Rules:
    version, first_line = 1, 1
    if text.startswith("rule-file-version-"):
        head, _, text = text.partition("\n")
        if head.strip() != HEADER:
            raise BadInput(f"{source}:1: {head.strip()!r:.60} is not known; expected {HEADER!r}")
        version, first_line = 2, 2
    words = _Words(text, source, first_line)
    found: dict[str, list[Rule]] = {}
    for _ in range(words.number("how many collectives follow")):
        code = words.number("3 for alltoall, 4 for alltoallv")
        names = [name for name, number in COLLECTIVES.items() if number == code]
        if not names or names[0] in found:
            raise words.wrong(f"collective {code} is not valid", "3 and 4, each once")
        found[names[0]] = _read_collective(words, names[0], version)
    words.end()
    return Rules(version, found)


def _ascending(words: _Words, last: int, this: int, what: str) -> int:
    if this <= last:
        raise words.wrong(f"{this} {what} follow {last}", "ascending numbers")
    return this


def _read_collective(words: _Words, collective: str, version: int) -> list[Rule]:
    blocks: list[tuple[int, list[tuple[int, int, int]]]] = []
    for _ in range(words.number("how many numbers of ranks follow")):
        ranks = words.number("a number of ranks")
        _ascending(words, blocks[-1][0] if blocks else -1, ranks, "ranks")
        rows: list[tuple[int, int, int]] = []
        for _ in range(words.number("how many rules follow")):
            first = words.number("bytes")
            if not rows and first:
                raise words.wrong(f"the first rule begins at {first} bytes", "0")
            _ascending(words, rows[-1][0] if rows else -1, first, "bytes")
            number = _check_number(words, collective, words.number("an algorithm"))
            for what in ("a fan-out", "a segment size"):
                words.number(what)
            reqs = words.number("requests") if version > 1 and words.more_in_line() else 0
            rows.append((first, number, reqs))
        blocks.append((ranks, rows))
    rules = []
    for index, (ranks, rows) in enumerate(blocks):
        last_ranks = blocks[index + 1][0] - 1 if index + 1 < len(blocks) else UNLIMITED
        for place, (first, number, reqs) in enumerate(rows):
            last = rows[place + 1][0] - 1 if place + 1 < len(rows) else UNLIMITED
            rules.append(Rule((ranks if index else 0, last_ranks), (first, last), number, reqs))
    return rules


def _read_json(text: str, source: str) -> Rules:
    def wrong(what: str, expected: str) -> BadInput:
        return BadInput(f"{source}: {what}; expected {expected}")

    document = parse_json(text, source, "rules of version 3")
    if not isinstance(document, dict) or document.get("rule_file_version") != 3:
        raise wrong("`rule_file_version` is not 3", "rules of version 3")

    def bound(entry: Mapping[str, Any], key: str, missing: int) -> int:
        value = entry.get(key, missing)
        if isinstance(value, str) and value.lower() == "inf":
            return UNLIMITED
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise wrong(f"`{key}` is {value!r:.60}", "a whole number or 'inf'")
        return value

    found: dict[str, list[Rule]] = {}
    try:
        for collective, entries in document["collectives"].items():
            if collective not in COLLECTIVES:
                continue  # rules of other collectives are not ours to judge
            found[collective] = [
                Rule(
                    (bound(entry, "comm_size_min", 0), bound(entry, "comm_size_max", UNLIMITED)),
                    (bound(rule, "msg_size_min", 0), bound(rule, "msg_size_max", UNLIMITED)),
                    bound(rule, "alg", -1),
                    bound(rule, "reqs", 0),
                )
                for entry in entries
                for rule in entry["rules"]
            ]
    except (KeyError, TypeError, AttributeError) as error:
        raise wrong(f"{error} is missing or not of its kind", "rules of version 3") from None
    return Rules(3, found)


def read(text: str, source: str) -> Rules:
    """A file of any version, as Open MPI understands it; BadInput where it would ignore it."""
    return _read_json(text, source) if text.lstrip()[:1] == "{" else _read_classic(text, source)
