"""Nonblocking exchanges: carried out by a thread of ours where asked for, else not looked at."""

from __future__ import annotations

import pytest
from tests.mpi.mpi_job import Bench

THREAD = {"ALLEMANDE_PROGRESS": "thread"}


EVERYTHING = ["calls", "types", "blocks", "in_place", "wide", "orders", "freed", "unfinished"]


@pytest.mark.parametrize("what", EVERYTHING)
def test_every_byte(bench: Bench, what: str) -> None:
    done = bench.run("nonblocking", what, env=THREAD)
    done.check()
    assert done.stats["nonblocking"] > 0
    assert done.stats["passed_through"] == 0
    assert not done.warnings


@pytest.mark.parametrize("what", ["calls", "types", "blocks"])
def test_untouched_unless_asked_for(bench: Bench, what: str) -> None:
    done = bench.run("nonblocking", what)
    done.check()
    assert "LEVEL 0" in done.out or bench.mpi == "openmpi"
    assert done.stats["nonblocking"] == 0
    assert done.stats["passed_through"] == 0


@pytest.mark.parametrize("what", ["calls", "blocks", "freed"])
def test_without_an_option_where_the_program_has_threads(bench: Bench, what: str) -> None:
    done = bench.run("nonblocking", what, "multiple")
    done.check()
    assert done.stats["nonblocking"] > 0
    assert done.stats["passed_through"] == 0


def test_turned_off_where_the_program_has_threads(bench: Bench) -> None:
    done = bench.run("nonblocking", "blocks", "multiple", env={"ALLEMANDE_PROGRESS": "off"})
    done.check()
    assert done.stats["nonblocking"] == 0


def test_combined_blocks(bench: Bench) -> None:
    done = bench.run("nonblocking", "calls", env={**THREAD, "ALLEMANDE_ALGORITHM": "combine"})
    done.check()
    assert done.stats["nonblocking"] > 0


@pytest.mark.parametrize("what", ["calls", "types"])
def test_over_mpi_messages(bench: Bench, what: str) -> None:
    done = bench.run("nonblocking", what, env={**THREAD, "ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["nonblocking"] > 0
    assert done.stats["mpi_messages"] > 0


def test_blocks_over_mpi_messages_pass_through(bench: Bench) -> None:
    done = bench.run("nonblocking", "blocks", env={**THREAD, "ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["nonblocking"] == 0
    assert done.stats["passed_through"] == 10 * len(bench.lab.hosts)


def test_the_program_gets_the_thread_level_it_asks_for(bench: Bench) -> None:
    done = bench.run("nonblocking", "level", env=THREAD)
    done.check()
    assert "LEVEL 1" in done.out


@pytest.mark.parametrize("what", ["error", "handler"])
def test_an_error_reaches_who_waits(bench: Bench, what: str) -> None:
    done = bench.run("nonblocking", what, env=THREAD)
    done.check()
    told = [line for line in done.out.splitlines() if line.startswith("ERROR")]
    assert len(told) == len(bench.lab.hosts)
    assert all("MPI_Ialltoallv failed" in line for line in told), told
    assert any("sends 5000 bytes" in line for line in told)
