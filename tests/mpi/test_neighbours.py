"""MPI_Neighbor_alltoall, its v and w forms and their nonblocking forms: every byte where the
library alone puts it, and no packet to a rank that is no neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench, Done
from tests.mpi.several_ranks import EQUAL, UNEQUAL

from allemande.lab import Lab

TOPOLOGIES = ["grid", "torus", "two", "one", "graph", "random", "directed"]
SIXTEEN_HOSTS = Path(__file__).parents[2] / "clusters" / "tam-16x1.toml"
FORMS = ["MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw"]
LATER = [form.replace("Neighbor", "Ineighbor") for form in FORMS]


def digest(done: Done) -> str:
    done.check()
    return next(line for line in done.out.splitlines() if line.startswith("DIGEST"))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_byte_is_where_the_library_puts_it(bench: Bench, topology: str) -> None:
    for seed, size in ((1, 1), (2, 3000), (3, 40000)):
        argv = ("neighbours", topology, str(seed), "3", str(size))
        done = bench.run(*argv)
        assert digest(done) == digest(bench.run(*argv, preload=False))
        assert done.stats["exchanges"] == 3 * len(FORMS) * len(bench.lab.hosts)
        assert not done.warnings


@pytest.mark.parametrize("slots", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("topology", ["torus", "two", "directed"])
def test_several_ranks_per_host(node: Bench, topology: str, slots: tuple[int, ...]) -> None:
    argv = ("neighbours", topology, "4", "3", "5000")
    done = node.run(*argv, slots=slots)
    assert digest(done) == digest(node.run(*argv, slots=slots, preload=False))
    assert done.stats["exchanges"] == 3 * len(FORMS) * sum(slots)


# Topology, seed, bytes of a block, how.
NONBLOCKING = [
    ("grid", 1, 1, "nonblocking"),
    ("torus", 2, 3000, "wide"),
    ("two", 3, 40000, "nonblocking"),
    ("one", 4, 3000, "nonblocking"),
    ("graph", 5, 3000, "wide"),
    ("random", 6, 40000, "wide"),
    ("directed", 7, 3000, "nonblocking"),
]


@pytest.mark.parametrize(("topology", "seed", "size", "how"), NONBLOCKING)
def test_nonblocking_forms(bench: Bench, topology: str, seed: int, size: int, how: str) -> None:
    argv = ("neighbours", topology, str(seed), "9", str(size))
    done = bench.run(*argv, how)
    assert digest(done) == digest(bench.run(*argv, preload=False))
    ranks = len(bench.lab.hosts)
    assert done.stats["nonblocking"] == 6 * len(FORMS) * ranks
    assert done.stats["exchanges"] == 9 * len(FORMS) * ranks
    assert done.stats["passed_through"] == 0
    assert not done.warnings


@pytest.mark.parametrize("slots", [EQUAL, UNEQUAL])
def test_nonblocking_forms_with_several_ranks_per_host(node: Bench, slots: tuple[int, ...]) -> None:
    argv = ("neighbours", "torus", "8", "9", "5000")
    done = node.run(*argv, "nonblocking", slots=slots)
    assert digest(done) == digest(node.run(*argv, slots=slots, preload=False))
    assert done.stats["nonblocking"] == 6 * len(FORMS) * sum(slots)


@pytest.mark.parametrize("env", [{"ALLEMANDE_PROGRESS": "off"}, {"ALLEMANDE_TRANSPORT": "mpi"}])
def test_nonblocking_forms_that_pass_through(bench: Bench, env: dict[str, str]) -> None:
    argv = ("neighbours", "grid", "1", "9", "3000")
    done = bench.run(*argv, "nonblocking", env=env)
    assert digest(done) == digest(bench.run(*argv, preload=False))
    assert done.stats["nonblocking"] == 0


def test_a_side_without_neighbours_is_not_looked_at(bench: Bench) -> None:
    done = bench.run("idle_side", "5", "5000")
    done.check()
    assert done.stats["exchanges"] == 5 * len(bench.lab.hosts)
    assert not done.warnings


def test_on_trial_with_the_librarys_own(bench: Bench) -> None:
    # So few bytes that nobody expects a call of the library to stall.
    argv = ("neighbours", "random", "5", "1200", "100")
    done = bench.run(*argv, env={"ALLEMANDE_TRIALS": "on", "ALLEMANDE_LOG": "info"})
    assert digest(done) == digest(bench.run(*argv, preload=False))
    assert done.stats["exchanges"] > 0
    assert done.stats["native"] > 0


def packets(bench: Bench, calls: int, size: int, how: str) -> int:
    done = bench.run("neighbours", "torus", "1", str(calls), str(size), how)
    done.check()
    return int(done.stats["packets"])


def test_no_packet_to_others(bench: Bench) -> None:
    """A torus of 3 x 2: three ranks to send to, one along two edges, which share packets."""
    ranks = len(bench.lab.hosts)
    assert ranks == 6
    along_two_edges = -(-2000 // 1448)
    for how in ("blocking", "nonblocking"):
        ten_calls = packets(bench, 12, 1000, how) - packets(bench, 2, 1000, how)
        assert ten_calls == 10 * len(FORMS) * ranks * (2 + along_two_edges), how


def test_sparse_counts_are_told_to_partners_alone(programs: Path, mpi: str, tmp_path: Path) -> None:
    """Counts are compared in the first call with all, in the third, seventh and fifteenth along a
    tree of partners."""
    ranks, size, more = 16, 1000, 14
    with Lab.boot(SIXTEEN_HOSTS, force=True) as lab:
        bench = Bench(lab, programs / mpi, mpi, tmp_path)
        runs = [bench.run("sparse", str(calls), str(size)) for calls in (1, 1 + more)]
    for done in runs:
        done.check()
    packets = runs[1].stats["packets"] - runs[0].stats["packets"]
    assert packets == more * 2 * ranks + 3 * 2 * (ranks - 1)


def test_every_form_is_in_the_summary(bench: Bench) -> None:
    argv = ("neighbours", "grid", "1", "3", "100", "nonblocking")
    done = bench.run(*argv, env={"ALLEMANDE_SUMMARY": "1"})
    done.check()
    ranks = len(bench.lab.hosts)
    for form, calls in [*((form, 1) for form in FORMS), *((form, 2) for form in LATER)]:
        assert f"{form} " in done.err
        of_form = [line["calls"] for line in done.stats["calls"] if line["function"] == form]
        assert sum(of_form) == calls * ranks, form


def test_by_messages_the_library_carries_them(bench: Bench) -> None:
    argv = ("neighbours", "random", "6", "3", "1000")
    done = bench.run(*argv, env={"ALLEMANDE_TRANSPORT": "mpi"})
    assert digest(done) == digest(bench.run(*argv, preload=False))
    assert done.stats["exchanges"] == 0
    assert done.stats["native"] > 0
