"""Every byte right, whatever the size, the datatype and the communicator."""

from __future__ import annotations

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, Bench


@pytest.mark.parametrize("what", ["sizes", "types", "communicators", "children"])
def test_every_byte_is_right(bench: Bench, what: str) -> None:
    done = bench.run("correct", what)
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


def test_types_with_large_counts_are_as_any_other(bench: Bench) -> None:
    if bench.platform.interface == "openmpi":
        pytest.skip("it has no constructors of MPI 4")
    done = bench.run("large_types", env=ALWAYS_OURS)
    done.check()
    assert done.stats["exchanges"] == 20 * len(bench.lab.hosts)
    assert not done.warnings


def test_bytes_that_change_places_are_packed(bench: Bench) -> None:
    done = bench.run("places", env=ALWAYS_OURS)
    done.check()
    assert done.stats["exchanges"] == 36 * len(bench.lab.hosts)


def test_threads_on_communicators_of_their_own_exchange(bench: Bench) -> None:
    done = bench.run("correct", "threads")
    done.check()
    assert done.stats["exchanges"] == 120 * len(bench.lab.hosts)


def test_a_late_rank_is_waited_for_and_named(bench: Bench) -> None:
    env = {"ALLEMANDE_PEER_TIMEOUT_S": "2", "ALLEMANDE_PEER_WARNING_S": "1", **ALWAYS_OURS}
    done = bench.run("correct", "late", env=env)
    done.check()
    assert done.stats["exchanges"] == 2 * len(bench.lab.hosts)
    # On a busy machine others may be late as well.
    told = [line for line in done.warnings if "rank 1 on h1 has not entered MPI_Alltoall" in line]
    assert len(told) == 1, done.warnings


def test_every_byte_is_right_over_several_paths(bench: Bench) -> None:
    env = {"ALLEMANDE_PATHS": "4", "ALLEMANDE_PATH_POLICY": "rotate"}
    done = bench.run("repeat", "5", "100000", env=env)
    done.check()
    loads = done.stats["path_loads"]
    assert len(loads) == 4
    assert min(loads) > 0.5 * sum(loads) / 4
    assert sum(loads) == done.stats["packets"] + done.stats["retransmitted"]


def test_unaccelerated_runs_agree(bench: Bench) -> None:
    done = bench.run("correct", "types", preload=False)
    done.check()
    assert not done.stats


def test_intercommunicators_pass_through(bench: Bench) -> None:
    done = bench.run("correct", "intercommunicator")
    done.check()
    assert done.stats["exchanges"] == 0


def test_without_a_cluster_file_every_byte_is_right(bench: Bench) -> None:
    done = bench.run("correct", "sizes", env={"ALLEMANDE_CLUSTER": ""})
    done.check()
    assert done.stats["communicators_udp"] == len(bench.lab.hosts)


@pytest.mark.parametrize("algorithm", ["group-shuffle", "pairwise", "shift-exchange", "direct"])
def test_every_byte_is_right_by_every_algorithm(bench: Bench, algorithm: str) -> None:
    done = bench.run("repeat", "5", "30000", env={"ALLEMANDE_ALGORITHM": algorithm})
    done.check()
    assert done.stats["exchanges"] == 5 * len(bench.lab.hosts)


@pytest.mark.parametrize("what", ["sizes", "types", "communicators"])
def test_every_byte_by_the_grid(bench: Bench, what: str) -> None:
    done = bench.run("correct", what, env={"ALLEMANDE_ALGORITHM": "combine"})
    done.check()
    assert done.stats["exchanges"] > 0


def test_every_byte_is_right_with_a_checksum_over_headers_alone(bench: Bench) -> None:
    done = bench.run("correct", "sizes", env={"ALLEMANDE_INTEGRITY": "header"})
    done.check()
    assert done.stats["exchanges"] > 0


def test_small_blocks_are_combined(bench: Bench) -> None:
    calls = 5
    settings = {"ALLEMANDE_LOG": "info", "ALLEMANDE_ALGORITHM": "combine"}
    done = bench.run("repeat", str(calls), "100", env=settings)
    done.check()
    told = [line for line in done.warnings if "64 to 127 bytes per pair" in line]
    assert len(told) == 1
    assert "grid 3 x 2 over UDP" in told[0]
    assert done.stats["sizes"][0]["packets"] == calls * len(bench.lab.hosts) * (1 + 2)


@pytest.mark.parametrize("setting", ["DISABLE=on", "ALGORITHM=native"])
def test_switched_off_calls_pass_through(bench: Bench, setting: str) -> None:
    key, value = setting.split("=")
    done = bench.run("repeat", "3", "1000", env={f"ALLEMANDE_{key}": value})
    done.check()
    assert done.stats["exchanges"] == 0
    assert done.stats["passed_through"] == 3 * len(bench.lab.hosts)
    assert not done.warnings


def test_the_decision_is_told_once_per_size_class(bench: Bench) -> None:
    done = bench.run("repeat", "4", "1000", env={"ALLEMANDE_LOG": "info"})
    done.check()
    told = [line for line in done.warnings if "512 to 1023 bytes per pair" in line]
    assert len(told) == 1
    assert "sync-shuffle (balanced) over UDP, window" in told[0]


def test_stats_per_rank(bench: Bench) -> None:
    path = bench.folder / "rank-%r.json"
    bench.run("repeat", "2", "1000", env={"ALLEMANDE_STATS": str(path)}).check()
    names = sorted(file.name for file in bench.folder.glob("rank-*.json"))
    assert names == [f"rank-{rank}.json" for rank in range(len(bench.lab.hosts))]


@pytest.mark.parametrize("direction", ["send", "receive"])
@pytest.mark.parametrize("transport", ["udp", "mpi"])
def test_other_traffic_proceeds(bench: Bench, direction: str, transport: str) -> None:
    done = bench.run("progress", direction, env={"ALLEMANDE_TRANSPORT": transport})
    done.check()
    assert done.stats["exchanges"] == 2 * len(bench.lab.hosts)
