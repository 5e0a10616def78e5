"""The libraries refer to nothing of MPI, export the wrapped calls alone and disturb nobody."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, SOURCES, Bench, Done

from allemande.lab.mpi_launch import prefix
from allemande.preload import LIBRARIES, library_path

# Only what every Linux system brings: the C++ runtime is inside.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}

FORMS = {
    f"{prefix}lltoall{suffix}"
    for prefix in ("A", "Ia", "Neighbor_a", "Ineighbor_a")
    for suffix in ("", "v", "w")
}
LIFE = {"Init", "Init_thread", "Finalize", "Abort", "Comm_free", "Comm_disconnect"}
PERSISTENT = {f"Alltoall{suffix}_init" for suffix in ("", "v", "w")}
REQUESTS = {f"{verb}{which}" for verb in ("Wait", "Test") for which in ("", "all", "any", "some")}
REQUESTS |= {"Start", "Startall", "Request_free", "Cancel"}
COMMON = LIFE | REQUESTS | FORMS | PERSISTENT
LARGE_COUNTS = COMMON | {f"{form}_c" for form in FORMS | PERSISTENT}
WRAPPED = {"openmpi": COMMON, "mpich": LARGE_COUNTS, "mpiabi": LARGE_COUNTS}
# Open MPI 4 has persistent forms under names of its own.
ALSO = {"openmpi": {f"X_{form}" for form in PERSISTENT}, "mpich": set(), "mpiabi": set()}

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
    names = {f"MPI_{name}" for name in WRAPPED[library]} | {f"MPI{name}" for name in ALSO[library]}
    assert defined == {f"{p}{name}" for name in names for p in ("", "P")}


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


# What the tools below meet: the arguments of a program, and how many exchanges it makes on a rank.
PROGRAMS = {
    "alltoall": (("repeat", "3", "1000"), 3),
    "v and w": (("blocks", "types"), 24),
    "types of MPI 4": (("large_types",), 20),
}


@dataclass(frozen=True)
class ToolRun:
    """One program under allemande with a tool: the matrix of tools, orders, libraries and forms."""

    bench: Bench
    tool: Path
    order: str  # of the two libraries, or "linked": the program is linked to the tool

    def run(self, form: str) -> Done:
        (name, *arguments), exchanges = PROGRAMS[form]
        words = {
            "before": [self.tool, self.bench.library],
            "after": [self.bench.library, self.tool],
        }
        preload = ":".join(map(str, words.get(self.order, [self.bench.library])))
        linked = self.order == "linked"
        program = link_program(self.bench, name, self.tool) if linked else name
        env = {"LD_PRELOAD": preload, **ALWAYS_OURS}
        done = self.bench.run(program, *arguments, env=env, preload=False)
        done.check()
        assert done.stats["exchanges"] == exchanges * len(self.bench.lab.hosts)
        assert not done.warnings
        return done


# What a tool leads past, and a program that calls it.
LED_PAST = {
    "Alltoall": ("repeat", "3", "1000"),
    "Ialltoall": ("nonblocking", "calls", "multiple"),
    "Alltoall_init": ("persistent", "calls", "single"),
    "Neighbor_alltoall": ("neighbours", "torus", "4", "3", "1000", "blocking"),
    "Ineighbor_alltoall": ("neighbours", "torus", "4", "3", "1000", "nonblocking"),
}


every_order = pytest.mark.parametrize("order", ["before", "after", "linked"])
every_form = pytest.mark.parametrize("form", PROGRAMS)


@every_form
@every_order
def test_another_tool_sees_every_call(bench: Bench, order: str, form: str) -> None:
    skip_without_types(bench, form)
    done = ToolRun(bench, build_module(bench, "tool"), order).run(form)
    seen = {
        "alltoall": "3 of MPI_Alltoall, 0 of v, 0 of w",
        "v and w": "0 of MPI_Alltoall, 12 of v",
    }
    if form in seen:
        assert done.err.count(f"tool: {seen[form]}") == len(bench.lab.hosts)


# Where it comes after this library, or the program is linked to it, it passes PMPI_Init here by.
@every_form
@every_order
def test_a_tool_that_goes_on_to_the_next_library(bench: Bench, order: str, form: str) -> None:
    skip_without_types(bench, form)
    done = ToolRun(bench, build_module(bench, "next_tool"), order).run(form)
    assert done.err.count("next tool: 0") == len(bench.lab.hosts)


def skip_without_types(bench: Bench, form: str) -> None:
    if form == "types of MPI 4" and bench.platform.interface == "openmpi":
        pytest.skip("it has no constructors of MPI 4")


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("function", LED_PAST)
def test_exchanges_that_a_tool_leads_past_are_told(bench: Bench, function: str, order: str) -> None:
    tool = build_module(bench, "next_tool", f"-DWRAP_{function}")
    both = [str(bench.library), str(tool)]
    preload = {"LD_PRELOAD": ":".join(both if order == "after" else reversed(both)), **ALWAYS_OURS}
    done = bench.run(*LED_PAST[function], env=preload, preload=False)
    assert done.code == 0, done.err
    ranks = len(bench.lab.hosts)
    assert len(re.findall(r"next tool: [1-9]", done.err)) == ranks
    if order == "before":
        assert done.stats["exchanges"] > 0
        assert not done.warnings
    else:
        (warning,) = done.warnings
        assert f"MPI_{function}: {tool} calls the MPI library's own function" in warning
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
