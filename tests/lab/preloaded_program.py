"""A program of Open MPI on a lab's hosts, with the library preloaded."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from allemande.lab import Lab, mpi_launch
from allemande.preload import library_path

PATIENCE_S = 120


def build(folder: Path, name: str) -> Path:
    """`name`: of a C source in this folder, without its ending."""
    program = folder / name
    source = Path(__file__).with_name(f"{name}.c")
    compiler = mpi_launch.installation("openmpi").compiler()
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return program


def run_preloaded(
    lab: Lab, argv: Sequence[str], **options: str
) -> subprocess.CompletedProcess[str]:
    """One rank on each host; the options are those of allemande."""
    done: subprocess.CompletedProcess[str] = lab.run(
        "openmpi",
        None,
        argv,
        preload=library_path(mpi_launch.installation("openmpi").kind),
        env={f"ALLEMANDE_{name.upper()}": value for name, value in options.items()},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=lab.timers.patience_s(PATIENCE_S),
    )
    assert done.returncode == 0, done.stderr
    return done
