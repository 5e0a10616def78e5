"""What is left to the MPI library works as without us, beside what is not left to it."""

from __future__ import annotations

import subprocess

import pytest
from tests.mpi.mpi_job import JOB_TIMEOUT_S, Bench


def test_nonblocking_persistent_and_neighbour_forms_pass_through(bench: Bench) -> None:
    done = bench.run("not_accelerated", "nonblocking")
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["passed_through"] == 0  # they are not even looked at
    bench.run("not_accelerated", "nonblocking", preload=False).check()


def test_a_program_of_sessions_alone_passes_through(bench: Bench) -> None:
    done = bench.run("not_accelerated", "sessions")
    done.check()
    assert not done.stats
    assert not done.warnings


def test_sessions_beside_mpi_init(bench: Bench) -> None:
    done = bench.run("not_accelerated", "both")
    done.check()
    assert done.stats["exchanges"] > 0


@pytest.mark.parametrize("preload", [True, False])
def test_communicators_with_spawned_ranks_pass_through(bench: Bench, preload: bool) -> None:
    more_ranks_than_slots = {"openmpi": ["--map-by", "node:OVERSUBSCRIBE"], "mpich": []}
    command = bench.command(
        [bench.program("spawn")], arguments=more_ranks_than_slots[bench.mpi], preload=preload
    )
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, check=False
    )
    assert done.returncode == 0 and "CORRECT" in done.stdout, done.stderr
