"""Life after a death, where the MPI library has ULFM: survivors go on, and are accelerated."""

from __future__ import annotations

import re
import subprocess

import pytest
from tests.mpi.fault_job import KEEP_GOING
from tests.mpi.mpi_job import JOB_TIMEOUT_S, Bench

# Open MPI alone: MPICH has the functions, and never tells that a rank has died (5.0.2).
pytestmark = pytest.mark.parametrize("mpi", ["openmpi"])


def run(bench: Bench, what: str) -> str:
    command = bench.command(
        [bench.program("survive"), what],
        env={"ALLEMANDE_SUMMARY": "1", "ALLEMANDE_HELLO_TIMEOUT_MS": "20000"},
        arguments=KEEP_GOING["openmpi"],
    )
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, check=False
    )
    assert "CORRECT" in done.stdout, done.stderr
    return done.stdout + done.stderr


def seconds(text: str, what: str) -> float:
    found = re.search(what + r" ([0-9.]+) s", text)
    assert found is not None, text
    return float(found[1])


def test_survivors_shrink_and_are_accelerated(own_bench: Bench) -> None:
    text = run(own_bench, "death")
    assert seconds(text, "first exchange in") < 2
    over_udp = [line for line in text.splitlines() if "MPI_Alltoall" in line and "over UDP" in line]
    assert sum(int(line.split()[2]) for line in over_udp) >= 5 + 4, text


def test_exchanges_on_a_revoked_communicator_end_at_once(own_bench: Bench) -> None:
    text = run(own_bench, "revoked")
    assert seconds(text, "FAILED after") < 2
    assert seconds(text, "first exchange in") < 2
