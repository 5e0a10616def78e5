"""Which programs there are, what they are built with, and which ways of running them compare."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from allemande.errors import BadInput, Failed
from allemande.lab.mpi_launch import installation

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "examples"
OUTPUT = ROOT / "build" / "examples"


@dataclass(frozen=True)
class Program:
    name: str
    source: str
    what: str
    exchange: str  # the call that carries the data
    mpis: tuple[str, ...]  # as `allemande lab run --mpi` takes them
    size: int  # the argument at which it is measured
    small: int  # and the one for a quick look
    libraries: tuple[str, ...] = ()

    def build(self, mpi: str) -> list[str]:
        """The command line that runs it, built when it is missing or older than its source."""
        source = SOURCES / self.source
        if not source.is_file():
            raise Failed(f"{source} is missing; expected the source tree of allemande")
        if source.suffix == ".py":
            # By mpi4py's runner: an exception on one rank ends the job, not only that rank.
            return [sys.executable, "-m", "mpi4py", str(source), "--size"]
        program = OUTPUT / mpi / self.name
        if not program.is_file() or program.stat().st_mtime < source.stat().st_mtime:
            self._compile(mpi, source, program)
        return [str(program)]

    def _compile(self, mpi: str, source: Path, program: Path) -> None:
        wrapper = {".c": "mpicc", ".f90": "mpifort"}[source.suffix]
        program.parent.mkdir(parents=True, exist_ok=True)
        # Two commands at once each write a file of their own; the rename decides.
        fresh = program.with_name(f"{program.name}.{os.getpid()}")
        command = [str(installation(mpi).compiler(wrapper)), "-O2", "-o", str(fresh), str(source)]
        command += [f"-l{library}" for library in self.libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
        fresh.replace(program)

    def arguments(self, size: int, repeats: int) -> list[str]:
        if self.source.endswith(".py"):
            return [str(size), "--repeats", str(repeats)]
        return [str(size), str(repeats)]


PROGRAMS = (
    Program(
        "fft3d",
        "fft3d.py",
        "3-D FFT of 128^3 by mpi4py-fft",
        "MPI_Alltoallw",
        ("openmpi", "mpich"),
        size=128,
        small=32,
    ),
    Program(
        "fftw3d",
        "fftw3d.c",
        "3-D FFT of 128^3 by FFTW",
        "MPI_Alltoall",
        ("openmpi-debian",),
        size=128,
        small=32,
        libraries=("fftw3_mpi", "fftw3", "m"),
    ),
    Program(
        "transpose",
        "transpose.f90",
        "Fortran: a matrix of 2000 x 2000 transposed",
        "MPI_Alltoallv",
        ("openmpi-debian",),
        size=2000,
        small=300,
    ),
    Program(
        "sample_sort",
        "sample_sort.c",
        "sample sort of 10^7 keys",
        "MPI_Alltoallv",
        ("openmpi", "mpich"),
        size=10_000_000,
        small=200_000,
    ),
)
NAMES = tuple(program.name for program in PROGRAMS)


def parse_programs(names: list[str]) -> list[Program]:
    """Those named, in the order of the catalog; all of them if none is."""
    for name in names:
        if name not in NAMES:
            close = get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise BadInput(f"unknown example {name!r}; {hint}expected some of: {', '.join(NAMES)}")
    return [program for program in PROGRAMS if not names or program.name in names]


def check_mpis(programs: list[Program], names: list[str]) -> None:
    known = {name for program in programs for name in program.mpis}
    for name in names:
        if name not in known:
            raise BadInput(
                f"--mpi {name!r}: none of these programs runs under it; expected one of: "
                f"{', '.join(sorted(known))}"
            )


def build_all(programs: list[Program]) -> None:
    for program in programs:
        for name in program.mpis:
            program.build(name)


@dataclass(frozen=True)
class Way:
    """One way of running a program under one MPI."""

    name: str
    preload: bool = False
    arguments: tuple[str, ...] = ()  # for the launcher
    environment: Mapping[str, str] = field(default_factory=dict)


STOCK = Way("stock")
OURS = Way("allemande", preload=True)


def _openmpi(call: str, name: str, number: int) -> Way:
    option = f"coll_tuned_{call.removeprefix('MPI_').lower()}_algorithm"
    dynamic = ("--mca", "coll_tuned_use_dynamic_rules", "1")
    return Way(name, arguments=(*dynamic, "--mca", option, str(number)))


def other_algorithms(program: Program, mpi: str) -> list[Way]:
    """What else the library has for the call, to be asked for by those who know of it."""
    if installation(mpi).kind == "mpich":
        # The one algorithm posts so many messages at a time; its default is 32.
        return [
            Way(f"throttle {number}", environment={"MPIR_CVAR_ALLTOALL_THROTTLE": str(number)})
            for number in (4, 1)
        ]
    if program.exchange == "MPI_Alltoall":
        numbers = {"linear": 1, "pairwise": 2, "linear-sync": 4}
    elif program.exchange == "MPI_Alltoallv":
        numbers = {"linear": 1, "pairwise": 2}
    else:
        return []  # MPI_Alltoallw has one
    return [_openmpi(program.exchange, name, number) for name, number in numbers.items()]
