"""Debian's simulator of InfiniBand fabrics, and its tools on what it simulates."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

UMAD = Path("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")
TOOL_S = 20


@contextmanager
def simulated(folder: Path, fabric: Path, *tools: str) -> Iterator[None]:
    """Processes in the folder see the fabric. Skips where Debian's packages are not there."""
    if not UMAD.exists() or not all(
        shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("ibsim", *tools)
    ):
        pytest.skip("needs Debian's ibsim-utils, opensm and infiniband-diags")
    with (folder / "ibsim.log").open("w") as log:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", str(fabric)], stdout=log, stderr=log, cwd=folder
        )
        try:
            time.sleep(0.5)
            if simulator.poll() is not None:
                pytest.skip("another ibsim holds the machine's sockets")
            yield
        finally:
            simulator.kill()
            simulator.wait()


def tool(folder: Path, *words: str) -> str:
    """One of Debian's tools, on the simulated fabric."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/bin",
        "LD_PRELOAD": str(UMAD),
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    done = subprocess.run(
        ["timeout", "--kill-after=1", str(TOOL_S), *words],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
