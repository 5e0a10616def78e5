"""What the benchmark of jobs that know nothing of their network makes of calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from allemande.simulation.networks import find_cluster
from allemande.study.by_itself import (
    CALLS_MIN,
    FIRST,
    LONG_S,
    Row,
    first_calls,
    row_text,
    scale_of,
    verdict,
)

GOOD = Row("tam-8x4", "openmpi", 10_000, 1.0, 1.1, 50, 1.03, 1.03, 5.0)


def test_a_row_is_held_against_what_is_described() -> None:
    assert GOOD.misses() == []
    assert replace(GOOD, first=1.11, calls=20).misses() == ["first 20"]
    assert replace(GOOD, settled=1.04).misses() == ["settled"]
    assert replace(GOOD, settled=1.04, size=1000).misses() == []
    assert replace(GOOD, second=1.04).misses() == ["second job"]


def test_the_verdict_names_the_rows_that_miss() -> None:
    assert verdict([GOOD, GOOD])[0]
    good, line = verdict([GOOD, replace(GOOD, cluster="shallow-4x2", second=2)])
    assert not good and line.endswith("missed by shallow-4x2 openmpi 10 KB")


def test_long_calls_are_fewer() -> None:
    assert len(first_calls([0.01] * 80)) == FIRST
    assert len(first_calls([LONG_S / 16] * 80)) == 16
    assert len(first_calls([LONG_S] * 80)) == CALLS_MIN


def test_a_row_is_told_as_it_is_measured() -> None:
    assert row_text(replace(GOOD, second=2)) == (
        "tam-8x4, openmpi, 10 KB: described 1 s, first 1.10, settled 1.03, second job 2.00 times "
        "that; stock 5 s; missed: second job"
    )


def test_faster_networks_are_as_slow_as_the_others() -> None:
    assert scale_of(find_cluster("tam-8x4"), 0.1) == 0.1
    assert scale_of(find_cluster("fat-tree:16"), 0.1) == pytest.approx(0.01)
