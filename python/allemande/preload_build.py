"""Builds the preloadable libraries for an MPI installation, from sources the package carries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from allemande.errors import BadInput, Failed
from allemande.preload import source_folder, user_folder

BUILD_TIMEOUT_S = 1800
PROBE_TIMEOUT_S = 60
LINES_SHOWN = 30

# What mpi.h defines, by the binary interface it belongs to. MVAPICH and Intel MPI share MPICH's.
_PROBE = """#include <mpi.h>
#if defined(OPEN_MPI)
allemande_kind openmpi OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION)
allemande_kind mpich MPICH_VERSION
#elif defined(I_MPI_VERSION)
allemande_kind mpich I_MPI_VERSION
#else
allemande_kind unknown -
#endif
"""


@dataclass(frozen=True)
class Headers:
    """Where an MPI library's mpi.h lies, and whose it is."""

    kind: str  # "openmpi" or "mpich"
    version: str
    folder: Path


def find_headers(mpicc: str, environment: Mapping[str, str]) -> Headers:
    """Asks the compiler wrapper; nothing is run but the preprocessor."""
    path = shutil.which(mpicc, path=environment.get("PATH"))
    if path is None:
        raise BadInput(
            f"{mpicc}: no such command; expected the compiler wrapper of the MPI library, for "
            "example --mpicc /opt/openmpi/bin/mpicc (Debian: libopenmpi-dev or libmpich-dev)"
        )
    text = _preprocess([path, "-E", "-P"], environment)
    match = re.search(r"^allemande_kind (\w+) (.*)$", text, re.MULTILINE)
    places = re.search(r"(\S*/mpi\.h)\b", _preprocess([path, "-E", "-M"], environment))
    if match is None or places is None or match[1] == "unknown":
        raise BadInput(
            f"{path}: its mpi.h is neither Open MPI's nor MPICH's (or one that shares MPICH's "
            "binary interface), which are what allemande knows"
        )
    version = match[2].replace('"', "").replace(" ", "")
    return Headers(match[1], version, Path(places[1]).parent.resolve())


def _preprocess(command: list[str], environment: Mapping[str, str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text(_PROBE, encoding="utf-8")
        try:
            done = subprocess.run(
                [*command, str(probe)],
                capture_output=True,
                text=True,
                env=dict(environment),
                timeout=PROBE_TIMEOUT_S,
                check=False,
                errors="replace",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{command[0]}: cannot be run: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} cannot read mpi.h:\n{_last_lines(done.stderr)}")
    return done.stdout


def _last_lines(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-LINES_SHOWN:])


def find_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """cmake, and ninja or make; the compiler is cmake's to find."""
    found = {
        name: path
        for name in ("cmake", "ninja", "make")
        if (path := shutil.which(name, path=environment.get("PATH"))) is not None
    }
    if "cmake" not in found or not found.keys() & {"ninja", "make"}:
        missing = "cmake" if "cmake" not in found else "ninja (or make)"
        raise Failed(
            f"{missing} is not found in PATH; install both with: pip install cmake ninja "
            "(or the distribution's packages)"
        )
    return found


def build(
    mpicc: str,
    output: Path | None = None,
    *,
    jobs: int | None = None,
    environment: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Builds what serves the MPI library of `mpicc` and puts it into `output` (the user's folder).

    Returns the libraries. They serve every release of that library with the same soname.
    """
    env = dict(os.environ if environment is None else environment)
    headers = find_headers(mpicc, env)
    tools = find_tools(env)
    source = source_folder()
    target = output or user_folder(env)
    tell(f"{headers.kind} {headers.version} ({headers.folder}), sources in {source}")
    with tempfile.TemporaryDirectory(prefix="allemande-build-") as folder:
        work = Path(folder)
        prefix = work / "mpi"
        prefix.mkdir()
        (prefix / "include").symlink_to(headers.folder)
        nowhere = work / "no-such-mpi"
        prefixes = {"openmpi": nowhere, "mpich": nowhere, headers.kind: prefix}
        third_party = source / "third_party"
        configure = [
            tools["cmake"],
            *("-S", str(source), "-B", str(work / "build")),
            *("-G", "Ninja" if "ninja" in tools else "Unix Makefiles"),
            "-DCMAKE_BUILD_TYPE=Release",
            "-DCMAKE_CXX_FLAGS_RELEASE=-O3",  # assertions stay
            "-DCMAKE_UNITY_BUILD=ON",  # built once: several sources at a time take half as long
            "-DALM_PRELOAD_ONLY=ON",
            f"-DALM_OPENMPI_PREFIX={prefixes['openmpi']}",
            f"-DALM_MPICH_PREFIX={prefixes['mpich']}",
            *([f"-DALM_THIRD_PARTY={third_party}"] if third_party.is_dir() else []),
        ]
        parallel = ["--parallel", str(jobs or len(os.sched_getaffinity(0)))]
        _run(configure, env, "configuring")
        tell("compiling (a few minutes)")
        _run([tools["cmake"], "--build", str(work / "build"), *parallel], env, "compiling")
        return deliver(sorted((work / "build" / "lib").glob("liballemande-*.so")), target)


def _run(command: list[str], environment: Mapping[str, str], what: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=dict(environment),
            timeout=BUILD_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{what} took more than {BUILD_TIMEOUT_S} s: {' '.join(command)}") from error
    if done.returncode != 0:
        raise Failed(
            f"{what} failed: {' '.join(command)}\n{_last_lines(done.stdout)}\n"
            "A C++20 compiler is needed: g++ 11 or clang 14, or later; CXX names another."
        )


def deliver(libraries: list[Path], target: Path) -> list[Path]:
    """A program may run with the old file: the new one takes its name, not its place."""
    if not libraries:
        raise Failed("nothing was built")
    delivered = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for library in libraries:
            fresh = target / f".{library.name}.{os.getpid()}"
            shutil.copy2(library, fresh)
            os.replace(fresh, target / library.name)
            delivered.append(target / library.name)
    except OSError as error:
        raise Failed(f"cannot write to {target}: {error.strerror}; choose --output") from error
    return delivered
