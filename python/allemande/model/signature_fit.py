"""The contention signature fitted to samples (003 Eq 4 and 5): gamma, delta and M.

alpha and beta come from a point-to-point test. With y = T/(p-1) - alpha the model is linear,
y = gamma (m beta) + delta [m >= M], for a given M. It is solved by generalised least squares: each
size counts by the variance of its mean, which grows with the time itself. M is searched among the
sizes measured. Intervals are those of Student's t for the degrees of freedom that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from allemande.errors import BadInput
from allemande.model.profile import SIGNATURE, Fit, Sample
from allemande.quantities import format_size

SIZES_LEAST = 4  # 003: at least four measurement points
USUAL_SIZES = (1_000, 10_000, 50_000, 200_000, 500_000, 1_000_000)
CONDITION_MAX = 30.0  # of the design, its columns scaled to length 1
SPREAD_LEAST = 8.0  # largest size over smallest
ERROR_LEAST = 0.01  # of a mean, relative: nothing is known better, however often it was timed
CONFIDENCE = 0.9

Vector = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class PointToPoint:
    """Hockney's terms: seconds, and seconds per byte."""

    alpha: float
    beta: float


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SignatureFit:
    """gamma, delta (s) and M (bytes; 0: delta is 0) at `ranks`, with 90 % intervals."""

    point_to_point: PointToPoint
    ranks: tuple[int, ...]  # one, or those that were pooled
    gamma: Interval
    delta: Interval
    threshold: int
    sigma: float  # standard deviation of ln(measured / fitted)
    sizes: tuple[int, ...]

    def seconds(self, ranks: int, size: float) -> float:
        """Eq 5."""
        extra = self.delta.value if size >= self.threshold else 0.0
        link = self.point_to_point
        return (ranks - 1) * (link.alpha + size * link.beta * self.gamma.value + extra)

    def as_fit(self, candidate: str, way: str = "") -> Fit:
        return Fit(
            candidate=candidate,
            way=way,
            kind=SIGNATURE,
            coefficients=(
                self.point_to_point.alpha,
                self.point_to_point.beta,
                self.gamma.value,
                self.delta.value,
                float(self.threshold),
            ),
            sigma=self.sigma,
            hosts_least=min(self.ranks),
            hosts_most=max(self.ranks),
            bytes_least=min(self.sizes),
            bytes_most=max(self.sizes),
        )


def proposition_1(link: PointToPoint, ranks: int, size: float) -> float:
    """(p-1)(alpha + m beta): the contention-free bound, and Eq 1, the first baseline of 003."""
    return (ranks - 1) * (link.alpha + size * link.beta)


def slowdown(link: PointToPoint, ranks: int, size: float) -> float:
    """alpha + m beta p: Clement's slowdown factor, Eq 3, the second baseline of 003."""
    return link.alpha + size * link.beta * ranks


@dataclass(frozen=True)
class _Points:
    """One row per size and number of hosts."""

    ranks: Vector
    size: Vector
    mean: Vector  # seconds
    error: Vector  # standard deviation of the mean, in seconds


def _points(samples: Iterable[Sample]) -> _Points:
    times: dict[tuple[int, int], list[float]] = {}
    for one in samples:
        times.setdefault((one.ranks, one.bytes), []).extend(one.times_s)
    rows = []
    for (ranks, size), values in sorted(times.items()):
        mean = float(np.mean(values))
        spread = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
        rows.append((ranks, size, mean, max(spread, ERROR_LEAST * mean)))
    table = np.asarray(rows, dtype=float).reshape(-1, 4)
    return _Points(table[:, 0], table[:, 1], table[:, 2], table[:, 3])


def _missing_sizes(sizes: Sequence[int]) -> list[int]:
    """What to measure besides, to have enough sizes, far enough apart."""
    wanted = [size for size in USUAL_SIZES if size not in sizes]
    if sizes and max(sizes) >= SPREAD_LEAST * min(sizes):
        return wanted[: max(0, SIZES_LEAST - len(sizes))]
    far = [s for s in wanted if not sizes or s >= SPREAD_LEAST * min(sizes)] or wanted
    rest = [size for size in wanted if size not in far[:1]]
    return sorted([*far[:1], *rest[: max(0, SIZES_LEAST - len(sizes) - 1)]])


def _refuse(name: str, why: str, missing: Sequence[int]) -> BadInput:
    sizes = ", ".join(format_size(size) for size in missing)
    wanted = f"; measure {sizes} as well" if sizes else ""
    return BadInput(f"{name}: no contention signature can be fitted: {why}{wanted}")


