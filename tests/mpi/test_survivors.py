"""Life after a death, where the MPI library has ULFM: survivors go on, and are accelerated."""

from __future__ import annotations

import re
import subprocess
import time

import pytest
from tests.mpi.fault_job import KEEP_GOING
from tests.mpi.mpi_job import Bench, wait_for

# Open MPI alone: MPICH has the functions, and never tells that a rank has died (5.0.2).
pytestmark = pytest.mark.parametrize("mpi", ["openmpi"])


def run(bench: Bench, what: str) -> str:
    """What the job has said. Open MPI 5.0.8 itself does not come back from MPI_Finalize after a
    death: the job is ended when it has had the time that the rest takes."""
    command = bench.command(
        [bench.program("survive"), what],
        env={"ALLEMANDE_SUMMARY": "1", "ALLEMANDE_HELLO_TIMEOUT_MS": "20000"},
        arguments=KEEP_GOING["openmpi"],
    )
    folder = bench.folder
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        try:
            wait_for("the summary", lambda: "summary of" in (folder / "err").read_text(), 120)
            time.sleep(1)
        finally:
            bench.lab.close()  # ends whatever is left of the job
            process.communicate()
    text = (folder / "out").read_text() + (folder / "err").read_text()
    assert "CORRECT" in text, text
    return text


# Silence alone would tell after 20 s.
AT_ONCE_S = 10


def seconds(text: str, what: str) -> float:
    found = re.search(what + r" ([0-9.]+) s", text)
    assert found is not None, text
    return float(found[1])


def test_survivors_shrink_and_are_accelerated(own_bench: Bench) -> None:
    text = run(own_bench, "death")
    assert seconds(text, "first exchange in") < AT_ONCE_S
    over_udp = [line for line in text.splitlines() if "MPI_Alltoall" in line and "over UDP" in line]
    assert sum(int(line.split()[2]) for line in over_udp) >= 5 + 4, text


@pytest.mark.parametrize("what", ["revoked", "started"])
def test_exchanges_on_a_revoked_communicator_end_at_once(own_bench: Bench, what: str) -> None:
    text = run(own_bench, what)
    assert seconds(text, "FAILED after") < AT_ONCE_S
    assert seconds(text, "first exchange in") < AT_ONCE_S
