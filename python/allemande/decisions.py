"""The decision file the preloaded libraries write: which way exchanges took, and why."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.text_files import TOML_BYTES_MAX, parse_toml, read_text, shown

FORMAT = 2
FORMAT_WITHOUT_KEYS = 1  # of earlier versions: a way is known by its name
_BEGINS = re.compile(r"[ \t]*\[\[[ \t]*decision[ \t]*\]\]")
ONE_SIZE = "MPI_Alltoall"  # the calls whose blocks are all of one size


@dataclass(frozen=True)
class Way:
    """One candidate of a trial."""

    key: str  # the same in every version
    name: str  # for people
    time_us: float | None  # of the slowest rank; None: not tried
    seen: int
    packets: int | None  # the model's figure for a rank; None: it has none
    predicted_us: float | None = None  # by the profile; None: it does not say


@dataclass(frozen=True)
class Decision:
    """What was decided for one size class on one kind of job."""

    version: str
    mpi: str
    configuration: str
    calls: str  # "MPI_Alltoall", or those with blocks of any size
    ranks: int
    hosts: int
    least_bytes: int  # per pair; of calls of any size: at the fullest rank
    most_bytes: int
    chosen: str  # the name of a way
    why: str
    ways: tuple[Way, ...]
    profile: str | None = None  # hash of the profile; None: there was none
    network: str | None = None  # hash of hosts and network; None: the user has named the file


class _Table:
    """Typed reads of one table; names file, table and key of what is wrong."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise BadInput(f"{where} is not a table")
        self.table, self.where = table, where

    def text(self, key: str) -> str:
        value = self.table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise BadInput(f"{self.where}: `{key}` is missing or not valid; expected a text")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if key in self.table else None

    def integer(self, key: str, least: int) -> int:
        value = self.table.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise BadInput(
                f"{self.where}: `{key}` is missing or not valid; expected an integer from {least}"
            )
        return value

    def microseconds(self, key: str) -> float:
        value = self.table.get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1e13:
            raise BadInput(f"{self.where}: `{key}` is missing or not valid; expected microseconds")
        return float(value)

    def optional_microseconds(self, key: str) -> float | None:
        return self.microseconds(key) if key in self.table else None

    def tables(self, key: str, lines: Sequence[int] = ()) -> list[_Table]:
        """`lines`: where each begins, if that is known."""
        value = self.table.get(key, [])
        if not isinstance(value, list):
            raise BadInput(f"{self.where}: `{key}` is not valid; expected an array of tables")
        at = [f":{line}" for line in lines] if len(lines) == len(value) else [""] * len(value)
        return [
            _Table(one, f"{self.where}{line}: {key} {number}")
            for number, (one, line) in enumerate(zip(value, at, strict=True), 1)
        ]


def _read_way(table: _Table, has_keys: bool) -> Way:
    name = table.text("name")
    return Way(
        key=table.text("key") if has_keys else name,
        name=name,
        time_us=table.microseconds("time_us") or None,
        seen=table.integer("seen", 0),
        packets=table.integer("packets", 0) or None,
        predicted_us=table.optional_microseconds("predicted_us") or None,
    )


def _read_decision(table: _Table, has_keys: bool) -> Decision:
    key = table.text("chosen")
    ways = tuple(_read_way(way, has_keys) for way in table.tables("way"))
    chosen = next((way.name for way in ways if way.key == key), None)
    if chosen is None:
        raise BadInput(f"{table.where}: `chosen` names none of its ways")
    return Decision(
        version=table.text("version"),
        mpi=table.text("mpi"),
        configuration=table.text("configuration"),
        calls=table.text("calls"),
        ranks=table.integer("ranks", 2),
        hosts=table.integer("hosts", 1),
        least_bytes=table.integer("least_bytes", 1),
        most_bytes=table.integer("most_bytes", 1),
        chosen=chosen,
        why=table.text("why"),
        ways=ways,
        profile=table.optional_text("profile"),
        network=table.optional_text("network"),
    )


def _order(one: Decision) -> tuple[str, int, int, str, int]:
    return one.mpi, one.ranks, one.hosts, one.calls, one.least_bytes


def _parse_decisions(text: str, name: str) -> list[Decision]:
    """Reads the text of a decision file called `name`; raises BadInput for anything else."""
    try:
        root = _Table(parse_toml(text, name), name)
        file_format = root.table.get("decisions")
        if file_format not in (FORMAT, FORMAT_WITHOUT_KEYS):
            said = f", but {file_format!r:.40}" if "decisions" in root.table else ""
            raise BadInput(f"it does not say `decisions = {FORMAT}`{said}")
        has_keys = file_format != FORMAT_WITHOUT_KEYS
        lines = enumerate(text.split("\n"), 1)
        begins = [number for number, line in lines if _BEGINS.match(line)]
        found = [_read_decision(table, has_keys) for table in root.tables("decision", begins)]
    except BadInput as error:
        raise BadInput(
            f"{name} is no decision file of allemande: {error}. Expected what a job with "
            "ALLEMANDE_DECISIONS=FILE writes"
        ) from None
    return sorted(found, key=_order)


def cache_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where jobs keep their decisions by themselves (src/session/decision_cache.cc).

    Raises BadInput where they keep none.
    """
    directory = environment.get("XDG_CACHE_HOME", "")
    if not directory.startswith("/"):
        home = environment.get("HOME", "")
        if not home.startswith("/"):
            raise BadInput("without HOME and XDG_CACHE_HOME jobs keep no decisions; name a FILE")
        directory = home + "/.cache"
    return Path(directory) / "allemande" / "decisions.toml"


def load_decisions(path: str) -> list[Decision]:
    """Reads a decision file; raises BadInput where there is none."""
    text = read_text(path, "a decision file of allemande", TOML_BYTES_MAX)
    return _parse_decisions(text, shown(path))
