"""Losses on fast links: found by round trips, and no reason to send less where nothing queues."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from allemande import _core
from allemande.cluster_files import find_cluster_file
from allemande.simulation.case import Result, simulate
from allemande.study.random_trees import random_tree
from allemande.study.without_file import exchanges_on
from allemande.topology import load_cluster

FAST = str(Path(__file__).parents[2] / "experiments" / "clusters" / "fast-8x4.toml")


def run(size: int, part: float, seed: int, **options: Any) -> Result:
    fault = {"kind": "lossy-link", "from": "leaf0", "to": "core", "part": part, "seed": seed}
    faults = [fault] if part > 0 else []
    return simulate(FAST, size=size, seed=seed, jitter_us=10, faults=faults, **options)


@pytest.mark.parametrize(
    ("size", "part", "most", "seeds"),
    [
        (10_000, 0.01, 3, 8),
        (100_000, 0.001, 1 / 0.95, 8),
        (100_000, 0.01, 1 / 0.8, 8),
        (1_000_000, 0.001, 1 / 0.95, 1),
        (1_000_000, 0.01, 1 / 0.8, 1),
    ],
)
def test_a_loss_costs_round_trips(size: int, part: float, most: float, seeds: int) -> None:
    whole = mean(run(size, 0, seed).time_s for seed in range(1, seeds + 1))
    lossy = [run(size, part, seed) for seed in range(1, seeds + 1)]
    assert sum(result.retransmitted for result in lossy) > 0
    assert mean(result.time_s for result in lossy) <= most * whole


@pytest.mark.parametrize(("size", "exchanges", "most"), [(10_000, 20, 3), (100_000, 6, 1 / 0.8)])
def test_losses_do_not_add_up(size: int, exchanges: int, most: float) -> None:
    """From exchange to exchange: windows stay open, and ranks together."""
    for seed in (3, 4, 5):
        whole = run(size, 0, seed, exchanges=exchanges)
        lossy = run(size, 0.01, seed, exchanges=exchanges)
        assert lossy.time_s <= most * whole.time_s


def test_without_losses_nothing_is_asked_or_sent_again() -> None:
    for size in (1_000, 10_000, 100_000):
        result = run(size, 0, 1, exchanges=3)
        assert result.retransmitted == 0
        assert result.raw["probes"] == 0
        assert result.raw["window_cuts"] == 0


def test_two_jobs_on_fast_links_yield() -> None:
    """There a loss is one by the other job."""
    options: dict[str, Any] = {"jobs": 2, "exchanges": 6}
    yielding = run(100_000, 0, 1, **options)
    stubborn = run(100_000, 0, 1, congestion_control="off", **options)
    assert yielding.raw["window_cuts"] > 0
    assert yielding.retransmitted < stubborn.retransmitted / 2


def test_the_next_exchange_shows_what_its_sender_has_lost_of_this_one() -> None:
    """Four packets overflow the uplinks now and then, at the end of an exchange, too."""
    result = simulate(
        "shallow-4x2", size=50_000, window_packets=4, jitter_us=100, exchanges=4, seed=1
    )
    assert result.retransmitted > 0
    assert result.fraction_of_bound > 0.93


def test_many_losses_at_once_are_sent_again_together() -> None:
    """A window far above what queues take: a thousand losses within a round trip of 128 us."""
    result = simulate(random_tree(3072), size=100_000, window_packets=473, jitter_us=1, seed=1)
    assert result.retransmitted > 500
    assert result.time_s < 2e-3


def test_a_file_is_blamed_for_losses_of_equal_blocks_alone(tmp_path: Path) -> None:
    """With others several ranks send to one: queues overflow that hold what the file says."""
    file = find_cluster_file("oversubscribed-8x4")
    uneven = simulate(str(file), size=10_000, matrix="random", exchanges=10, jitter_us=10, seed=1)
    assert uneven.raw["window_cuts"] > 0 == uneven.raw["cuts_alone"]
    shorter = tmp_path / "shorter.toml"
    shorter.write_text(re.sub(r"(queue_\w+_packets =) 4[35]", r"\1 4", file.read_text()))
    told = load_cluster(file)
    equal = simulate(str(shorter), told=told, size=30_000, exchanges=10, jitter_us=100, seed=1)
    assert equal.raw["cuts_alone"] > 0


@pytest.mark.parametrize(
    ("cluster", "size", "options"),
    [
        (FAST, 100_000, {"grain_packets": 1}),
        ("oversubscribed-8x4", 10_000, {}),
        ("oversubscribed-8x4", 100_000, {}),
    ],
)
def test_a_job_alone_does_not_yield_to_losses_by_chance(
    cluster: str, size: int, options: dict[str, Any]
) -> None:
    """A rank that waits for what was lost is slow, as it is beside others; but nothing queues."""
    given: dict[str, Any] = {"size": size, "exchanges": 30, "jitter_us": 10, "seed": 3}
    whole = simulate(cluster, **given)
    ends = dict(zip(("from", "to"), whole.bottleneck.split(" -> "), strict=True))
    lossy = {"kind": "lossy-link", **ends, "part": 0.01, "seed": 3}
    assert simulate(cluster, **given, **options, faults=[lossy]).time_s <= 1.6 * whole.time_s


@pytest.mark.parametrize(
    ("cluster", "size", "part", "most"),
    [
        ("oversubscribed-8x4", 100_000, 0.001, 1.3),
        ("oversubscribed-8x4", 100_000, 0.01, 2),
        ("shallow-4x2", 100_000, 0.01, 1.5),
        (FAST, 100_000, 0.001, 1.3),
        (FAST, 100_000, 0.01, 2.5),
        (FAST, 10_000, 0.01, 5),
    ],
)
def test_losses_by_chance_do_not_close_windows_that_are_sought(
    cluster: str, size: int, part: float, most: float
) -> None:
    """Without a file: smaller windows lose no less (src/clocks/chance.h)."""
    given: dict[str, Any] = {"size": size, "exchanges": 30, "jitter_us": 10, "seed": 3}
    whole = simulate(cluster, **given)
    ends = dict(zip(("from", "to"), whole.bottleneck.split(" -> "), strict=True))
    lossy = {"kind": "lossy-link", **ends, "part": part, "seed": 3}
    alone = simulate(cluster, **given, described=False, faults=[lossy])
    assert alone.time_s <= most * whole.time_s


def test_windows_do_not_close_for_good_on_long_ways() -> None:
    """Ranks of one job are in each other's way there; small windows lose what others send."""
    cluster, options = exchanges_on(274, 100_000)
    for seed in (1, 2):
        given = {**options, "seed": seed, "exchanges": 60, "described": False}
        times = _core.simulate(cluster, given, None)["exchange_s"]
        assert mean(times[50:]) <= 2 * mean(times[10:20])
