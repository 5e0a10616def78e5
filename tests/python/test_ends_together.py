"""Ranks that paused are not left behind at the end of an exchange (ADR 6)."""

from __future__ import annotations

from statistics import median

import pytest

from allemande import _core
from allemande.topology import load_cluster

PAUSES = {"jitter": "pause", "jitter_us": 4000, "jitter_interval_us": 40000}


@pytest.mark.parametrize("seed", [3, 7, 18, 19, 24, 28])
def test_ranks_that_paused_end_with_the_others(seed: int) -> None:
    cluster = load_cluster("oversubscribed-8x4").scaled(0.1)
    options = {"size": 50000, "seed": seed, **PAUSES}
    result = _core.simulate(cluster, options, None)
    ends = result["rank_time_s"]
    cycle_s = 31 * 1514 * 8 / 10e6
    assert max(ends) - median(ends) < cycle_s / 2
    assert result["retransmitted"] == 0
