"""The libraries that go into LD_PRELOAD, and how each launcher is told to forward them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from allemande import __version__
from allemande.errors import BadInput, Failed

LIBRARIES = ("openmpi", "mpich")
PREFIX = "ALLEMANDE_"
VERSION_TIMEOUT_S = 20

LAUNCHERS = "Open MPI's mpirun, mpiexec and prterun, MPICH's mpirun, mpiexec and hydra, srun"


def source_folder() -> Path:
    """The C++ sources: the repository's, or what a wheel carries of them."""
    package = Path(__file__).resolve().parent
    repository = package.parents[1]
    return repository if _is_repository(repository) else package / "data" / "source"


def _is_repository(folder: Path) -> bool:
    return (folder / "CMakeLists.txt").exists() and (folder / "python" / "allemande").exists()


def user_folder(environment: Mapping[str, str]) -> Path:
    """Where `allemande build-preload` puts libraries."""
    data = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data, "allemande", __version__)


def library_path(mpi: str) -> Path:
    """The library to preload into programs of `mpi`: `make build`'s, or `build-preload`'s."""
    if mpi not in LIBRARIES:
        raise BadInput(f"unknown MPI library {mpi!r}; expected one of: {', '.join(LIBRARIES)}")
    name = f"liballemande-{mpi}.so"
    build = os.environ.get("ALM_BUILD_DIR") or "build/release"  # another one is for developers
    built = source_folder() / build / "lib" / name
    own = user_folder(os.environ) / name
    for path in (built, own):
        if path.exists():
            return path
    if _is_repository(source_folder()):
        raise Failed(f"{built} is missing; `make build` makes it")
    raise Failed(
        f"{own} is missing; make it once with: allemande build-preload --mpicc MPICC "
        f"(the compiler wrapper of {mpi})"
    )


def launcher_kind(program: str, environment: Mapping[str, str]) -> str:
    """Which launcher `program` is: "openmpi", "mpich" or "srun".

    The names say little: both libraries call theirs mpirun and mpiexec. The version text does.
    """
    path = shutil.which(program, path=environment.get("PATH"))
    if path is None:
        raise BadInput(
            f"{program}: no such command; expected an MPI launcher and its arguments, "
            "for example `allemande run -- mpirun -n 32 ./app`"
        )
    if Path(path).name == "srun":
        return "srun"
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            timeout=VERSION_TIMEOUT_S,
            check=False,
            text=True,
            errors="replace",
        )
        text = done.stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    if any(mark in text for mark in ("Open MPI", "OpenRTE", "PRRTE", "prte")):
        return "openmpi"
    if any(mark in text for mark in ("HYDRA", "Hydra", "MPICH")):
        return "mpich"
    raise BadInput(
        f"{program}: not a launcher known here; expected one of: {LAUNCHERS}. With another one, "
        "forward LD_PRELOAD (`allemande preload` prints its value) and the ALLEMANDE_ variables "
        "to every rank by its own options"
    )


def preload_value(library: Path, environment: Mapping[str, str]) -> str:
    """LD_PRELOAD with the library in front of what the user preloads already."""
    others = [word for word in environment.get("LD_PRELOAD", "").replace(":", " ").split() if word]
    return ":".join([str(library), *(word for word in others if word != str(library))])


def launch(
    command: Sequence[str],
    settings: Mapping[str, str],
    *,
    mpi: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """`command` with its launcher told to preload, and the environment to run it in.

    `settings` are ALLEMANDE_ variables besides those of the environment. The launcher itself is
    not preloaded where it can set variables for the ranks alone.
    """
    inherited = dict(os.environ if environment is None else environment)
    kind = launcher_kind(command[0], inherited)
    if kind == "srun" and mpi is None:
        raise BadInput("srun starts programs of any MPI library; say which with --mpi")
    library = library_path(mpi or kind)
    variables = {name: value for name, value in inherited.items() if name.startswith(PREFIX)}
    variables |= settings
    variables["LD_PRELOAD"] = preload_value(library, inherited)
    if kind == "openmpi":
        flags = [word for item in variables.items() for word in ("-x", "=".join(item))]
    elif kind == "mpich":
        flags = [word for item in variables.items() for word in ("-genv", *item)]
    else:  # srun hands on its environment, unless told otherwise
        return list(command), {**inherited, **variables}
    return [command[0], *flags, *command[1:]], {**inherited, **settings}
