"""Rows of default, emitted and best forced: what is enough."""

from __future__ import annotations

import pytest

from allemande.bench.figures import Figure
from allemande.study.rules_verdict import RulesRow, rows_of, verdict

FILE = "openmpi:rules=/f"


def figure(candidate: str, size: int, median_s: float | None, void: bool = False) -> Figure:
    return Figure(
        candidate=candidate,
        stock=True,
        library=candidate.partition(":")[0],
        size=size,
        median_s=median_s,
        limit_s=0.1,
        fraction_of_limit=None,
        packets=1,
        retransmitted=0,
        wrong_bytes=0,
        void=void,
    )


def row(default_s: float, emitted_s: float, best_s: float, size: int = 123) -> RulesRow:
    best = "openmpi:pairwise"
    return RulesRow("oversubscribed-8x4", "openmpi", size, default_s, emitted_s, best_s, best, best)


def test_a_row_takes_the_fastest_that_was_forced() -> None:
    figures = [
        figure("openmpi", 1000, 4.0),
        figure(FILE, 1000, 1.0),
        figure("openmpi:pairwise", 1000, 0.9),
        figure("openmpi:linear-sync:reqs=2", 1000, 0.8),
        figure("openmpi:linear", 1000, 0.1, void=True),
        figure("mpich", 1000, 0.1),
        figure("openmpi", 2000, 1.0),
        figure(FILE, 2000, None),
    ]
    (found,) = rows_of("c", "openmpi", FILE, {1000: "openmpi:pairwise"}, figures)
    assert (found.best, found.best_s, found.chosen) == (
        "openmpi:linear-sync:reqs=2",
        0.8,
        "openmpi:pairwise",
    )
    assert (found.gain, found.of_best) == pytest.approx((4.0, 0.8))


def test_where_the_default_collapses_the_best_forced_bounds_what_is_asked() -> None:
    assert row(8.0, 1.0, 1.0, size=10_000).target == 4
    assert row(3.0, 1.0, 1.0, size=10_000).target == pytest.approx(0.95 * 3)
    assert row(3.0, 1.0, 1.0).target is None
    assert row(8.0, 2.1, 1.0, size=10_000).misses() == ["below 4 times the default"]
    assert row(1.0, 1.04, 1.0).misses() == ["below 0.97 of the default"]


def test_the_verdict_is_over_all_rows() -> None:
    near = [row(1.0, 1.0, 0.96) for _ in range(19)]
    assert verdict([*near, row(1.0, 1.0, 0.5)])[0]
    good, line = verdict([*near[:18], row(1.0, 1.0, 0.5), row(1.0, 1.0, 0.5)])
    assert not good and "90% within 0.95 of the best forced, 0 missed" in line
    assert not verdict([*near, row(1.0, 2.0, 1.0)])[0]
    assert verdict([])[1] == "no row: nothing was timed"
