"""Programs drawn at random, stock and preloaded: what is drawn, and the verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from allemande.study.never_slower import CALLS, COST_MAX, Row, drawn, verdict


def row(stock: list[float], ours: list[float]) -> Row:
    return Row("tam-8x2", "mpich", 3, 100, 1000, stock, ours)


def test_programs_are_the_same_for_a_seed() -> None:
    assert drawn("tam-8x2", "mpich", 5) == drawn("tam-8x2", "mpich", 5)
    calls = [drawn("tam-8x2", "mpich", seed).calls for seed in range(200)]
    assert min(calls) >= CALLS[0]
    assert max(calls) <= CALLS[1]
    assert min(calls) < 30
    assert max(calls) > 1500


def test_the_fastest_job_of_each_side_counts() -> None:
    assert row([2.0, 1.0], [3.0, 1.5]).ratio == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("ratios", "good"),
    [
        pytest.param([0.9, 1.0, COST_MAX], True, id="none is slower"),
        pytest.param([0.5, 0.5, 1.06], False, id="one is slower"),
        pytest.param([1.01, 1.01, 0.5], False, id="the median is"),
    ],
)
def test_no_program_may_be_slower_nor_the_median(ratios: list[float], good: bool) -> None:
    held, line = verdict([row([1.0], [ratio]) for ratio in ratios])
    assert held == good
    assert line.endswith("met" if good else "missed")


def test_a_library_that_is_not_known_is_refused(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "allemande.study.never_slower", "--libraries", "none"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("bench-never-slower: --libraries none: expected ")
