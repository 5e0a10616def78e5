"""Persistent exchanges: carried out by a thread of ours where the program has threads."""

from __future__ import annotations

import pytest
from tests.mpi.mpi_job import Bench, Done

FORMS = {"MPI_Alltoall_init", "MPI_Alltoallv_init", "MPI_Alltoallw_init"}


def ways(done: Done, function: str) -> set[str]:
    return {line["way"] for line in done.stats["calls"] if line["function"] == function}


@pytest.mark.parametrize("what", ["calls", "orders", "reused", "unseen", "freed", "cancelled"])
def test_every_byte(bench: Bench, what: str) -> None:
    done = bench.run("persistent", what)
    done.check()
    assert done.stats["nonblocking"] > 0
    assert done.stats["passed_through"] == 0
    assert not done.warnings


def test_starts_are_counted_by_form_and_way(bench: Bench) -> None:
    done = bench.run("persistent", "calls")
    done.check()
    starts = [line for line in done.stats["calls"] if line["function"] in FORMS]
    forms = 6 if bench.mpi == "mpich" else 3
    assert sum(line["calls"] for line in starts) == 8 * forms * len(bench.lab.hosts)
    assert {line["function"] for line in starts} == FORMS
    assert not any(line["way"].startswith("library") for line in starts)


# "freed" ends Open MPI 5.0's own with a segmentation fault.
@pytest.mark.parametrize("what", ["calls", "orders", "reused"])
def test_without_threads_the_library_carries_them(bench: Bench, what: str) -> None:
    done = bench.run("persistent", what, "single")
    done.check()
    assert done.stats["nonblocking"] == 0
    assert ways(done, "MPI_Alltoallv_init") == {"library: persistent, see ALLEMANDE_PROGRESS"}
    assert not done.warnings


def test_of_hosts_with_several_ranks(node: Bench) -> None:
    done = node.run("persistent", "calls", slots=[2] * len(node.lab.hosts))
    done.check()
    assert done.stats["passed_through"] == 0


def test_over_mpi_messages(bench: Bench) -> None:
    done = bench.run("persistent", "orders", env={"ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["mpi_messages"] > 0
    assert all(way.startswith("library") for way in ways(done, "MPI_Alltoallv_init"))
    assert not any(way.startswith("library") for way in ways(done, "MPI_Alltoall_init"))


@pytest.mark.parametrize("what", ["error", "handler"])
def test_an_error_reaches_who_waits(bench: Bench, what: str) -> None:
    done = bench.run("persistent", what)
    done.check()
    told = [line for line in done.out.splitlines() if line.startswith("ERROR")]
    assert len(told) == len(bench.lab.hosts)
    assert all("MPI_Alltoallv_init failed" in line for line in told), told
