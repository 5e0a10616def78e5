"""Which MPI launcher a command is. The names say little: every library calls its own mpirun."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VERSION_TIMEOUT_S = 20


@dataclass(frozen=True)
class Launcher:
    kind: str  # "openmpi", "mpich" or "srun"
    version: str = ""  # "Open MPI 5.0.11"; srun is not asked
    prrte: bool = False  # Open MPI's since release 5; the one before took other settings


def identify(path: Path, environment: Mapping[str, str]) -> Launcher | None:
    """By what it says of its version; None: not one that is known here."""
    if path.name == "srun":
        return Launcher("srun")
    try:
        text = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            timeout=VERSION_TIMEOUT_S,
            check=False,
            text=True,
            errors="replace",
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    if any(mark in text for mark in ("Open MPI", "OpenRTE", "PRRTE", "prte")):
        return Launcher("openmpi", _version("Open MPI", text), prrte="OpenRTE" not in text)
    if any(mark in text for mark in ("HYDRA", "Hydra", "MPICH")):
        return Launcher("mpich", _version("MPICH", text))
    return None


def _version(name: str, text: str) -> str:
    number = re.search(r"\b\d+\.\d+(\.\d+)*\w*", text)
    return f"{name} {number[0]}" if number else name
