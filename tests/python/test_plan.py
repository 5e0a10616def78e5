"""Plans from Python: the same on every rank, rounds that fit together, names checked."""

from __future__ import annotations

import pytest

from allemande._core import Plan, make_plan
from allemande.errors import BadInput
from allemande.topology import load_cluster

ALGORITHMS = ("direct", "shift-exchange", "pairwise", "group-shuffle", "sync-shuffle")


def plans(algorithm: str, permutation: str, groups: list[list[int]]) -> list[Plan]:
    ranks = len(groups[0])
    return [
        make_plan(ranks, rank, algorithm, permutation, group_of=groups) for rank in range(ranks)
    ]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("permutation", ["shift", "xor", "edge-colouring", "balanced"])
def test_every_rank_meets_every_other_once(algorithm: str, permutation: str) -> None:
    groups = load_cluster("tam-8x4").schedule_hierarchy()
    for plan in plans(algorithm, permutation, groups):
        others = [rank for rank in range(32) if rank != plan.rank]
        assert sorted(r for send, _ in plan.rounds for r in send) == others
        assert sorted(r for _, receive in plan.rounds for r in receive) == others


def test_no_step_of_the_balanced_schedule_crosses_an_uplink_more_than_seven_times() -> None:
    """Nobody idles, so place i of the one round is step i: nu = 6.19, rounded either way."""
    for step in zip(*(plan.rounds[0][0] for plan in plans_8x4()), strict=True):
        assert len(set(step)) == 32
        for leaf in range(4):
            hosts = range(8 * leaf, 8 * leaf + 8)
            assert sum(step[host] not in hosts for host in hosts) in (6, 7)
            assert sum(to in hosts for host, to in enumerate(step) if host not in hosts) in (6, 7)


def plans_8x4() -> list[Plan]:
    return plans("sync-shuffle", "balanced", load_cluster("tam-8x4").schedule_hierarchy())


def test_the_permutation_used_is_told() -> None:
    assert make_plan(8, 0, "pairwise").permutation == "edge-colouring"
    assert make_plan(8, 0, "shift-exchange").permutation == "shift"


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(BadInput, match="direct, shift-exchange, pairwise"):
        make_plan(8, 0, "ring")
    with pytest.raises(BadInput, match="shift, xor, edge-colouring, balanced"):
        make_plan(8, 0, permutation="random")
    with pytest.raises(BadInput, match="rank below 8"):
        make_plan(8, 8)