def _check(name: str, points: _Points) -> None:
    """Raises BadInput, naming the sizes that are missing."""
    for ranks in sorted(set(points.ranks.tolist())):
        sizes = sorted({int(s) for s in points.size[points.ranks == ranks]})
        where = f"{len(sizes)} sizes at {int(ranks)} hosts"
        missing = _missing_sizes(sizes)
        if len(sizes) < SIZES_LEAST:
            raise _refuse(name, f"{where}; expected {SIZES_LEAST} or more", missing)
        if max(sizes) < SPREAD_LEAST * min(sizes):
            why = f"{where} from {format_size(sizes[0])} to {format_size(sizes[-1])} lie too close"
            raise _refuse(name, f"{why}; expected {SPREAD_LEAST:g} times from end to end", missing)
    if points.ranks.size == 0:
        raise _refuse(name, "no samples", USUAL_SIZES[:SIZES_LEAST])


@dataclass(frozen=True)
class _Solution:
    values: Vector
    errors: Vector  # half of the interval
    cost: float  # weighted squares
    condition: float


def _solve(design: Vector, target: Vector, error: Vector) -> _Solution:
    """Generalised least squares for independent errors of different size."""
    from scipy import stats

    weighted = design / error[:, None]
    lengths = np.linalg.norm(weighted, axis=0)
    condition = float(np.linalg.cond(weighted / np.where(lengths > 0, lengths, 1.0)))
    values, _, _, _ = np.linalg.lstsq(weighted, target / error, rcond=None)
    residual = target / error - weighted @ values
    cost = float(residual @ residual)
    freedom = max(1, len(target) - design.shape[1])
    covariance = np.linalg.pinv(weighted.T @ weighted) * max(1.0, cost / freedom)
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom))
    return _Solution(values, quantile * np.sqrt(np.diag(covariance)), cost, condition)


def _search_threshold(name: str, points: _Points, link: PointToPoint) -> tuple[int, _Solution]:
    """The M of least squares; 0: without delta no worse, by Akaike's measure."""
    steps = points.ranks - 1
    target = points.mean / steps - link.alpha
    error = points.error / steps
    slope = points.size * link.beta
    plain = _solve(slope[:, None], target, error)
    best = (0, plain)
    best_cost = plain.cost + 2
    worst_condition = None
    for threshold in sorted({int(size) for size in points.size}):
        above = (points.size >= threshold).astype(float)
        solution = _solve(np.column_stack([slope, above]), target, error)
        if solution.condition > CONDITION_MAX:
            worst_condition = solution.condition
            continue
        # delta and M are two more unknowns; a negative one is no start-up, nor is gamma below 0.
        if min(solution.values) < 0 or solution.cost + 6 >= best_cost:
            continue
        best, best_cost = (threshold, solution), solution.cost + 6
    if worst_condition is not None and best[0] == 0 and plain.cost > 9 * len(target):
        raise _refuse(
            name,
            f"its sizes do not tell gamma from delta (condition {worst_condition:.0f})",
            _missing_sizes([int(s) for s in points.size])
            or [s for s in USUAL_SIZES if s not in points.size][:2],
        )
    return best


def fit_signature(name: str, samples: Iterable[Sample], link: PointToPoint) -> SignatureFit:
    """Fits the samples of one candidate called `name`; those of several p are pooled.

    Raises BadInput where they are too few or ill-conditioned, naming the sizes that are missing.
    """
    points = _points(samples)
    _check(name, points)
    if link.alpha < 0 or link.beta <= 0:
        raise BadInput(f"{name}: alpha {link.alpha} s and beta {link.beta} s/B are no link")
    threshold, solution = _search_threshold(name, points, link)
    gamma = Interval(
        float(solution.values[0]),
        float(solution.values[0] - solution.errors[0]),
        float(solution.values[0] + solution.errors[0]),
    )
    delta = Interval(0.0, 0.0, 0.0)
    if threshold:
        value, error = float(solution.values[1]), float(solution.errors[1])
        delta = Interval(value, value - error, value + error)
    fit = SignatureFit(
        point_to_point=link,
        ranks=tuple(sorted({int(p) for p in points.ranks})),
        gamma=gamma,
        delta=delta,
        threshold=threshold,
        sigma=0.0,
        sizes=tuple(sorted({int(s) for s in points.size})),
    )
    fitted = np.array(
        [fit.seconds(int(p), s) for p, s in zip(points.ranks, points.size, strict=True)]
    )
    logs = np.log(points.mean / fitted)
    freedom = max(1, len(logs) - (2 if threshold else 1))
    sigma = float(np.sqrt(float(logs @ logs) / freedom))
    return SignatureFit(**{**vars(fit), "sigma": max(sigma, ERROR_LEAST)})
