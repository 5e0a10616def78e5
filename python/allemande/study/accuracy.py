"""How far predictions lie from what it took, and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allemande.model.predict import Row

COVERAGE = (0.85, 0.97)  # of 90 % intervals


@dataclass(frozen=True)
class Comparison:
    """A prediction and the time it was for, in seconds."""

    what: str
    time_s: float
    row: Row

    @property
    def error(self) -> float:
        """The error of the prediction, as a part of the time."""
        return abs(self.row.time_s / self.time_s - 1)

    @property
    def held(self) -> bool:
        return self.row.low_s <= self.time_s <= self.row.high_s


@dataclass(frozen=True)
class Target:
    """The most that is allowed; None: not judged."""

    median: float | None = None
    worst: float | None = None
    width: float | None = None  # of intervals, median, as a part of the prediction
    coverage: bool = False


@dataclass(frozen=True)
class Summary:
    """The summary of several comparisons."""

    what: str
    count: int
    median: float
    worst: float
    coverage: float
    width: float
    target: Target

    def misses(self) -> list[str]:
        """What is not as it should be."""
        found = []
        for name in ("median", "worst", "width"):
            most = getattr(self.target, name)
            if most is not None and getattr(self, name) > most:
                found.append(f"{name} {getattr(self, name):.1%}, at most {most:.0%}")
        if self.target.coverage and not COVERAGE[0] <= self.coverage <= COVERAGE[1]:
            found.append(f"coverage {self.coverage:.0%}, {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}")
        return found

    def cells(self) -> list[str]:
        """One line of the table."""
        parts = (self.median, self.worst, self.coverage, self.width)
        return [
            self.what,
            str(self.count),
            *(f"{part:.1%}" for part in parts),
            "; ".join(self.misses()) or "held",
        ]


HEADINGS = ("what", "times", "median off", "worst off", "in interval", "interval", "target")


def summarise(what: str, found: Sequence[Comparison], target: Target) -> Summary:
    errors = np.array([one.error for one in found])
    widths = [(one.row.high_s - one.row.low_s) / one.row.time_s for one in found]
    return Summary(
        what=what,
        count=len(found),
        median=float(np.median(errors)),
        worst=float(errors.max()),
        coverage=float(np.mean([one.held for one in found])),
        width=float(np.median(widths)),
        target=target,
    )


def last_line(found: Sequence[Comparison]) -> str:
    """A line that sums up all comparisons."""
    whole = summarise("all", found, Target())
    return f"median {whole.median:.1%}, worst {whole.worst:.1%}, coverage {whole.coverage:.1%}"


@dataclass(frozen=True)
class Choice:
    """What was taken on a network at a size, and the best there was."""

    where: str
    size: int
    chosen: str
    best: str
    off: float  # time of the chosen over that of the best, less 1
    left_out: tuple[str, ...] = ()  # candidates that were timed, but with no figure that counts


@dataclass(frozen=True)
class ChoiceTarget:
    """The least part of choices within `NEAR` of the best, and how far off one may be at most."""

    near_part: float
    far: float


NEAR = 0.05  # of the best time


def near_part(found: Sequence[Choice]) -> float:
    """The part of the choices that are within `NEAR` of the best."""
    return sum(one.off <= NEAR for one in found) / len(found)


def choice_misses(found: Sequence[Choice], target: ChoiceTarget) -> list[str]:
    """In words; empty: all figures are held."""
    near = near_part(found)
    misses = []
    if near < target.near_part:
        least = f"at least {target.near_part:.0%}"
        misses.append(f"within {NEAR:.0%} of the best in {near:.1%}, {least}")
    far = [one for one in found if one.off > target.far]
    if far:
        misses.append(f"more than {target.far:.0%} off in {len(far)} of {len(found)}")
    return misses
