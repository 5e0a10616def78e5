"""Steps of patterns, and matrices that are one step: who sends to whom, what is delivered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allemande
from allemande.bench.job_plan import make_jobs
from allemande.bench.records import RunRecord
from allemande.cli import main
from allemande.errors import BadInput
from allemande.matrix import delivered_bytes, make_matrix, of_sends, parse_matrix
from allemande.patterns import BENCH_KINDS, make_steps, parse_pattern, step_bytes
from allemande.simulation.case import simulate
from allemande.topology import load_cluster


def pairs(text: str, ranks: int, **options: Any) -> list[tuple[int, int]]:
    matrix = make_matrix(parse_matrix(text), ranks, 700, **options)
    assert set(np.unique(matrix)) <= {0, 700}
    return [(int(i), int(j)) for i, j in np.argwhere(matrix)]


def test_steps_as_matrices() -> None:
    assert pairs("shift:3", 5) == [(0, 3), (1, 4), (2, 0), (3, 1), (4, 2)]
    assert pairs("pairs:2", 5) == [(0, 2), (1, 3)]
    assert pairs("rotate", 8) == [(1, 2), (2, 4), (3, 6), (4, 1), (5, 3), (6, 5)]
    assert pairs("incast:2", 5) == [(1, 0), (2, 0)]
    assert pairs("one-to-all", 3) == [(0, 1), (0, 2)]
    assert pairs("all-to-one", 3) == [(1, 0), (2, 0)]


@pytest.mark.parametrize("ranks", [2, 3, 16])
def test_a_permutation_moves_everybody(ranks: int) -> None:
    found = pairs("permutation", ranks, seed=4)
    assert found == pairs("permutation", ranks, seed=4)
    assert sorted(receiver for _, receiver in found) == list(range(ranks))
    assert all(sender != receiver for sender, receiver in found)


@pytest.mark.parametrize(
    ("text", "ranks", "message"),
    [
        ("shift", 4, "lacks its distance"),
        ("shift:1.5", 4, "whole number"),
        ("shift:8", 4, "another rank"),
        ("pairs:3", 4, "at most 2"),
        ("rotate", 6, "power of two"),
        ("incast:4", 4, "at most 3 senders"),
        ("permutation:2", 4, "takes no number"),
        ("all-to-one", 1, "two or more"),
    ],
)
def test_steps_that_do_not_suit(text: str, ranks: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_matrix(parse_matrix(text), ranks, 700)


def steps(text: str, ranks: int, size: int = 100) -> list[list[tuple[int, int, int]]]:
    return make_steps(parse_pattern(text), ranks, size)


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_the_displaced_ring_and_the_phased_one_deliver_an_alltoall(ranks: int) -> None:
    for text in ("drc", "alltoall-phased"):
        total = np.sum([of_sends(ranks, step) for step in steps(text, ranks)], axis=0)
        assert np.array_equal(total, 100 * (1 - np.eye(ranks)))


@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_in_phases_nobody_sends_and_receives_at_once(ranks: int) -> None:
    for step in steps("alltoall-phased", ranks):
        busy = [rank for sender, receiver, _ in step for rank in (sender, receiver)]
        assert len(busy) == len(set(busy))
        assert len(step) == ranks // 2


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_the_tree_reaches_all_from_those_it_has_reached(ranks: int) -> None:
    have = {0}
    found = steps("one-to-all-tree", ranks)
    for step in found:
        assert {sender for sender, _, _ in step} <= have
        have |= {receiver for _, receiver, _ in step}
    assert have == set(range(ranks))
    assert len(found) == (ranks - 1).bit_length()
    assert step_bytes(found) == 100 * (ranks - 1)


def test_rings() -> None:
    assert len(steps("allgather-ring", 5)) == 4
    assert step_bytes(steps("allgather-ring", 5)) == 5 * 4 * 100
    reduce = steps("allreduce", 3, 100)
    assert len(reduce) == 4
    assert step_bytes(reduce) == 2 * 2 * 100
    assert sorted(size for _, _, size in reduce[0]) == [33, 33, 34]


def test_ft_has_the_sizes_of_its_classes() -> None:
    """004 section 4.4: 512 and 128 KiB per pair for B, 2 MiB and 512 KiB for C, 20 times."""
    for name, ranks, size in (
        ("b", 32, 512 << 10),
        ("B", 64, 128 << 10),
        ("C", 32, 2 << 20),
        ("C", 64, 512 << 10),
    ):
        found = steps(f"ft:{name}", ranks)
        assert len(found) == 20
        assert {entry[2] for entry in found[0]} == {size}
    with pytest.raises(BadInput, match="evenly"):
        steps("ft:S", 7)


@pytest.mark.parametrize("text", ["ring", "ft", "ft:Z", "drc:3"])
def test_unknown_patterns(text: str) -> None:
    with pytest.raises(BadInput, match="allgather-ring"):
        parse_pattern(text)


def test_simulated_steps_are_timed_one_by_one() -> None:
    """On one switch each step of the ring takes what its packets take on one link."""
    result = simulate("tam-8x1", size=30_000, pattern="drc", contention_aware=False)
    assert result.step_s is not None and len(result.step_s) == 7
    assert result.time_s == pytest.approx(sum(result.step_s))
    assert result.limit_s == pytest.approx(7 * (30_000 + 21 * 42) * 8 / 100e6)
    assert 0.8 < result.fraction_of_limit <= 1
    assert result.delivered_bytes == 8 * 7 * 30_000
    assert result.delivered_gbit_s == pytest.approx(8e-9 * result.delivered_bytes / result.time_s)


def test_visits_repeat_the_steps() -> None:
    result = simulate("tam-8x1", size=3_000, pattern="one-to-all-tree", exchanges=2)
    assert result.visits_s is not None and [len(visit) for visit in result.visits_s] == [3, 3]
    assert result.as_json()["step_s"] == result.step_s
    assert result.delivered_bytes == 7 * 3_000


def test_patterns_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    words = ["simulate", "ib-144", "--hosts", "h[0-7]", "--pattern", "allreduce", "--size", "8KiB"]
    assert main([*words, "--json", str(path)]) == 0
    (written,) = json.loads(path.read_text())
    assert (written["hosts"], written["pattern"], len(written["step_s"])) == (8, "allreduce", 14)
    assert written["delivered_bytes"] == 14 * 8192


@pytest.mark.parametrize("kind", BENCH_KINDS)
def test_the_bench_delivers_what_the_simulator_does(kind: str, tmp_path: Path) -> None:
    cluster = load_cluster("shallow-8x1")
    plan = make_jobs(cluster, [1000], "alltoallv", pattern=parse_pattern(kind))
    workload = plan.workloads[0]
    simulated = simulate(cluster, size=1000, pattern=kind)
    assert workload.delivered_bytes(1000) == simulated.delivered_bytes
    assert workload.limits_s[1000] == pytest.approx(simulated.limit_s)
    words = workload.arguments([1000], tmp_path)
    count = len(simulated.step_s or [])
    assert words[words.index("--steps") + 1] == str(count)
    assert (tmp_path / "matrix.bin").stat().st_size == count * 8 * 8 * 8


@pytest.mark.parametrize("matrix", ["permutation", "incast:3", "random"])
def test_a_matrix_delivers_the_same_in_both(matrix: str) -> None:
    cluster = load_cluster("shallow-8x1")
    spec = parse_matrix(matrix)
    workload = make_jobs(cluster, [1000], "alltoallv", spec, seed=5).workloads[0]
    simulated = allemande.simulate("shallow-8x1", size=1000, matrix=matrix, seed=5)
    assert workload.delivered_bytes(1000) == simulated.delivered_bytes
    assert delivered_bytes(workload.matrices[1000]) == workload.delivered_bytes(1000)


def test_records_keep_the_steps_of_timed_calls() -> None:
    run = RunRecord()
    for warmup, steps_s in (("true", [9, 9]), ("false", [1, 2]), ("false", [3, 5])):
        run.take(
            f'{{"type": "call", "size": 7, "warmup": {warmup}, "seconds": {sum(steps_s)}, '
            f'"wrong_bytes": 0, "step_s": {steps_s}}}'
        )
    assert run.sizes[7].step_seconds == [[1.0, 2.0], [3.0, 5.0]]
