"""MPI jobs in the lab: built, preloaded, run, and what they left behind."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allemande.lab import Lab
from allemande.lab.mpi_launch import installation
from allemande.lab.placement import Placement
from allemande.preload import library_path


@dataclass(frozen=True)
class Platform:
    """One MPI that programs are built with and started by."""

    launcher: str  # as `allemande lab run --mpi` takes it
    interface: str  # which library is preloaded
    mpicc: str = "mpicc"
    sessions: bool = True  # has what came with MPI 4.0
    survives: bool = False  # its ULFM tells of deaths and of communicators that are revoked

    @property
    def compiler(self) -> Path:
        return installation(self.launcher).compiler(self.mpicc)


MPIS = ("openmpi", "mpich")  # tested in full
PLATFORMS = {
    "openmpi": Platform("openmpi", "openmpi", survives=True),
    "mpich": Platform("mpich", "mpich"),
    "openmpi-debian": Platform("openmpi-debian", "openmpi", sessions=False),
    "mpich-debian": Platform("mpich-debian", "mpich"),
    "mpiabi": Platform("mpich", "mpiabi", "mpicc_abi"),
}
SOURCES = Path(__file__).parent / "programs"
JOB_TIMEOUT_S = 300  # no job takes a tenth of it, unless the machine is busy with others

# On a machine that is busy with other things a rank may not run for seconds.
PATIENT = {"ALLEMANDE_HELLO_TIMEOUT_MS": "20000"}

# Every call is to be ours, unless the test is about trials.
ALWAYS_OURS = {"ALLEMANDE_TRIALS": "off"}


def build_programs(platform: Platform, folder: Path) -> None:
    folder.mkdir(parents=True)
    for source in sorted(SOURCES.glob("*.c")):
        if source.stem == "not_accelerated" and not platform.sessions:
            continue
        if source.stem == "survive" and not platform.survives:
            continue
        command: list[str | Path] = [
            platform.compiler,
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            # MPICH 4.0 declares MPI_STATUSES_IGNORE, (MPI_Status*) 1, as an array that is written.
            "-Wno-stringop-overflow",
            "-pthread",
        ]
        subprocess.run([*command, "-o", folder / source.stem, source], check=True)


@dataclass
class Done:
    code: int
    out: str
    err: str
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("allemande: ")]

    def check(self) -> None:
        """Every byte was right on every rank."""
        assert self.code == 0 and "CORRECT" in self.out, self.err


@dataclass
class Bench:
    lab: Lab
    programs: Path
    mpi: str  # which of PLATFORMS
    folder: Path

    @property
    def platform(self) -> Platform:
        return PLATFORMS[self.mpi]

    @property
    def library(self) -> Path:
        return library_path(self.platform.interface)

    def program(self, name: str) -> str:
        return str(self.programs / name)

    def command(
        self,
        argv: Sequence[str],
        *,
        ranks: int | None = None,
        slots: Sequence[int] | None = None,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        preload: bool = True,
    ) -> list[str]:
        """With `slots`, so many ranks on each host, in rank order."""
        return self.lab.mpi_command(
            self.platform.launcher,
            ranks,
            argv,
            env={**ALWAYS_OURS, **(env or {})} if preload else env,
            arguments=arguments,
            preload=self.library if preload else None,
            placement=None if slots is None else Placement(tuple(slots)),
        )

    def run(
        self,
        *argv: str,
        ranks: int | None = None,
        slots: Sequence[int] | None = None,
        env: Mapping[str, str] | None = None,
        preload: bool = True,
    ) -> Done:
        """`argv[0]` names a test program, or is a path."""
        program = argv[0] if "/" in argv[0] else self.program(argv[0])
        stats = self.folder / "stats.json"
        stats.unlink(missing_ok=True)
        command = self.command(
            [program, *argv[1:]],
            ranks=ranks,
            slots=slots,
            env={"ALLEMANDE_STATS": str(stats), **PATIENT, **(env or {})},
            preload=preload,
        )
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=JOB_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as late:
            told = b"".join(text or b"" for text in (late.stdout, late.stderr)).decode()
            raise AssertionError(f"{argv}: no end after {JOB_TIMEOUT_S} s:\n{told}") from None
        counters = json.loads(stats.read_text()) if stats.exists() else {}
        return Done(done.returncode, done.stdout, done.stderr, counters)

    def script(self, name: str, text: str) -> str:
        """A shell script that runs in place of a program; $RANK is set."""
        path = self.folder / name
        variable = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[self.mpi]
        path.write_text(f"#!/bin/sh\nRANK=${variable}\n{text}\n")
        path.chmod(0o755)
        return str(path)


def wait_for(what: str, condition: Callable[[], bool], timeout_s: float) -> None:
    limit = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < limit, f"{what}: not within {timeout_s:g} s"
        time.sleep(0.05)
