"""The wheel in an environment of its own: the command, the simulator, a library to preload."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from allemande.lab.mpi import prefix

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 900
pytestmark = pytest.mark.slow


# What is tested is that it builds, not how fast it is then: that takes half the time.
QUICK = """#!/bin/sh
exec g++ "$@" -O0 -g0
"""


def run(
    *command: object, folder: Path, code: int = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ALLEMANDE_")}
    clean["XDG_DATA_HOME"] = str(folder)
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=folder,
        env=clean | env,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    script = tmp_path_factory.mktemp("compiler") / "g++-quick"
    script.write_text(QUICK)
    script.chmod(0o755)
    return str(script)


@pytest.fixture(scope="module")
def wheel(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel")
    # The usual build folder would remember the compiler of this test.
    how = ("--no-build-isolation", "--no-deps", f"--config-settings=build-dir={folder}/build")
    run(*pip, ROOT, *how, "-w", folder, folder=folder, CXX=compiler)
    return next(folder.glob("allemande-*.whl"))


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, from a fresh environment that borrows the dependencies of this one."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    # A folder named in a .pth file is not searched for .pth files: this one's editable allemande
    # stays out.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-deps", wheel, folder=folder)
    where = "import allemande; print(allemande.__file__)"
    assert str(folder) in run(python, "-c", where, folder=folder).stdout
    return folder / "bin" / "allemande"


def test_what_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
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


def test_the_command(command: Path, tmp_path: Path) -> None:
    assert run(command, "--version", folder=tmp_path).stdout.startswith("allemande ")
    text = run(command, "simulate", "tam-6x4", "--size", "1KB", folder=tmp_path).stdout
    assert "tam-6x4" in text
    run(command, "config", folder=tmp_path)
    lost = run(command, "preload", "--mpi", "openmpi", folder=tmp_path, code=1)
    assert "allemande build-preload --mpicc" in lost.stderr


def test_a_library_for_the_mpi_that_is_here(command: Path, compiler: str, tmp_path: Path) -> None:
    binaries = prefix("openmpi") / "bin"
    mpicc = ("--mpicc", binaries / "mpicc")
    told = run(command, "build-preload", *mpicc, folder=tmp_path, CXX=compiler)
    (library,) = told.stdout.split()
    assert Path(library).is_relative_to(tmp_path)
    assert run(command, "preload", "--mpi", "openmpi", folder=tmp_path).stdout.strip() == library
    report = run(
        command, "doctor", "--json", "--mpirun", binaries / "mpirun", folder=tmp_path
    ).stdout
    (finding,) = [line for line in json.loads(report) if line["check"] == "preload"]
    assert finding["status"] == "ok" and library in finding["says"]
