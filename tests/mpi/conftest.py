"""The lab, the test programs and one way to run them, for every test of the preloaded libraries."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi.mpi_job import MPIS, PLATFORMS, Bench, build_programs
from tests.mpi.several_ranks import NODE_CLUSTER

from allemande.lab import Lab

CLUSTER = Path(__file__).parent / "clusters" / "two-leaves.toml"
# At full speed, where the lab leaves the library's timers as they are.
SLOW_CLUSTER = CLUSTER.with_name("two-slow-leaves.toml")


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs, built for each MPI as MPI/NAME, once for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    common = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (common / "programs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for mpi in MPIS:
            folder = common / "programs" / mpi
            if not folder.exists():
                building = tmp_path_factory.mktemp("building") / mpi
                build_programs(PLATFORMS[mpi], building)
                folder.parent.mkdir(exist_ok=True)
                building.rename(folder)
    return common / "programs"


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    with Lab.boot(CLUSTER, force=True) as lab:
        yield lab


@pytest.fixture(scope="module")
def node_lab() -> Iterator[Lab]:
    """Of few hosts, each with several ranks."""
    with Lab.boot(NODE_CLUSTER, force=True) as lab:
        yield lab


@pytest.fixture
def own_lab() -> Iterator[Lab]:
    """For tests that break it."""
    with Lab.boot(SLOW_CLUSTER, scale=1, force=True) as lab:
        yield lab


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def bench(shared_lab: Lab, programs: Path, mpi: str, tmp_path: Path) -> Bench:
    return Bench(shared_lab, programs / mpi, mpi, tmp_path)


@pytest.fixture
def own_bench(own_lab: Lab, programs: Path, mpi: str, tmp_path: Path) -> Bench:
    return Bench(own_lab, programs / mpi, mpi, tmp_path)


@pytest.fixture
def node(node_lab: Lab, programs: Path, mpi: str, tmp_path: Path) -> Bench:
    return Bench(node_lab, programs / mpi, mpi, tmp_path)
