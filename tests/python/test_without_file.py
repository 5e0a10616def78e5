"""Exchanges without a cluster file beside those with one, on random networks, simulated."""

from __future__ import annotations

import pytest

from allemande.study.without_file import compare, is_settled


@pytest.mark.parametrize(
    ("seed", "size"),
    [
        pytest.param(13, 20_000, id="near hosts in microseconds, far ones in 10 ms"),
        pytest.param(34, 20_000, id="400 Gbit/s over half a millisecond"),
        pytest.param(5, 3000, id="100 Gbit/s"),
    ],
)
def test_a_job_without_a_file_settles_at_the_speed_of_one_that_has_it(seed: int, size: int) -> None:
    assert is_settled(compare(seed, size))
