"""MPI_Alltoallv and MPI_Alltoallw: every byte right, whatever the sizes, datatypes and places."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

from allemande.lab import Lab

WHAT = ["sizes", "types", "in_place", "sparse", "bottom", "communicators"]


@pytest.mark.parametrize("what", WHAT)
def test_every_byte_is_right(bench: Bench, what: str) -> None:
    done = bench.run("blocks", what)
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["passed_through"] <= 4 * len(bench.lab.hosts)  # of MPI_COMM_SELF
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


@pytest.mark.parametrize("what", WHAT)
def test_every_byte_is_right_by_messages(bench: Bench, what: str) -> None:
    done = bench.run("blocks", what, env={"ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_udp"] == 0


def test_the_programs_agree_with_the_library_alone(bench: Bench) -> None:
    for what in WHAT:
        bench.run("blocks", what, preload=False).check()


@pytest.mark.parametrize("algorithm", ["group-shuffle", "pairwise", "shift-exchange", "direct"])
def test_every_algorithm_exchanges_sparse_blocks(bench: Bench, algorithm: str) -> None:
    done = bench.run("blocks", "sparse", env={"ALLEMANDE_ALGORITHM": algorithm})
    done.check()
    assert done.stats["exchanges"] == 60 * len(bench.lab.hosts)


def test_intercommunicators_pass_through(bench: Bench) -> None:
    done = bench.run("blocks", "intercommunicator", env={"ALLEMANDE_LOG": "info"})
    done.check()
    assert done.stats["exchanges"] == 0
    assert done.stats["passed_through"] == 3 * len(bench.lab.hosts)  # one call of each form
    told = [line for line in done.warnings if "intercommunicator; its MPI_Alltoall passes" in line]
    assert len(told) == 2, done.err  # one of each group


def test_threads_on_communicators_of_their_own_exchange(bench: Bench) -> None:
    done = bench.run("blocks", "threads")
    done.check()
    assert done.stats["exchanges"] == 3 * 40 * len(bench.lab.hosts)


def test_the_decision_is_told_once(bench: Bench) -> None:
    done = bench.run("blocks", "sparse", env={"ALLEMANDE_LOG": "info"})
    done.check()
    told = [line for line in done.warnings if "MPI_Alltoallv on 6 ranks" in line]
    assert len(told) == 1
    assert "sync-shuffle (balanced) over UDP, window" in told[0]


# Long frames, so that so many bytes are few packets.
LARGE_CLUSTER = """format = 1
name = "two-fast-hosts"
[framing]
mtu_bytes = 9000
[[switch]]
name = "s"
[[host]]
name = "h[0-1]"
[[link]]
from = "h[0-1]"
to = "s"
rate_mbit_s = 2000
"""


@pytest.mark.slow
def test_blocks_of_more_than_2_31_bytes_are_right(programs: Path, mpi: str, tmp_path: Path) -> None:
    cluster = tmp_path / "two-fast-hosts.toml"
    cluster.write_text(LARGE_CLUSTER)
    with Lab.boot(cluster, scale=1, force=True) as lab:
        done = Bench(lab, programs / mpi, mpi, tmp_path).run("blocks", "large")
        done.check()
        assert done.stats["exchanges"] == {"openmpi": 1, "mpich": 2}[mpi] * 2
