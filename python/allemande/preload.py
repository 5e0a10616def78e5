"""The libraries that go into LD_PRELOAD, and how each launcher is told to forward them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from allemande import __version__
from allemande.elf import needed_libraries
from allemande.errors import BadInput, Failed
from allemande.launchers import identify

# One library for each binary interface of MPI, whatever release provides it.
LIBRARIES = ("openmpi", "mpich", "mpiabi")
SONAMES = {
    "libmpi.so.40": "openmpi",
    "libmpi.so.12": "mpich",
    "libmpich.so.12": "mpich",  # as Debian calls it
    "libmpi_abi.so.1": "mpiabi",
}
PREFIX = "ALLEMANDE_"

LAUNCHERS = "Open MPI's mpirun, mpiexec and prterun, MPICH's mpirun, mpiexec and hydra, srun"


def source_folder() -> Path:
    """The C++ sources: the repository's, or what a wheel carries of them."""
    package = Path(__file__).resolve().parent
    repository = package.parents[1]
    return repository if _is_repository(repository) else package / "data" / "source"


def _is_repository(folder: Path) -> bool:
    return (folder / "CMakeLists.txt").exists() and (folder / "python" / "allemande").exists()


def user_folder(environment: Mapping[str, str]) -> Path:
    """Where `allemande build-preload` puts libraries. Raises Failed where nobody can tell."""
    try:
        data = environment.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    except RuntimeError:  # users of containers may have no entry in passwd
        raise Failed("there is no home directory; set HOME or XDG_DATA_HOME") from None
    return Path(data, "allemande", __version__)


def library_path(mpi: str) -> Path:
    """The library to preload into programs of `mpi`: `make build`'s, or `build-preload`'s."""
    if mpi not in LIBRARIES:
        raise BadInput(f"unknown MPI library {mpi!r}; expected one of: {', '.join(LIBRARIES)}")
    name = f"liballemande-{mpi}.so"
    build = os.environ.get("ALM_BUILD_DIR") or "build/release"  # another one is for developers
    built = source_folder() / build / "lib" / name
    if built.exists():
        return built
    own = user_folder(os.environ) / name
    if own.exists():
        return own
    if _is_repository(source_folder()):
        raise Failed(f"{built} is missing; `make build` makes it")
    raise Failed(
        f"{own} is missing; make it once with: allemande build-preload --mpicc MPICC "
        f"(the compiler wrapper of {mpi})"
    )


def linked_interface(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The library for the program that a launcher's words name, if it says what it is linked to.

    Scripts say nothing. A program for the MPI standard ABI runs under any launcher.
    """
    for word in command:
        path = shutil.which(word, path=environment.get("PATH"))
        for soname in needed_libraries(Path(path)) if path is not None else []:
            if soname in SONAMES:
                return SONAMES[soname]
    return None


def launcher_kind(program: str, environment: Mapping[str, str]) -> str:
    """Which launcher `program` is: "openmpi", "mpich" or "srun"."""
    path = shutil.which(program, path=environment.get("PATH"))
    if path is None:
        raise BadInput(
            f"{program}: no such command; expected an MPI launcher and its arguments, "
            "for example `allemande run -- mpirun -n 32 ./app`"
        )
    launcher = identify(Path(path), environment)
    if launcher is None:
        raise BadInput(
            f"{program}: not a launcher known here; expected one of: {LAUNCHERS}. With another "
            "one, forward LD_PRELOAD (`allemande preload` prints its value) and the ALLEMANDE_ "
            "variables to every rank by its own options"
        )
    return launcher.kind


def _preload_value(library: Path, environment: Mapping[str, str]) -> str:
    """LD_PRELOAD with the library behind what the user preloads already: a tool that goes on to the
    next library's function (dlsym with RTLD_NEXT) comes here."""
    others = [word for word in environment.get("LD_PRELOAD", "").replace(":", " ").split() if word]
    return ":".join([*(word for word in others if word != str(library)), str(library)])


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
    interface = mpi or linked_interface(command[1:], inherited)
    if interface is None and kind == "srun":
        raise BadInput(
            "srun starts programs of any MPI library, and this one does not say which it is linked "
            f"to; say it with --mpi, one of: {', '.join(LIBRARIES)}"
        )
    library = library_path(interface or kind)
    variables = {name: value for name, value in inherited.items() if name.startswith(PREFIX)}
    variables |= settings
    variables["LD_PRELOAD"] = _preload_value(library, inherited)
    if kind == "openmpi":  # -x holds for the programs of its context, which ends at a colon
        flags = [word for item in variables.items() for word in ("-x", "=".join(item))]
        words = [
            more for word in command[1:] for more in ([":", *flags] if word == ":" else [word])
        ]
    elif kind == "mpich":
        flags = [word for item in variables.items() for word in ("-genv", *item)]
        words = list(command[1:])
    else:  # srun hands on its environment, unless told otherwise
        return list(command), {**inherited, **variables}
    return [command[0], *flags, *words], {**inherited, **settings}
