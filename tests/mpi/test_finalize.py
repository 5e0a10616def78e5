"""MPI_Finalize waits for whoever is late, and leaves nothing pending in the library."""

from __future__ import annotations

import time

import pytest
from tests.mpi.mpi_job import Bench

LATE_S = 3
MUCH_MORE_S = 40  # what hangs is ended much later


def test_a_communicator_of_a_session_is_freed_after_it(bench: Bench) -> None:
    done = bench.run("sessions")
    done.check()
    assert not done.warnings


# The MPI library would wait for ever.
@pytest.mark.parametrize("ranks", [4, 16])
def test_a_rank_that_leaves_out_its_last_call_is_named(bench: Bench, ranks: int) -> None:
    done = bench.run("ends", "leave-out", ranks=ranks)
    assert done.code != 0
    assert "is in MPI_Finalize and does not enter this exchange" in done.err, done.err


# The library ends such a program, too.
def test_a_request_that_one_rank_never_made_is_given_up(bench: Bench) -> None:
    done = bench.run("ends", "request", env={"ALLEMANDE_PROGRESS": "thread"})
    done.check()


# The others believe it lost after a second; with something pending MPICH hangs in MPI_Finalize.
@pytest.mark.parametrize("who", [-1, 3])
def test_who_comes_late_to_the_end_costs_its_lateness(bench: Bench, who: int) -> None:
    begin = time.monotonic()
    env = {"ALLEMANDE_PEER_TIMEOUT_S": "1"}
    done = bench.run("late", str(who), str(LATE_S), env=env)
    assert time.monotonic() - begin < LATE_S + MUCH_MORE_S
    done.check()
    assert "MPI_Finalize: not every rank has come within " in done.err
