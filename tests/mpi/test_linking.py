"""The libraries refer to nothing of MPI, export the wrapped calls alone and disturb nobody."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, SOURCES, Bench

from allemande.lab.mpi_launch import prefix
from allemande.preload import LIBRARIES, library_path

# Only what every Linux system brings: the C++ runtime is inside.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}

FORMS = {"Alltoall", "Alltoallv", "Alltoallw", "Ialltoall", "Ialltoallv", "Ialltoallw"}
COMMON = {"Init", "Init_thread", "Finalize", "Abort", "Wait", "Waitall"} | FORMS
LARGE_COUNTS = COMMON | {f"{form}_c" for form in FORMS}
WRAPPED = {"openmpi": COMMON, "mpich": LARGE_COUNTS, "mpiabi": LARGE_COUNTS}

every_library = pytest.mark.parametrize("library", LIBRARIES)


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


@every_library
def test_needs_the_system_libraries_only(library: str) -> None:
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", str(library_path(library)))))
    assert needed <= SYSTEM


@every_library
def test_exports_the_wrapped_calls_only(library: str) -> None:
    defined = {name for name, is_defined in dynamic_symbols(library_path(library)) if is_defined}
    assert defined == {f"{p}MPI_{name}" for name in WRAPPED[library] for p in ("", "P")}


@every_library
def test_refers_to_no_symbol_of_an_mpi_library(library: str) -> None:
    undefined = {
        name for name, is_defined in dynamic_symbols(library_path(library)) if not is_defined
    }
    assert not {name for name in undefined if re.match(r"P?MPI|ompi|MPIR|mca_|opal", name)}


@every_library
@pytest.mark.parametrize("program", ["sh", "launcher"])
def test_programs_without_mpi_are_left_alone(mpi: str, library: str, program: str) -> None:
    command = {
        "sh": ["sh", "-c", "echo fine"],
        "launcher": [str(prefix(mpi) / "bin" / "mpirun"), "--version"],
    }[program]
    done = subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": str(library_path(library))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "allemande" not in done.stderr


@every_library
def test_the_library_of_another_mpi_passes_through_with_a_hint(bench: Bench, library: str) -> None:
    if library == bench.platform.interface:
        pytest.skip("this is the right one")
    preload = {"LD_PRELOAD": str(library_path(library))}
    done = bench.run("repeat", "3", "1000", env=preload, preload=False)
    done.check()
    assert f"allemande preload --mpi {bench.platform.interface}`" in done.err
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
    both = [str(bench.library), str(bench.folder / "tool.so")]
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


# Where it comes after this library, or the program is linked to it, it passes PMPI_Init here by.
@pytest.mark.parametrize("order", ["before", "after", "linked"])
def test_a_tool_that_goes_on_to_the_next_library(bench: Bench, order: str) -> None:
    tool = build_module(bench, "next_tool")
    words = {"before": [tool, bench.library], "after": [bench.library, tool]}
    preload = ":".join(map(str, words.get(order, [bench.library])))
    program = link_program(bench, "repeat", tool) if order == "linked" else "repeat"
    env = {"LD_PRELOAD": preload, **ALWAYS_OURS}
    done = bench.run(program, "3", "1000", env=env, preload=False)
    done.check()
    ranks = len(bench.lab.hosts)
    assert done.err.count("next tool: 0") == ranks
    assert done.stats["exchanges"] == 3 * ranks
    assert not done.warnings


@pytest.mark.parametrize("order", ["before", "after"])
def test_exchanges_that_a_tool_leads_past_are_told(bench: Bench, order: str) -> None:
    tool = build_module(bench, "next_tool", "-DEXCHANGES")
    both = [str(bench.library), str(tool)]
    preload = {"LD_PRELOAD": ":".join(both if order == "after" else reversed(both)), **ALWAYS_OURS}
    done = bench.run("repeat", "3", "1000", env=preload, preload=False)
    done.check()
    ranks = len(bench.lab.hosts)
    assert done.err.count("next tool: 3") == ranks
    if order == "before":
        assert done.stats["exchanges"] == 3 * ranks
        assert not done.warnings
    else:
        (warning,) = done.warnings
        assert f"MPI_Alltoall: {tool} calls the MPI library's own function" in warning
        assert f"LD_PRELOAD={tool}:" in warning


def test_functions_of_the_librarys_own_handle_are_told_of_once(bench: Bench) -> None:
    library = mpi_library(bench.program("repeat"))
    done = bench.run("handle", library)
    assert done.code == 0
    (warning,) = done.warnings
    assert f"nothing was accelerated: this program calls {library}" in warning


def mpi_library(program: str) -> str:
    """The path that the loader finds for it."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    (path,) = re.findall(r"libmpi\S* => (/\S+)", done.stdout)
    return str(path)


def build_module(bench: Bench, name: str, *flags: str) -> Path:
    source = SOURCES / "modules" / f"{name}.c"
    made = bench.folder / f"{name}.so"
    command = [str(bench.platform.compiler), "-shared", "-fPIC", "-Wall", *flags]
    subprocess.run([*command, "-o", made, source], check=True)
    return made


def link_program(bench: Bench, name: str, tool: Path) -> str:
    """The program, linked to the tool before the MPI library."""
    made = bench.folder / f"{name}-linked"
    command = [str(bench.platform.compiler), "-Wl,--no-as-needed", "-o", str(made)]
    subprocess.run([*command, SOURCES / f"{name}.c", tool, f"-Wl,-rpath,{tool.parent}"], check=True)
    return str(made)
