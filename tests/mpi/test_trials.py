"""Never slower: the first calls try both ways, and the faster is kept."""

from __future__ import annotations

from tests.mpi.mpi_job import Bench

TRYING = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_LOG": "info"}
PAIRS = 3


def test_both_ways_are_tried_and_the_bytes_are_right(bench: Bench) -> None:
    calls = 20
    ranks = len(bench.lab.hosts)
    done = bench.run("repeat", str(calls), "2000", env=TRYING)
    done.check()
    ours, native = done.stats["exchanges"], done.stats["native"]
    assert ours + native == calls * ranks
    assert ours >= PAIRS * ranks or native >= PAIRS * ranks
    assert native >= ranks
    told = [line for line in done.warnings if "from here on" in line]
    assert len(told) == 1
    assert "1024 to 2047 bytes per pair" in told[0] and "by the MPI library" in told[0]


def test_every_size_and_type_under_trial(bench: Bench) -> None:
    for what in ("sizes", "types"):
        done = bench.run("correct", what, env={"ALLEMANDE_TRIALS": "on"})
        done.check()
        assert done.stats["native"] > 0


def test_who_names_an_algorithm_gets_it(bench: Bench) -> None:
    env = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_ALGORITHM": "sync-shuffle"}
    done = bench.run("repeat", "8", "2000", env=env)
    done.check()
    assert done.stats["native"] == 0
