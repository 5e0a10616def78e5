"""`allemande.alltoall` over mpi4py: ranks on one host, and in an emulated cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.mpi.mpi_job import JOB_TIMEOUT_S, PATIENT

from allemande.lab import Lab
from allemande.lab.mpi_launch import OPENMPI_ROOT, prefix

pytest.importorskip("mpi4py")

PROGRAM = Path(__file__).parent / "programs" / "api.py"
RANKS = 4
CASES = (
    "equal",
    "vector",
    "communicators",
    "threads",
    "progress",
    "options",
    "arguments",
    "mismatch",
)


def settings(mpi: str) -> dict[str, str]:
    """mpi4py finds the MPI library at run time, by these."""
    library = prefix(mpi) / "lib" / {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[mpi]
    return {
        **PATIENT,
        "MPI4PY_MPIABI": mpi,
        "MPI4PY_LIBMPI": str(library),
        "LD_LIBRARY_PATH": str(library.parent),
    }


def check(command: Sequence[str], env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, env=env, check=False
    )
    assert done.returncode == 0 and "CORRECT" in done.stdout, done.stdout + done.stderr
    return done.stderr


def on_this_host(mpi: str, *cases: str, **more: str) -> str:
    env = {**os.environ, **OPENMPI_ROOT, **settings(mpi), **more}
    env["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    env["OMPI_MCA_mpi_yield_when_idle"] = "1"
    mpirun = str(prefix(mpi) / "bin" / "mpirun")
    return check([mpirun, "-n", str(RANKS), sys.executable, str(PROGRAM), *cases], env)


def test_ranks_of_one_host_exchange(mpi: str) -> None:
    assert "leaked" not in on_this_host(mpi, *CASES)


def test_switched_off_the_mpi_library_exchanges(mpi: str) -> None:
    on_this_host(mpi, "switched_off", ALLEMANDE_DISABLE="on")


def test_without_mpi4py_the_error_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['mpi4py'] = None; import allemande; allemande.alltoall(1, 2, 3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "mpi4py cannot be imported" in done.stderr
    assert "pip install mpi4py" in done.stderr


def test_ranks_in_a_cluster_exchange(shared_lab: Lab, mpi: str) -> None:
    argv = [sys.executable, str(PROGRAM), "equal", "vector", "progress", "sites"]
    check(shared_lab.mpi_command(mpi, None, argv, env=settings(mpi)))
