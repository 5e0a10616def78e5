"""Several threads exchange at once, each on a communicator of its own, while ways are tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

from allemande.lab import Lab

CLUSTER = Path(__file__).parent / "clusters" / "unequal-16.toml"


@pytest.fixture
def bench(programs: Path, tmp_path: Path) -> Iterator[Bench]:
    with Lab.boot(CLUSTER, force=True) as lab:
        yield Bench(lab, programs / "openmpi", "openmpi", tmp_path)


# Some threads are in the MPI library, which spins, and others in exchanges over UDP: these must go
# on, and peers must not take each other for silent.
def test_threads_on_trial_do_not_hold_each_other_up(bench: Bench) -> None:
    seconds = {"on": 0.0, "off": 0.0}
    for _ in range(3):
        for trials in seconds:
            done = bench.run("threads", "4", "20", "4000", env={"ALLEMANDE_TRIALS": trials})
            done.check()
            assert "silent" not in done.err
            took = re.search(r"SECONDS ([\d.]+)", done.out)
            assert took is not None
            seconds[trials] += float(took[1])
    # Two or three times as long, and sometimes ten times, where the threads wait for each other.
    assert seconds["on"] < 2 * seconds["off"], seconds
