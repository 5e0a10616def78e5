"""The doctor's job of two processes: with the right library, a wrong one, and none."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from tests.mpi.mpi_job import wait_for

from allemande.doctor import mpi_check as looking
from allemande.doctor.facts import Mpi
from allemande.lab.mpi_launch import prefix
from allemande.preload import library_path


def command_lines() -> str:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(lines)


def examine(mpi: str) -> Mpi:
    launcher = prefix(mpi) / "bin" / "mpirun"
    (found,) = looking.find([str(launcher)], os.environ, jobs=True)
    return found


def test_a_job_runs(mpi: str) -> None:
    found = examine(mpi)
    assert found.kind == mpi
    assert found.job == "", found
    assert found.preload == str(library_path(mpi))
    assert found.version.startswith({"openmpi": "Open MPI 5", "mpich": "MPICH 5"}[mpi])


def test_a_library_that_is_none(mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / f"liballemande-{mpi}.so"
    broken.write_text("not a library")
    monkeypatch.setattr("allemande.preload.library_path", lambda kind: broken)
    found = examine(mpi)
    assert found.job is not None and found.job != ""


def test_a_job_that_hangs_is_ended(
    tmp_path: Path, mpi: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleeper = tmp_path / "mpi_check_rank.py"
    sleeper.write_text("import time\ntime.sleep(1000)\n")
    monkeypatch.setattr(looking, "JOB_TIMEOUT_S", 4)
    monkeypatch.setattr(looking, "__file__", str(tmp_path / "mpi.py"))
    assert examine(mpi).job == "it did not end within 4 s"
    wait_for("no rank is left", lambda: str(sleeper) not in command_lines(), 10)
