"""The wheel in an environment of its own: the command, the simulator, a library to preload."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest
from tests.packaging.wheel_build import MPI, WheelBuild, environment

from allemande.lab.mpi_launch import prefix

TIMEOUT_S = 900
pytestmark = pytest.mark.slow


def run(command: object, *arguments: object, home: Path, code: int = 0) -> tuple[str, str]:
    done = subprocess.run(
        [str(command), *(str(word) for word in arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=home,
        env=environment(home),
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_the_wheel_holds_clusters_sources_and_one_module(wheel_build: WheelBuild) -> None:
    names = zipfile.ZipFile(wheel_build.wheel.result(TIMEOUT_S)).namelist()
    source = "allemande/data/source"
    for expected in (
        "allemande/data/clusters/tam-8x4.toml",
        f"{source}/CMakeLists.txt",
        f"{source}/src/mpi/abi/exports.cc",
        f"{source}/third_party/fmt/core.h",
        f"{source}/third_party/toml++/toml.h",
        f"{source}/third_party/xxhash.h",
        f"{source}/third_party/licences/libfmt-dev",
    ):
        assert expected in names
    assert sum("_core." in name and name.endswith(".so") for name in names) == 1
    assert not [name for name in names if name.endswith("_test.cc") or "/bindings/" in name]
    assert "allemande/bench/comparison.py" in names
    assert not [name for name in names if name.startswith("allemande/study/")]


def test_the_installed_command_simulates_and_says_how_to_build_the_library(
    wheel_build: WheelBuild, tmp_path: Path
) -> None:
    command = wheel_build.command.result(TIMEOUT_S)
    assert run(command, "--version", home=tmp_path)[0].startswith("allemande ")
    text, _ = run(command, "simulate", "tam-6x4", "--size", "1KB", home=tmp_path)
    assert "tam-6x4" in text
    run(command, "config", home=tmp_path)
    _, lost = run(command, "preload", "--mpi", MPI, home=tmp_path, code=1)
    assert "allemande build-preload --mpicc" in lost


def test_the_installed_command_builds_a_library_that_works(wheel_build: WheelBuild) -> None:
    library = wheel_build.library.result(TIMEOUT_S)
    command = wheel_build.command.result()
    assert library.is_relative_to(wheel_build.folder)
    found, _ = run(command, "preload", "--mpi", MPI, home=wheel_build.folder)
    assert found.strip() == str(library)
    mpirun = prefix(MPI) / "bin" / "mpirun"
    report, _ = run(command, "doctor", "--json", "--mpirun", mpirun, home=wheel_build.folder)
    (finding,) = [line for line in json.loads(report) if line["check"] == "preload"]
    assert finding["status"] == "ok" and str(library) in finding["says"]
