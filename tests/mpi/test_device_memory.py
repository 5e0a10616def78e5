"""Buffers in GPU memory: where one rank passes one, the call goes to the MPI library on all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.mpi.mpi_job import SOURCES, Bench

ROUNDS = 12


@pytest.fixture(scope="session")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that is found under the name of CUDA's."""
    path = tmp_path_factory.mktemp("cuda") / "libcuda.so.1"
    subprocess.run(
        [
            "cc",
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcuda.so.1",
            "-o",
            path,
            SOURCES / "modules" / "fake_cuda.c",
        ],
        check=True,
    )
    return path


def test_calls_with_such_buffers_pass_through(bench: Bench, runtime: Path) -> None:
    done = bench.run("device", str(runtime), "1", "4")
    done.check()
    ranks = len(bench.lab.hosts)
    assert done.stats["exchanges"] == done.stats["passed_through"] == ROUNDS // 2 * ranks
    assert not done.warnings


def test_a_runtime_loaded_later(bench: Bench, runtime: Path) -> None:
    env = {"ALLEMANDE_DEVICE_MEMORY": "on"}
    done = bench.run("device", f"late:{runtime}", "2", env=env)
    done.check()
    assert done.stats["passed_through"] == ROUNDS // 2 * len(bench.lab.hosts)


def test_nobody_asks_without_a_runtime(bench: Bench) -> None:
    done = bench.run("device")
    done.check()
    assert done.stats["exchanges"] == ROUNDS * len(bench.lab.hosts)
    assert done.stats["passed_through"] == 0


def test_switched_off(bench: Bench, runtime: Path) -> None:
    done = bench.run("device", str(runtime), "0", env={"ALLEMANDE_DEVICE_MEMORY": "off"})
    done.check()
    assert done.stats["passed_through"] == 0


def test_nonblocking_calls_are_left_to_the_library(bench: Bench, runtime: Path) -> None:
    done = bench.run("device", str(runtime), "3", env={"ALLEMANDE_PROGRESS": "thread"})
    done.check()
    assert len(done.warnings) == 1
    assert "ALLEMANDE_DEVICE_MEMORY=off" in done.warnings[0]
