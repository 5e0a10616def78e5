"""Older releases of the same interfaces, as Debian has them, and the MPI standard's interface."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.mpi.mpi_job import MPIS, PLATFORMS, Bench, build_programs
from tests.mpi.test_blocks import WHAT
from tests.mpi.test_correct import test_types_with_large_counts_are_as_any_other
from tests.mpi.test_errors import classes
from tests.mpi.test_finalize import test_who_comes_late_to_the_end_costs_its_lateness
from tests.mpi.test_linking import (  # the same questions, asked of more platforms
    test_a_tool_that_goes_on_to_the_next_library,
    test_another_tool_sees_every_call,
    test_libmpi_out_of_the_global_scope,
    test_the_library_of_another_mpi_passes_through_with_a_hint,
)
from tests.mpi.test_run import test_a_job_in_the_lab

from allemande.lab import Lab
from allemande.lab.mpi_launch import installation
from allemande.preload import launch, linked_interface

__all__ = [
    "test_a_job_in_the_lab",
    "test_a_tool_that_goes_on_to_the_next_library",
    "test_another_tool_sees_every_call",
    "test_libmpi_out_of_the_global_scope",
    "test_the_library_of_another_mpi_passes_through_with_a_hint",
    "test_types_with_large_counts_are_as_any_other",
    "test_who_comes_late_to_the_end_costs_its_lateness",
]

MORE = tuple(name for name in PLATFORMS if name not in MPIS)


@pytest.fixture(params=MORE, scope="module")
def mpi(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def built(mpi: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("platform") / mpi
    build_programs(PLATFORMS[mpi], folder)
    return folder


@pytest.fixture
def bench(shared_lab: Lab, built: Path, mpi: str, tmp_path: Path) -> Bench:
    return Bench(shared_lab, built, mpi, tmp_path)


@pytest.mark.parametrize("what", ["sizes", "types", "communicators", "children"])
def test_correct(bench: Bench, what: str) -> None:
    done = bench.run("correct", what)
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


@pytest.mark.parametrize("what", WHAT)
def test_blocks(bench: Bench, what: str) -> None:
    done = bench.run("blocks", what)
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


def test_by_messages(bench: Bench) -> None:
    for program in ("correct", "blocks"):
        done = bench.run(program, "types", env={"ALLEMANDE_TRANSPORT": "mpi"})
        done.check()
        assert done.stats["exchanges"] > 0
        assert done.stats["communicators_udp"] == 0


def test_invalid_arguments_are_left_to_the_library(bench: Bench) -> None:
    assert classes(bench, preload=True) == classes(bench, preload=False)


def test_unequal_counts_end_in_an_error_that_names_both_ranks(bench: Bench) -> None:
    done = bench.run("errors", "mismatch", "1", "4", "500", "20000")
    text = "rank 1 on h1 sends 500 bytes to rank 4 on h4, which expects 20000 bytes"
    # MPICH 4.0 keeps no texts in the standard's classes.
    error_class = "own" if bench.mpi == "mpich-debian" else "truncate"
    assert re.search(rf"CALL 0 RANK 4 CLASS {error_class}: .*{text}", done.out), done.out


def test_intercommunicators_pass_through(bench: Bench) -> None:
    for program in ("correct", "blocks"):
        done = bench.run(program, "intercommunicator")
        done.check()
        assert done.stats["exchanges"] == 0


def test_trials_call_the_library(bench: Bench) -> None:
    # So few bytes that no call is expected to stall, so many calls that the world is brought up.
    done = bench.run("repeat", "1500", "200", env={"ALLEMANDE_TRIALS": "on"})
    done.check()
    assert done.stats["native"] > 0


def test_the_launcher_and_the_program_are_known(bench: Bench) -> None:
    mpirun = str(installation(bench.platform.launcher).mpirun)
    program = bench.program("repeat")
    assert linked_interface(["-n", "2", program], os.environ) == bench.platform.interface
    line, _ = launch([mpirun, "-n", "2", program], {})
    assert any(str(bench.library) in word for word in line)
