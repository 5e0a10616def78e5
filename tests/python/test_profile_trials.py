"""What a benchmark of trials with a profile makes of calls and decisions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from allemande.decisions import Decision, Way
from allemande.errors import Failed
from allemande.study.profile_trials import FIRST, SETTLED, TrialRow, row_of, verdict

WAYS = (
    Way("udp pairwise", "pairwise over UDP", 1000, 8, 10, 1000),
    Way("library", "the MPI library", 1200, 8, None, 1100),
)
DECISION = Decision(
    "0.1.0",
    "Open MPI v5.0.11",
    "cafe",
    "MPI_Alltoall",
    8,
    8,
    0,
    127,
    WAYS[0].name,
    "",
    WAYS,
    "beef",
)


def row(first: str = "a", settled: str = "a", cost: float = 1.0) -> TrialRow:
    return TrialRow("tam-8x4", "openmpi", 100, 0, first, settled, cost, 1.0)


def test_first_calls_are_held_against_the_last_of_the_same_job() -> None:
    times = [2.0] * FIRST + [9.0] * 5 + [1.0] * SETTLED
    made = row_of("tam-8x4", "openmpi", 1, DECISION, 100, times)
    assert (made.first, made.settled) == (WAYS[0].name, WAYS[0].name)
    assert (made.first_calls_s, made.settled_s, made.cost) == (2.0, 1.0, 2.0)
    other = replace(DECISION, chosen=WAYS[1].name)
    assert row_of("tam-8x4", "openmpi", 1, other, 100, times).settled == WAYS[1].name


def test_too_few_calls_tell_nothing() -> None:
    with pytest.raises(Failed, match="39 calls of 100 bytes; expected at least 40"):
        row_of("tam-8x4", "openmpi", 0, DECISION, 100, [1.0] * 39)


def test_the_verdict_asks_for_both_figures() -> None:
    good, line = verdict([row()] * 6 + [row(settled="b")])
    assert good and line.endswith("met") and "86%" in line
    assert not verdict([row(), row(settled="b")])[0]
    assert not verdict([row(cost=1.06)] * 3)[0]
    assert verdict([row(cost=1.04)] * 2 + [row(cost=3.0)])[0]
