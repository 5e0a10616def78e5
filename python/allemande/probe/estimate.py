"""A figure with its spread and the samples behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

LOW, HIGH = 5, 95  # percentiles: a 90 % interval
QUICKER = 25


def spread(samples: Sequence[float]) -> float:
    """What half of the samples lie within, as a share of their median.

    Precondition: one sample at least, and a median above 0.
    """
    low, middle, high = np.percentile(np.asarray(samples, float), [25, 50, 75])
    return float((high - low) / middle)


@dataclass(frozen=True)
class Estimate:
    """The median of samples, and the interval that holds 90 % of them."""

    value: float
    low: float
    high: float
    samples: Sequence[float] = field(default_factory=tuple)

    @classmethod
    def of(cls, samples: Sequence[float]) -> Estimate:
        """Precondition: one sample at least."""
        values = np.asarray(samples, float)
        low, high = np.percentile(values, [LOW, HIGH])
        return cls(float(np.median(values)), float(low), float(high), tuple(values.tolist()))

    @classmethod
    def of_times(cls, samples: Sequence[float]) -> Estimate:
        """A processor's time, to which other work only adds: the bound of the quicker quarter.

        Precondition: one sample at least.
        """
        values = np.asarray(samples, float)
        low, value, high = np.percentile(values, [LOW, QUICKER, HIGH])
        return cls(float(value), float(low), float(high), tuple(values.tolist()))
