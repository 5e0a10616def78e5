"""Choices out of measured or predicted times: the fastest candidate of a library at each point.

The rows are those of `allemande bench --json` and `allemande predict --json`: `candidate`, `ranks`,
`size` and `median_s` or `time_s`. Rows of other collectives, of uneven traffic, void ones and those
of other libraries are passed over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.stock_algorithms import MPICH, StockAlgorithm, parse_stock

# Below this gain a rule is not worth having: the library keeps its own choice.
GAIN_MIN = 0.02

Times = dict[tuple[int, int], dict[str, float]]  # (ranks, bytes per pair) -> candidate -> seconds


def _time_of(row: Mapping[str, Any]) -> float | None:
    value = row.get("median_s", row.get("time_s"))
    usable = (
        isinstance(value, int | float)
        and value > 0
        and not row.get("void")
        and not row.get("wrong_bytes")
        and row.get("collective", "alltoall") == "alltoall"
        and row.get("matrix") is None
    )
    return float(value) if usable and value is not None else None


def times_of(rows: Sequence[Any], library: str, ranks: int | None, source: str) -> Times:
    """The times of a library's candidates; `ranks` is for rows that do not say them."""
    times: Times = {}
    for row in rows:
        if not isinstance(row, dict) or not {"candidate", "size"} <= set(row):
            raise BadInput(f"{source}: a row without `candidate` and `size`: {row!r:.60}")
        found = parse_stock(str(row["candidate"]))
        value = _time_of(row)
        if found is None or found.library != library or value is None:
            continue
        number = row.get("ranks", ranks)
        if not isinstance(number, int):
            raise BadInput(f"{source}: rows do not say `ranks`; expected --ranks beside them")
        point = times.setdefault((number, int(row["size"])), {})
        name = str(found)
        point[name] = min(value, point.get(name, math.inf))
    if not times:
        raise BadInput(
            f"{source}: no times of {library} in it; expected candidates such as "
            f"{library} and {library}:pairwise"
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


def read_choices(
    path: Path,
    library: str,
    ranks: int | None = None,
    default_scatters: Callable[[int, int], bool] = lambda *_: True,
) -> dict[tuple[int, int], str]:
    """The choices that a JSON array of rows leads to."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}; expected a JSON array of times") from None
    if not isinstance(rows, list):
        raise BadInput(f"{path}: not an array; expected what `allemande bench --json` writes")
    return choose(times_of(rows, library, ranks, str(path)), library, default_scatters)
