"""The libraries refer to nothing of MPI, export the wrapped calls alone and disturb nobody."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, MPIS, Bench

from allemande.lab.mpi import prefix
from allemande.preload import library_path

# Only what every Linux system brings: the C++ runtime is inside.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}

FORMS = {"Alltoall", "Alltoallv", "Alltoallw", "Ialltoall", "Ialltoallv", "Ialltoallw"}
COMMON = {"Init", "Init_thread", "Finalize", "Wait", "Waitall"} | FORMS
WRAPPED = {"openmpi": COMMON, "mpich": COMMON | {f"{form}_c" for form in FORMS}}


def readelf(*arguments: str) -> str:
    done = subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def dynamic_symbols(path: Path) -> list[tuple[str, bool]]:
    """Names without version, and whether they are defined."""
    rows = [line.split() for line in readelf("--dyn-syms", str(path)).splitlines()]
    return [
        (row[7].partition("@")[0], row[6] != "UND")
        for row in rows
        if len(row) >= 8 and row[0].rstrip(":").isdigit()
    ]


def test_needs_the_system_libraries_only(mpi: str) -> None:
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", str(library_path(mpi)))))
    assert needed <= SYSTEM


def test_exports_the_wrapped_calls_only(mpi: str) -> None:
    defined = {name for name, is_defined in dynamic_symbols(library_path(mpi)) if is_defined}
    assert defined == {f"{p}MPI_{name}" for name in WRAPPED[mpi] for p in ("", "P")}


def test_refers_to_no_symbol_of_an_mpi_library(mpi: str) -> None:
    undefined = {name for name, is_defined in dynamic_symbols(library_path(mpi)) if not is_defined}
    assert not {name for name in undefined if re.match(r"P?MPI|ompi|MPIR|mca_|opal", name)}


@pytest.mark.parametrize("program", ["sh", "launcher"])
def test_programs_without_mpi_are_left_alone(mpi: str, program: str) -> None:
    command = {
        "sh": ["sh", "-c", "echo fine"],
        "launcher": [str(prefix(mpi) / "bin" / "mpirun"), "--version"],
    }[program]
    done = subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": str(library_path(mpi))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "allemande" not in done.stderr


def test_the_other_mpi_passes_through_with_a_hint(bench: Bench) -> None:
    other = next(name for name in MPIS if name != bench.mpi)
    done = bench.run(
        "repeat", "3", "1000", env={"LD_PRELOAD": str(library_path(other))}, preload=False
    )
    done.check()
    assert f"allemande preload --mpi {bench.mpi}" in done.err
    assert not done.stats


def test_libmpi_out_of_the_global_scope(bench: Bench) -> None:
    """As Python programs load it: dlopen of a module that needs libmpi, RTLD_LOCAL."""
    build_module(bench, "module")
    done = bench.run("loader", str(bench.folder / "module.so"))
    done.check()
    assert done.stats["exchanges"] == 3 * len(bench.lab.hosts)


@pytest.mark.parametrize("order", ["before", "after"])
def test_another_tool_sees_every_call(bench: Bench, order: str) -> None:
    build_module(bench, "tool")
    both = [str(library_path(bench.mpi)), str(bench.folder / "tool.so")]
    preload = {"LD_PRELOAD": ":".join(both if order == "after" else reversed(both)), **ALWAYS_OURS}
    done = bench.run("repeat", "3", "1000", env=preload, preload=False)
    done.check()
    ranks = len(bench.lab.hosts)
    assert done.err.count("tool: 3 of MPI_Alltoall, 0 of v, 0 of w") == ranks
    assert done.stats["exchanges"] == 3 * ranks

    done = bench.run("blocks", "types", env=preload, preload=False)
    done.check()
    assert done.err.count("tool: 0 of MPI_Alltoall, 12 of v, 12 of w") == ranks
    assert done.stats["exchanges"] == 24 * ranks


def build_module(bench: Bench, name: str) -> None:
    source = Path(__file__).parent / "programs" / "modules" / f"{name}.c"
    mpicc = prefix(bench.mpi) / "bin" / "mpicc"
    output = bench.folder / f"{name}.so"
    subprocess.run([mpicc, "-shared", "-fPIC", "-Wall", "-o", output, source], check=True)
