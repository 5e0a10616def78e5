"""The benchmark program, built once with each library's own compiler wrapper."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from allemande.errors import Failed

SOURCE = "bench/alltoall_bench.c"
HEADERS = tuple(
    f"bench/bench_{name}.h" for name in ("counters", "exchange", "meeting", "options", "pattern")
)
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")


def find_root() -> Path:
    """The source tree: `bench/` lies beside `python/`."""
    for folder in Path(__file__).resolve().parents:
        if (folder / SOURCE).is_file():
            return folder
    raise Failed(
        f"{SOURCE} is not in any folder above {__file__}; expected the source tree: "
        "run the command that `make build` leaves in .venv/bin"
    )


def _compiler(root: Path, library: str) -> Path:
    path = root / ".mpi" / library / "bin" / "mpicc"
    if not path.is_file():
        raise Failed(f"{path} is missing; `make setup` installs {library} there")
    return path


def _is_current(program: Path, inputs: list[Path]) -> bool:
    if not program.is_file():
        return False
    built = program.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in inputs)


def build_program(library: str, source: str = SOURCE) -> Path:
    """Path of the program for `library`, compiled when it is missing or older than its source."""
    root = find_root()
    mpicc = _compiler(root, library)
    program = root / "build" / "bench" / library / Path(source).stem
    inputs = [root / source, *(root / header for header in HEADERS)]
    if _is_current(program, inputs):
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    # Two commands at once each write a file of their own; the rename decides.
    fresh = program.with_name(f"{program.name}.{os.getpid()}")
    command = [str(mpicc), *FLAGS, "-o", str(fresh), str(inputs[0]), "-ldl", "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Failed(f"{' '.join(command)} failed:\n{result.stderr.strip()}")
    fresh.replace(program)
    return program
