"""Choices out of measured or predicted times: the fastest candidate of a library at each point.

The rows are those of `allemande bench --json` and `allemande predict --json`: `candidate`, `ranks`,
`size` and `median_s` or `time_s`. Rows of other collectives, of uneven traffic, void ones, those of
other libraries and those beside background traffic or other jobs are passed over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.figure_rows import is_sound
from allemande.stock_algorithms import MPICH, OPENMPI, StockAlgorithm, parse_stock

# Below this gain a rule is not worth having: the library keeps its own choice.
GAIN_MIN = 0.02

Times = dict[tuple[int, int], dict[str, float]]  # (ranks, bytes per pair) -> candidate -> seconds


def _no_ranks(source: str) -> BadInput:
    return BadInput(f"{source}: rows do not say `ranks`; expected --ranks beside them")


def _time_of(row: Mapping[str, Any], collective: str = "alltoall") -> float | None:
    value = row.get("median_s", row.get("time_s"))
    usable = (
        isinstance(value, int | float)
        and value > 0
        and is_sound(row)
        and row.get("collective", "alltoall") == collective
        and (collective == "alltoallv" or row.get("matrix") is None)
    )
    return float(value) if usable and value is not None else None


def times_of(rows: Sequence[Any], library: str, ranks: int | None, source: str) -> Times:
    """The times of a library's candidates; `ranks` is for rows that do not say them."""
    times: Times = {}
    for row in rows:
        if not {"candidate", "size"} <= set(row):
            raise BadInput(f"{source}: a row without `candidate` and `size`: {row!r:.60}")
        found = parse_stock(str(row["candidate"]))
        value = _time_of(row)
        if found is None or found.library != library or value is None:
            continue
        number = row.get("ranks", ranks)
        if not isinstance(number, int):
            raise _no_ranks(source)
        size = row["size"]
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise BadInput(f"{source}: `size` is {size!r:.40}; expected whole bytes, 1 or more")
        point = times.setdefault((number, size), {})
        name = str(found)
        point[name] = min(value, point.get(name, math.inf))
    if not times:
        raise BadInput(
            f"{source}: no times of {library} in it that count; expected candidates such as "
            f"{library} and {library}:pairwise, neither void nor beside other jobs or traffic"
        )
    return times


def _best(times: Mapping[str, float], library: str) -> str:
    """The fastest; the library's own choice where that is nearly as fast."""
    best = min(times, key=lambda name: times[name])
    default = times.get(library)
    return library if default is not None and default <= times[best] * (1 + GAIN_MIN) else best


def _throttle(candidate: str, default_scatters: bool) -> int | None:
    """The window a candidate of MPICH rests on; 0: as the library has it; None: on none."""
    found = parse_stock(candidate) or StockAlgorithm(MPICH)
    rests = found.name == "scattered" or (found.is_default and default_scatters)
    return (found.value or 0) if rests else None


def choose(
    times: Times, library: str, default_scatters: Callable[[int, int], bool] = lambda *_: True
) -> dict[tuple[int, int], str]:
    """The fastest at every point.

    MPICH has one window of `scattered` for all: that with the least product of times. Its own
    choice rests on the window, too, where it is `scattered`: `default_scatters(ranks, size)`.
    """
    if library != MPICH:
        return {point: _best(found, library) for point, found in times.items()}
    windows = {
        point: {name: _throttle(name, default_scatters(*point)) for name in found}
        for point, found in times.items()
    }

    def under(window: int) -> dict[tuple[int, int], str] | None:
        allowed = {
            point: [name for name, needed in found.items() if needed in (None, window)]
            for point, found in windows.items()
        }
        if not all(allowed.values()):
            return None  # somewhere nothing was timed with this window
        return {p: _best({n: times[p][n] for n in allowed[p]}, library) for p in times}

    found = sorted({w for point in windows.values() for w in point.values() if w is not None})
    tried = [chosen for window in found or [0] if (chosen := under(window)) is not None]
    if not tried:
        raise BadInput(
            f"{MPICH}:scattered was timed with windows that have no size in common; expected one "
            f"window at every size, or {MPICH}:pairwise beside it: MPICH has one window for all"
        )
    return min(tried, key=lambda chosen: sum(math.log(times[p][n]) for p, n in chosen.items()))


def choose_alltoallv(rows: Sequence[Any], ranks: int | None, source: str) -> dict[int, str]:
    """For MPI_Alltoallv of Open MPI, which looks at the number of ranks alone: ranks -> candidate.

    The fastest over all sizes and traffics at which all candidates were timed: the one with the
    least product of times. No rows of MPI_Alltoallv give no choice.
    """
    totals: dict[int, dict[str, dict[tuple[Any, Any], float]]] = {}
    for row in rows:
        found = parse_stock(str(row.get("candidate")))
        value = _time_of(row, "alltoallv")
        number = row.get("ranks", ranks)
        if found is not None and found.library == OPENMPI and value is not None:
            if not isinstance(number, int):
                raise _no_ranks(source)
            point = (row.get("size"), row.get("matrix"))
            totals.setdefault(number, {}).setdefault(str(found), {})[point] = value
    chosen = {}
    for number, by_name in totals.items():
        shared = set.intersection(*(set(points) for points in by_name.values()))
        if shared:
            times = {
                name: math.exp(sum(math.log(points[at]) for at in shared) / len(shared))
                for name, points in by_name.items()
            }
            chosen[number] = _best(times, OPENMPI)
    return chosen


def read_rows(path: Path) -> list[Any]:
    """The rows of a file: an array, or a plan's `ranking`."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}; expected a JSON array of times") from None
    if isinstance(rows, dict):
        rows = rows.get("ranking")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{path}: no array of rows; expected what `allemande bench --json` writes")
    return rows
