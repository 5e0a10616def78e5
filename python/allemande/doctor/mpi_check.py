"""The MPI launchers on PATH, and a job of two processes under each with allemande preloaded."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from allemande.doctor.facts import Mpi
from allemande.entry import end_deferred
from allemande.errors import AllemandeError, BadInput
from allemande.launchers import identify
from allemande.preload import launch, library_path

NAMES = ("mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "srun")
JOB_TIMEOUT_S = 60
PATIENCE_S = 10
LINES_SHOWN = 4
SONAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}

# Two processes on one machine, whatever it is: as root, and with one processor.
SETTINGS = {
    **{
        f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1"
        for prefix in ("OMPI", "PRTE")
        for suffix in ("", "_CONFIRM")
    },
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def find(
    launchers: Sequence[str], environment: Mapping[str, str], *, jobs: bool
) -> tuple[Mpi, ...]:
    """`launchers` by name or path; none: what PATH has, each program once."""
    found: dict[Path, str] = {}
    for name in launchers or NAMES:
        path = shutil.which(name, path=environment.get("PATH"))
        if path is None:
            if launchers:
                raise BadInput(f"--mpirun {name}: no such command; expected an MPI launcher")
            continue
        found.setdefault(Path(path).resolve(), path)
    return tuple(_examine(Path(path), environment, jobs=jobs) for path in found.values())


def _examine(launcher: Path, environment: Mapping[str, str], *, jobs: bool) -> Mpi:
    known = identify(launcher, environment)
    if known is None:
        return Mpi(str(launcher), "")
    kind = known.kind
    if kind == "srun":
        return Mpi(str(launcher), kind)
    preload, missing = "", ""
    try:
        preload = str(library_path(kind))
    except AllemandeError as error:
        missing = str(error)
    job, skipped = None, "" if jobs else "--no-jobs"
    shared = _shared_library(launcher, kind)
    if preload and jobs:
        if shared is None:
            skipped = f"no {' or '.join(SONAMES[kind])} is found for {launcher}"
        else:
            job = _try_job(launcher, kind, shared, environment)
    return Mpi(
        launcher=str(launcher),
        kind=kind,
        version=known.version,
        mpicc=_beside(launcher, "mpicc"),
        fortran=bool(_beside(launcher, "mpifort")) and _has_fortran(shared),
        preload=preload,
        preload_missing=missing,
        job=job,
        job_skipped=skipped,
    )


def _beside(launcher: Path, name: str) -> str:
    """mpirun.openmpi -> mpicc.openmpi, in the same folder."""
    path = launcher.with_name(re.sub("^(mpirun|mpiexec)", name, launcher.name))
    return str(path) if path.exists() else ""


def _folders(launcher: Path) -> list[Path]:
    prefix = launcher.resolve().parents[1]
    return [prefix / "lib", prefix / "lib64"]


def _shared_library(launcher: Path, kind: str) -> str | None:
    """libmpi of the launcher: beside it, else by the loader's own search."""
    for folder in _folders(launcher):
        for soname in SONAMES[kind]:
            if (folder / soname).exists():
                return str(folder / soname)
    for soname in SONAMES[kind]:
        code = f"import ctypes; ctypes.CDLL({soname!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        if done.returncode == 0:
            return soname
    return None


def _has_fortran(shared: str | None) -> bool:
    """A wrapper alone is not enough: some packages bring it without the library."""
    if shared is None or "/" not in shared:
        return True
    folder = Path(shared).parent
    return any(folder.glob("libmpi_mpifh.so*")) or any(folder.glob("libmpifort.so*"))


def _end(process: subprocess.Popen[str]) -> None:
    """Launchers end their ranks, which have sessions of their own, when asked to end."""
    process.terminate()
    try:
        process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the session began with it
        process.communicate()


def _try_job(launcher: Path, kind: str, shared: str, environment: Mapping[str, str]) -> str:
    """Runs it; empty: both processes exchanged with the library in front of MPI's own functions."""
    rank = Path(__file__).with_name("mpi_check_rank.py")
    command, env = launch(
        [str(launcher), "-n", "2", sys.executable, "-S", str(rank), kind, shared],
        {"ALLEMANDE_LOG": "error"},
        mpi=kind,
        environment={**environment, **SETTINGS},
    )
    with contextlib.ExitStack() as running:
        with end_deferred():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=env,
                start_new_session=True,
            )
            running.callback(_end, process)
        try:
            text, _ = process.communicate(timeout=JOB_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"it did not end within {JOB_TIMEOUT_S} s"
        running.pop_all()
    if process.returncode == 0 and text.count("EXCHANGED") == 2:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return f"exit code {process.returncode}: " + " | ".join(lines[-LINES_SHOWN:])
