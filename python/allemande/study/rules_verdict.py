"""What emitted tuning files gain, in rows of default, emitted and best forced; is it enough?

Two figures hold everywhere: an emitted file is never slower than the library's own choice
(`DEFAULT_MIN`), and it is as fast as the best algorithm that can be forced (`BEST_MIN`) in
`BEST_SHARE` of the rows. Where a library's own choice collapses a row has a figure of its own.
Where even the best forced algorithm does not reach that, `BEST_MIN` of what it reaches counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from allemande.bench.figures import Figure
from allemande.stock_algorithms import parse_stock

DEFAULT_MIN = 0.97
BEST_MIN = 0.95
BEST_SHARE = 0.95

# (cluster, library, bytes per pair) -> times the library's own choice
COLLAPSED: Mapping[tuple[str, str, int], float] = {
    ("oversubscribed-8x4", "openmpi", 1_000): 30,
    ("oversubscribed-8x4", "openmpi", 10_000): 4,
    ("oversubscribed-8x4", "openmpi", 50_000): 1.8,
    ("oversubscribed-8x4", "mpich", 1_000): 20,
    ("oversubscribed-8x4", "mpich", 10_000): 3,
    ("oversubscribed-8x4", "openmpi", 400): 1.7,
    ("tam-16x1", "openmpi", 400): 1.7,
    ("tam-8x4", "openmpi", 400): 1.7,
    ("tam-8x4", "openmpi", 200_000): 1.25,
    ("tam-8x4", "mpich", 100): 1.4,
}


@dataclass(frozen=True)
class RulesRow:
    """One size of one library; times are medians in seconds, of the same run."""

    cluster: str
    library: str
    size: int
    default_s: float
    emitted_s: float
    best_s: float
    best: str  # the fastest candidate that was forced, or the library's own choice
    chosen: str  # what the emitted file says

    @property
    def gain(self) -> float:
        """Times the library's own choice."""
        return self.default_s / self.emitted_s

    @property
    def of_best(self) -> float:
        return self.best_s / self.emitted_s

    @property
    def _gain_of_best(self) -> float:
        """What the best algorithm that can be forced reaches."""
        return self.default_s / self.best_s

    @property
    def target(self) -> float | None:
        """Where the library's own choice collapses: the gain that is asked for."""
        asked = COLLAPSED.get((self.cluster, self.library, self.size))
        if asked is None:
            return None
        return asked if self._gain_of_best >= asked else BEST_MIN * self._gain_of_best

    def misses(self) -> list[str]:
        """What of the row is not enough; BEST_MIN is judged over all rows."""
        found = []
        if self.gain < DEFAULT_MIN:
            found.append(f"below {DEFAULT_MIN:g} of the default")
        if self.target is not None and self.gain < self.target:
            found.append(f"below {self.target:.3g} times the default")
        return found


def rows_of(
    cluster: str,
    library: str,
    emitted: str,
    chosen: Mapping[int, str],
    figures: Iterable[Figure],
) -> list[RulesRow]:
    """One row for each size at which the default, the emitted file and more were timed.

    `emitted` is the candidate with the file, `chosen` what it says by size.
    """
    times: dict[int, dict[str, float]] = {}
    for figure in figures:
        if figure.median_s is not None and not figure.void and figure.library == library:
            times.setdefault(figure.size, {})[figure.candidate] = figure.median_s
    rows = []
    for size, found in sorted(times.items()):
        plain = {name: value for name, value in found.items() if parse_stock(name) is not None}
        if emitted in found and library in plain:
            best = min(plain, key=lambda name: plain[name])
            rows.append(
                RulesRow(
                    cluster,
                    library,
                    size,
                    default_s=plain[library],
                    emitted_s=found[emitted],
                    best_s=plain[best],
                    best=best,
                    chosen=chosen.get(size, library),
                )
            )
    return rows


def verdict(rows: Sequence[RulesRow]) -> tuple[bool, str]:
    """Whether all figures are met, and the line that says so."""
    if not rows:
        return False, "no row: nothing was timed"
    near = sum(row.of_best >= BEST_MIN for row in rows) / len(rows)
    missed = [row for row in rows if row.misses()]
    good = near >= BEST_SHARE and not missed
    worst = min(row.gain for row in rows)
    line = (
        f"{len(rows)} rows: {worst:.2f} to {max(row.gain for row in rows):.3g} times the default, "
        f"{near:.0%} within {BEST_MIN:g} of the best forced, {len(missed)} missed"
    )
    return good, line
