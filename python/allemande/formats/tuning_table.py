"""Which algorithm a library takes for how many ranks and bytes: what tuning files are made of.

Choices are points: at so many ranks and bytes per pair, this candidate. A table has ranges: from so
many bytes on. Between two sizes the geometric mean divides. Half the least size and twice the
greatest are where the table ends: beyond them the library decides by itself, and it does so for
every number of ranks without a choice. Nothing is said of what nobody has looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from allemande.errors import BadInput
from allemande.stock_algorithms import StockAlgorithm, need_stock

RANKS_MAX = 2**31 - 2  # communicator sizes are ints, and files name the next one
# (ranks, bytes per pair) -> candidate
Choices = Mapping[tuple[int, int], str]


@dataclass(frozen=True)
class Range:
    """From so many bytes per pair on, up to the next range."""

    first: int
    algorithm: StockAlgorithm


@dataclass(frozen=True)
class TuningTable:
    """Ranges by number of ranks, both ascending; every list begins at 0 bytes."""

    library: str
    by_ranks: Mapping[int, tuple[Range, ...]]

    def find(self, ranks: int, size: int) -> StockAlgorithm:
        """What holds for `size` bytes per pair among `ranks`."""
        found = StockAlgorithm(self.library)
        for each in self.by_ranks.get(ranks, ()):
            if each.first > size:
                break
            found = each.algorithm
        return found


def _boundary(below: int, above: int) -> int:
    """The first size that is nearer to `above`, by ratio."""
    return math.isqrt(below * above - 1) + 1


def _ranges(library: str, found: list[tuple[int, StockAlgorithm]]) -> tuple[Range, ...]:
    default = StockAlgorithm(library)
    ranges = [Range(0, default)]

    def add(first: int, algorithm: StockAlgorithm) -> None:
        if ranges[-1].first == first:
            ranges.pop()
        if not ranges or ranges[-1].algorithm != algorithm:
            ranges.append(Range(first, algorithm))

    for index, (size, algorithm) in enumerate(found):
        add(_boundary(found[index - 1][0], size) if index else (size + 1) // 2, algorithm)
    add(2 * found[-1][0] + 1, default)
    return tuple(ranges)


def make_table(library: str, choices: Choices) -> TuningTable:
    """Ranges out of choices; BadInput for what is no algorithm of the library."""
    by_ranks: dict[int, list[tuple[int, StockAlgorithm]]] = {}
    for (ranks, size), candidate in sorted(choices.items()):
        if not 2 <= ranks <= RANKS_MAX or size < 1:
            raise BadInput(
                f"a choice for {ranks} ranks and {size} bytes; expected at least 2 ranks and 1 byte"
            )
        by_ranks.setdefault(ranks, []).append((size, need_stock(candidate, library)))
    if not by_ranks:
        raise BadInput(f"no choice for {library}; expected at least one size and candidate")
    return TuningTable(library, {p: _ranges(library, found) for p, found in by_ranks.items()})
