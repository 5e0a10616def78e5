"""What runs in pairs tell of a ratio: the estimate, its interval, and whether there is any.

Two runs of a round follow each other, so that both meet the machine in the same state. Their ratio
is taken round by round. The logarithms of these ratios are averaged, and Student's t gives the
interval: with a handful of rounds a bootstrap draws the same few values again and again, and its
intervals come out too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.99
MARGIN = 0.01  # a ratio nearer to 1 is not called a difference
FASTER, SLOWER, NONE_FOUND = "faster", "slower", "no difference found"


@dataclass(frozen=True)
class Side:
    """The times of one side: the median, and the quartiles around it."""

    seconds: tuple[float, ...]
    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Distance between the quartiles, as a part of the median."""
        return (self.high - self.low) / self.median if self.median > 0 else 0.0


def _side_of(seconds: Sequence[float]) -> Side:
    low, median, high = np.percentile(np.asarray(seconds, dtype=float), [25, 50, 75])
    return Side(tuple(seconds), float(median), float(low), float(high))


@dataclass(frozen=True)
class Ratio:
    """Preloaded / stock: below 1, allemande is faster."""

    ratio: float
    low: float  # of the interval
    high: float

    @property
    def verdict(self) -> str:
        if self.high < 1 and self.ratio <= 1 - MARGIN:
            return FASTER
        if self.low > 1 and self.ratio >= 1 + MARGIN:
            return SLOWER
        return NONE_FOUND


def paired_ratio(
    stock: Sequence[float], preloaded: Sequence[float], confidence: float = CONFIDENCE
) -> Ratio | None:
    """None: fewer than two rounds, or times that are not above zero."""
    if len(stock) != len(preloaded) or len(stock) < 2 or min(*stock, *preloaded) <= 0:
        return None
    logs = np.log(np.asarray(preloaded, dtype=float)) - np.log(np.asarray(stock, dtype=float))
    mean = float(np.mean(logs))
    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    reach = float(stats.t.ppf((1 + confidence) / 2, len(logs) - 1)) * error
    return Ratio(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


@dataclass(frozen=True)
class Compared:
    """One quantity on both sides, round by round."""

    stock: Side
    preloaded: Side
    ratio: Ratio | None

    @property
    def verdict(self) -> str:
        return NONE_FOUND if self.ratio is None else self.ratio.verdict


def compare_times(
    stock: Sequence[float], preloaded: Sequence[float], confidence: float = CONFIDENCE
) -> Compared:
    return Compared(
        _side_of(stock), _side_of(preloaded), paired_ratio(stock, preloaded, confidence)
    )
