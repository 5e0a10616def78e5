"""Fortran's three interfaces and mpi4py: the same bytes, and it was us who carried them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.mpi.mpi_job import SOURCES, Bench

from allemande.lab import Lab
from allemande.lab.mpi_launch import installation
from allemande.preload import library_path

FORTRAN = SOURCES / "fortran" / "exchange.F90"
PYTHON = SOURCES / "python" / "exchange.py"
INTERFACES = ("BY_MPIF", "BY_MODULE", "BY_F08")


@pytest.fixture
def bench(shared_lab: Lab, mpi: str, tmp_path: Path) -> Bench:
    return Bench(shared_lab, tmp_path, mpi, tmp_path)


@pytest.fixture
def fortran(bench: Bench, interface: str) -> str:
    program = bench.program(interface)
    mpifort = str(installation(bench.platform.launcher).compiler("mpifort"))
    # mpif.h declares nothing: the compiler sees MPI_IN_PLACE where an array was before.
    command = [mpifort, "-O1", "-w", "-fallow-argument-mismatch", f"-D{interface}"]
    subprocess.run([*command, f"-J{bench.folder}", "-o", program, FORTRAN], check=True)
    return program


@pytest.mark.parametrize("mpi", ["openmpi-debian", "mpich-debian"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_fortran(bench: Bench, fortran: str) -> None:
    bench.run(fortran, preload=False).check()
    done = bench.run(fortran)
    done.check()
    assert done.stats["exchanges"] == 6 * len(bench.lab.hosts)
    assert done.stats["passed_through"] == 0
    assert not done.warnings


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "openmpi-debian"])
def test_mpi4py(bench: Bench) -> None:
    bench.run(sys.executable, str(PYTHON), preload=False).check()
    done = bench.run(sys.executable, str(PYTHON))
    done.check()
    version = {"openmpi": "Open MPI v5.", "mpich": "MPICH Version:      5."}
    assert version.get(bench.mpi, "Open MPI v4.") in done.out
    assert done.stats["exchanges"] == 6 * len(bench.lab.hosts)
    assert done.stats["passed_through"] == 0


@pytest.mark.parametrize(("mpi", "library"), [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_mpi4py_with_the_library_of_another_mpi(bench: Bench, library: str) -> None:
    """It refers weakly to the _c forms, which Open MPI 5 has not and the library for MPICH has."""
    preload = {"LD_PRELOAD": str(library_path(library))}
    done = bench.run(sys.executable, str(PYTHON), env=preload, preload=False)
    done.check()
    assert f"allemande preload --mpi {bench.mpi}`" in done.err
    assert not done.stats
