"""Links that are faster than hosts, which no cluster file describes, or a wrong one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mpi.conftest import SLOW_CLUSTER
from tests.mpi.mpi_job import Bench

from allemande.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # hosts, not links, are the limit


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    with Lab.boot(SLOW_CLUSTER, shape=False, offloads=True, force=True) as lab:
        yield lab


SIZE, CALLS = 1_000_000, 150


@pytest.mark.parametrize("told", ["nothing", "40 Mbit/s"])
def test_windows_and_trains_grow_as_long_as_exchanges_become_faster(
    bench: Bench, told: str
) -> None:
    """With four packets under way a rank sends some three at a time, and is woken for each four.
    Such a window the file of the lab has, too, because it is made for slow links."""
    unset = "env -u ALLEMANDE_CLUSTER" if told == "nothing" else ""
    repeat = f"{bench.program('repeat')} {CALLS} {SIZE}"
    done = bench.run(bench.script("unknown", f"exec {unset} {repeat}"), ranks=2)
    done.check()
    assert (done.stats["files_distrusted"] > 0) == (told != "nothing")
    assert done.stats["packets"] > CALLS * SIZE / 1500
    assert done.stats["packets"] > 8 * done.stats["send_calls"]
