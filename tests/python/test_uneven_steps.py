"""Uneven traffic in steps made for it: the real protocol, simulated, near any matrix's limit."""

from __future__ import annotations

from statistics import mean

import pytest
from tests.python.output_queues import output_queued

import allemande
from allemande.simulation.case import Result

MEAN = 50_000
MATRICES = ["random", "zipf:0.6", "zipf:1.2", "hot:10", "block:0.3"]
CLUSTERS = ["tam-8x4", "tam-16x1", "oversubscribed-8x4"]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_uneven_traffic_comes_within_a_tenth_of_the_limit(cluster: str, matrix: str) -> None:
    result = allemande.simulate(output_queued(cluster), size=MEAN, matrix=matrix, seed=3)
    assert result.fraction_of_limit >= 0.9
    packets = result.raw["data_packets"]
    assert result.retransmitted <= packets // 100


def hot_receiver(
    uneven_steps: bool, congestion_control: str, cluster: str = "tam-16x1"
) -> list[Result]:
    """By seed: single runs jump between a few values, by what the last packets meet."""
    return [
        allemande.simulate(
            output_queued(cluster),
            size=MEAN,
            matrix="hot:10",
            seed=seed,
            uneven_steps=uneven_steps,
            congestion_control=congestion_control,
        )
        for seed in (1, 2, 3)
    ]


def time_of(results: list[Result]) -> float:
    return mean(result.time_s for result in results)


def test_without_steps_a_hot_receiver_is_swamped() -> None:
    steps = hot_receiver(True, "off")
    rounds = hot_receiver(False, "off")
    assert all(result.dropped == 0 for result in steps)
    assert all(result.dropped > 500 for result in rounds)
    assert all(result.fraction_of_limit > 0.94 for result in steps)
    # Since losses by chance are told from others', ranks ask for what is lost sooner.
    assert time_of(rounds) > 1.1 * time_of(steps)


def test_yielding_helps_a_hot_receiver_but_does_not_replace_steps() -> None:
    alone = hot_receiver(False, "aimd")
    assert time_of(alone) < 0.9 * time_of(hot_receiver(False, "off"))
    assert all(result.dropped > 500 for result in alone)
    # On one switch what is lost costs no time; behind uplinks it does.
    steps, rounds = (hot_receiver(uneven, "aimd", "tam-8x4") for uneven in (True, False))
    assert time_of(rounds) > 1.05 * time_of(steps)


def test_even_traffic_keeps_its_rounds() -> None:
    even = allemande.simulate(output_queued("tam-16x1"), size=MEAN, matrix="uniform")
    plain = allemande.simulate(output_queued("tam-16x1"), size=MEAN)
    assert even.time_s == pytest.approx(plain.time_s, rel=0.01)
