"""Collectives, matrices and several ranks per host: limits worked out by hand, and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from allemande.bench.candidates import every_candidate, parse_candidates
from allemande.bench.figures import make_figure, warnings
from allemande.bench.records import RunRecord, SizeRecord, add_own_counters
from allemande.bench.runner import misplaced
from allemande.bench.workload import make_workload
from allemande.errors import BadInput
from allemande.lab.placement import (
    Placement,
    hostfile,
    number_of_ranks,
    parse_placement,
    spread,
)
from allemande.matrix import parse_matrix
from allemande.topology import load_cluster

# 8 hosts on one switch, at a tenth of 100 Mbit/s.
CLUSTER = load_cluster("tam-8x1").scaled(0.1)
BYTES_S = 10e6 / 8


def test_alltoall_without_a_matrix_has_the_limit_of_the_cluster() -> None:
    workload = make_workload(CLUSTER, [100, 50_000])
    assert workload.limits_s == {
        100: CLUSTER.limit_seconds(None, 100),
        50_000: workload.limits_s[50_000],
    }
    assert workload.limits_s[100] == pytest.approx(7 * 142 / BYTES_S)
    assert workload.matrix is None and workload.describe() is None


def test_zipf_is_limited_by_its_most_popular_receiver() -> None:
    """Weights 1, 1/2 ... 1/8 of 8 x 10000 bytes: 29435 to the first, in 20 packets, from 7."""
    workload = make_workload(CLUSTER, [10_000], "alltoallv", parse_matrix("zipf:1"))
    largest = workload.matrices[10_000].max()
    assert largest == round(80_000 / sum(1 / k for k in range(1, 9)))
    assert workload.limits_s[10_000] == pytest.approx(7 * (largest + 20 * 42) / BYTES_S)


def test_same_seed_same_matrix_for_every_candidate(tmp_path: Path) -> None:
    spec = parse_matrix("random")
    first = make_workload(CLUSTER, [100, 200], "alltoallw", spec, 7)
    again = make_workload(CLUSTER, [100, 200], "alltoallw", spec, 7)
    words = first.arguments([200], tmp_path)
    assert words[:4] == ["--sizes", "200", "--collective", "alltoallw"]
    read = np.fromfile(words[words.index("--matrix") + 1], dtype=np.int64).reshape(8, 8)
    assert (read == again.matrices[200]).all()


def test_uniform_needs_no_matrix(tmp_path: Path) -> None:
    workload = make_workload(CLUSTER, [100], "alltoallv", parse_matrix("uniform"))
    assert workload.arguments([100], tmp_path) == ["--sizes", "100", "--collective", "alltoallv"]
    assert workload.limits_s == make_workload(CLUSTER, [100]).limits_s
    assert workload.labels()["matrix"] == "uniform"


def test_a_file_names_its_own_size(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    rows = np.zeros((8, 8), dtype=int)
    rows[2, 5] = 6400
    np.savetxt(path, rows, fmt="%d", delimiter=",")
    workload = make_workload(CLUSTER, [1], "alltoallv", parse_matrix(f"file:{path}"))
    assert workload.limits_s == {100: pytest.approx((6400 + 5 * 42) / BYTES_S)}


def test_ranks_of_a_host_share_its_link() -> None:
    """Two ranks on each host: 4 blocks of 1000 bytes to each of 7 hosts, in 3 packets."""
    placement = parse_placement("2", 8)
    workload = make_workload(CLUSTER, [1000], placement=placement)
    assert workload.limits_s[1000] == pytest.approx(7 * (4000 + 3 * 42) / BYTES_S)
    assert workload.labels()["ranks_per_host"] == 2
    assert workload.hosts == tuple(f"h{i // 2}" for i in range(16))


def test_unequal_ranks_per_host_share_the_links_of_their_hosts() -> None:
    """3 and 1 by turns, 16 ranks. A host of 3: 9 blocks to each of 3 hosts, 3 to each of 4."""
    workload = make_workload(CLUSTER, [1472], placement=parse_placement("3,1", 8))
    assert workload.limits_s[1472] == pytest.approx((3 * 9 + 4 * 3) * 1514 / BYTES_S)
    assert workload.labels()["ranks_per_host"] == "3,1,3,1,3,1,3,1"


def test_ranks_are_placed_in_block_and_cyclic_order_with_a_spare_slot() -> None:
    assert Placement((2, 1, 2)).of_ranks() == [0, 0, 1, 2, 2]
    cyclic = Placement((2, 1, 2), "cyclic")
    assert cyclic.of_ranks() == [0, 1, 2, 0, 2]
    hosts = ("a", "b", "c")
    assert hostfile(hosts, cyclic, "mpich") == "a:1\nb:1\nc:1\na:1\nc:1\n"
    assert hostfile(hosts, cyclic, "openmpi") == "a\nb\nc\na\nc\nc\n"  # and a spare one
    spare = hostfile(hosts, Placement((2, 1, 2)), "openmpi")
    assert spare == "a slots=2\nb slots=1\nc slots=3\n"
    assert hostfile(hosts, spread(2, 3), "openmpi") == "a slots=1\nb slots=2\n"
    assert hostfile(hosts, spread(2, 3), "mpich") == "a:1\nb:1\n"


def test_ranks_elsewhere_than_asked_are_noticed() -> None:
    assert misplaced(["a", "a", "b"], ["a", "a", "b"]) is None
    assert misplaced(["a", "b", "a"], ["a", "a", "b"]) == "rank 1 ran on b; expected a"
    assert misplaced(["a"], ["a", "b"]) == "1 ranks ran; expected 2"
    assert misplaced([], ["a", "b"]) is None  # a program that does not tell


def test_matrices_beyond_the_offsets_of_mpi_are_refused() -> None:
    with pytest.raises(BadInput, match=r"rank \d receives \d+ bytes; MPI's offsets end at"):
        make_workload(CLUSTER, [200_000_000], "alltoallv", parse_matrix("hot:100"))


def test_candidates_differ_by_collective() -> None:
    by_name = {each.name: each for each in every_candidate("alltoallv")}
    assert by_name["openmpi:pairwise"].arguments[-2:] == ("coll_tuned_alltoallv_algorithm", "2")
    assert "openmpi:linear-sync" not in by_name
    assert [each.name for each in every_candidate("alltoallw") if each.stock] == [
        "openmpi",
        "mpich",
        "mpich:ucx",
    ]
    nonblocking = {each.name: each for each in every_candidate("ialltoall")}
    assert "openmpi:pairwise" not in nonblocking
    ours = nonblocking["allemande+mpich"]
    assert ours.environment == {"ALLEMANDE_TRIALS": "off", "ALLEMANDE_PROGRESS": "thread"}
    bruck = parse_candidates(["mpich:bruck"])[0]
    assert bruck.environment == {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "brucks"}


def counted(stats: str, by_messages: bool = False) -> SizeRecord:
    run = RunRecord(ranks=2)
    record = run.size(1000)
    record.seconds, record.complete = [1.0], True
    add_own_counters(run, [stats], by_messages)
    return record


def test_messages_void_a_figure_only_where_they_were_not_asked_for() -> None:
    line = '{"bytes": 1000, "exchanges": 2, "packets": 0, "retransmitted": 0}'
    stats = f'{{"communicators_mpi": 2, "exchanges": 2, "sizes": [{line}]}}'
    ours, asked = parse_candidates(["allemande+mpich", "allemande+mpich:transport=mpi"])
    assert (ours.by_messages, asked.by_messages) == (False, True)
    assert make_figure(ours, 1000, 0.5, [counted(stats)]).void
    assert not make_figure(asked, 1000, 0.5, [counted(stats, by_messages=True)]).void


def test_calls_that_were_passed_through_are_void_and_not_repeated() -> None:
    ours = parse_candidates(["allemande+openmpi"])[0]
    record = counted('{"passed_through": 6, "exchanges": 0, "sizes": []}')
    assert not record.may_be_repeated
    figure = make_figure(ours, 1000, 0.5, [record])
    assert figure.void and not figure.accelerated
    assert figure.void_reason == "allemande passed 6 calls through to the MPI library"
    assert len([line for line in warnings([figure]) if "passed" in line]) == 1


def test_the_librarys_own_way_is_legal_with_trials_alone() -> None:
    line = '{"bytes": 1000, "exchanges": 2, "packets": 3, "retransmitted": 0}'
    stats = f'{{"native": 4, "exchanges": 2, "sizes": [{line}]}}'
    ours, trying = parse_candidates(["allemande+openmpi", "allemande+openmpi:trials=on"])
    assert not make_figure(trying, 1000, 0.5, [counted(stats)]).void
    settled = make_figure(trying, 1000, 0.5, [counted('{"native": 9, "sizes": []}')])
    assert (settled.void, settled.accelerated) == (False, False)
    figure = make_figure(ours, 1000, 0.5, [counted(stats)])
    assert figure.void_reason == "the MPI library itself carried 4 calls, with trials off"


def test_blocks_of_many_sizes_are_counted_for_the_run() -> None:
    record = counted('{"exchanges": 8, "packets": 90, "retransmitted": 1, "sizes": []}')
    ours = parse_candidates(["allemande+mpich"])[0]
    figure = make_figure(ours, 1000, 0.5, [record], labels={"collective": "alltoallv"})
    assert figure.accelerated and not figure.void
    assert (figure.packets, figure.retransmitted, figure.collective) == (90, 1, "alltoallv")


def test_loads_of_paths_are_added_up_where_one_size_ran() -> None:
    run = RunRecord(ranks=2)
    run.size(1000).seconds = [1.0]
    texts = ['{"sizes": [], "path_loads": [3, 4]}', '{"sizes": [], "path_loads": [1, 0, 5]}']
    add_own_counters(run, texts)
    ours, stock = parse_candidates(["allemande+mpich", "mpich"])
    assert make_figure(ours, 1000, 0.5, [run.size(1000)]).path_loads == [4, 4, 5]
    assert make_figure(ours, 1000, 0.5, [run.size(1000)] * 2).path_loads == [8, 8, 10]
    assert make_figure(stock, 1000, 0.5, [run.size(1000)]).path_loads is None
    run.size(2000).seconds = [1.0]
    add_own_counters(run, texts)
    assert run.size(2000).path_loads == []


def test_ranks_are_no_more_than_hosts_can_start() -> None:
    assert number_of_ranks(None, 8) == 8
    assert number_of_ranks(8192, 8) == 8192
    for asked in (0, -1, 8193, 1_000_000):
        with pytest.raises(BadInput, match=f"-n {asked}: expected .* from 1 to 8192"):
            number_of_ranks(asked, 8)
