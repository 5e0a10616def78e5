"""MPI_Neighbor_alltoall and its v and w forms: every byte where the library alone puts it, and no
packet to a rank that is no neighbour."""

from __future__ import annotations

import pytest
from tests.mpi.mpi_job import Bench, Done
from tests.mpi.several_ranks import EQUAL, UNEQUAL

TOPOLOGIES = ["grid", "torus", "two", "one", "graph", "random", "directed"]
FORMS = ["MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw"]


def digest(done: Done) -> str:
    done.check()
    return next(line for line in done.out.splitlines() if line.startswith("DIGEST"))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_byte_is_where_the_library_puts_it(bench: Bench, topology: str) -> None:
    for seed, size in ((1, 1), (2, 3000), (3, 40000)):
        argv = ("neighbours", topology, str(seed), "3", str(size))
        done = bench.run(*argv)
        assert digest(done) == digest(bench.run(*argv, preload=False))
        assert done.stats["exchanges"] == 3 * len(FORMS) * len(bench.lab.hosts)
        assert not done.warnings


@pytest.mark.parametrize("slots", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("topology", ["torus", "two", "directed"])
def test_several_ranks_per_host(node: Bench, topology: str, slots: tuple[int, ...]) -> None:
    argv = ("neighbours", topology, "4", "3", "5000")
    done = node.run(*argv, slots=slots)
    assert digest(done) == digest(node.run(*argv, slots=slots, preload=False))
    assert done.stats["exchanges"] == 3 * len(FORMS) * sum(slots)


def test_on_trial_with_the_librarys_own(bench: Bench) -> None:
    # So few bytes that nobody expects a call of the library to stall.
    argv = ("neighbours", "random", "5", "20", "100")
    done = bench.run(*argv, env={"ALLEMANDE_TRIALS": "on", "ALLEMANDE_LOG": "info"})
    assert digest(done) == digest(bench.run(*argv, preload=False))
    assert done.stats["exchanges"] > 0
    assert done.stats["native"] > 0


def packets(bench: Bench, calls: int, size: int) -> int:
    done = bench.run("neighbours", "torus", "1", str(calls), str(size))
    done.check()
    return int(done.stats["packets"])


def test_no_packet_to_others(bench: Bench) -> None:
    """A torus of 3 x 2: three ranks to send to, one along two edges, which share packets."""
    ranks = len(bench.lab.hosts)
    assert ranks == 6
    a_call = packets(bench, 12, 1000) - packets(bench, 2, 1000)
    along_two_edges = -(-2000 // 1448)
    assert a_call == 10 * len(FORMS) * ranks * (2 + along_two_edges)


def test_every_form_is_in_the_summary(bench: Bench) -> None:
    done = bench.run("neighbours", "grid", "1", "3", "100", env={"ALLEMANDE_SUMMARY": "1"})
    done.check()
    for form in FORMS:
        assert form in done.err


def test_by_messages_the_library_carries_them(bench: Bench) -> None:
    argv = ("neighbours", "random", "6", "3", "1000")
    done = bench.run(*argv, env={"ALLEMANDE_TRANSPORT": "mpi"})
    assert digest(done) == digest(bench.run(*argv, preload=False))
    assert done.stats["exchanges"] == 0
    assert done.stats["native"] > 0
