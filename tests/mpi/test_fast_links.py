"""Links that are faster than hosts, which no cluster file describes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mpi.conftest import SLOW_CLUSTER
from tests.mpi.mpi_job import Bench

from allemande.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    with Lab.boot(SLOW_CLUSTER, shape=False, offloads=True, force=True) as lab:
        yield lab


def test_windows_and_trains_grow_as_long_as_exchanges_become_faster(bench: Bench) -> None:
    """With four packets under way a rank sends some three at a time, and is woken for each four."""
    size, calls = 300_000, 150
    repeat = f"{bench.program('repeat')} {calls} {size}"
    program = bench.script("unknown", f"exec env -u ALLEMANDE_CLUSTER {repeat}")
    done = bench.run(program, ranks=2)
    done.check()
    assert done.stats["packets"] > calls * size / 1500
    assert done.stats["packets"] > 8 * done.stats["send_calls"]
