"""Labs for tests: in a registry of their own, and with a look at what they leave behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from allemande.errors import Failed
from allemande.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
LEFT_AFTER_S = 20

# Two leaves, a core, unequal rates: small enough to boot often.
CLUSTER = """
format = 1
name = "small"
[[switch]]
name = "leaf[0-1]"
[[switch]]
name = "core"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "leaf0"
rate_mbit_s = 10
queue_down_packets = 43
[[link]]
from = "h[2-3]"
to = "leaf1"
rate_mbit_s = 5
queue_down_packets = 43
[[link]]
from = "leaf[0-1]"
to = "core"
rate_mbit_s = 100
queue_up_packets = 45
queue_down_packets = 820
"""

# Two sites with a long link between them; QUEUE packets wait before it. SCALE is for labs of it.
SCALE = 0.25
QUEUE = 50
TWO_SITES = f"""
format = 1
name = "two-sites"
[[switch]]
name = "rennes"
site = "rennes"
[[switch]]
name = "nancy"
site = "nancy"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "rennes"
rate_mbit_s = 100
latency_us = 1
queue_down_packets = 800
[[link]]
from = "h[2-3]"
to = "nancy"
rate_mbit_s = 100
latency_us = 1
queue_down_packets = 800
[[link]]
from = "rennes"
to = "nancy"
rate_mbit_s = 67
latency_us = 5000
queue_up_packets = {QUEUE}
queue_down_packets = {QUEUE}
"""


@pytest.fixture(autouse=True)
def registry_base() -> Iterator[Path]:
    """Every test has its own registry; its path, in the environment, marks its processes."""
    # Not pytest's own: users other than root must get through to it.
    base = Path(tempfile.mkdtemp(prefix="allemande-lab-test-"))
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(base)
    yield base
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def namespaces() -> None:
    """Skips, with the reason, where the machine does not allow labs at all."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        cluster = Path(folder, "cluster.toml")
        cluster.write_text(CLUSTER)
        try:
            Lab.boot(cluster).close()
        except Failed as error:
            if "namespaces" not in str(error):
                raise
            pytest.skip(str(error))
        finally:
            del os.environ["XDG_RUNTIME_DIR"]


@pytest.fixture
def cluster(registry_base: Path) -> Path:
    registry_base.chmod(0o755)
    path = registry_base / "small.toml"
    path.write_text(CLUSTER)
    return path


@pytest.fixture
def two_sites(registry_base: Path) -> Path:
    registry_base.chmod(0o755)
    path = registry_base / "two-sites.toml"
    path.write_text(TWO_SITES)
    return path


@pytest.fixture
def lab(cluster: Path) -> Iterator[Lab]:
    with Lab.boot(cluster) as booted:
        yield booted


@pytest.fixture
def marked_processes(registry_base: Path) -> Callable[[], list[int]]:
    """Processes that were started for this test, without this one: all that a lab starts."""
    mark = str(registry_base).encode()

    def find() -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment:
                found.append(int(folder.name))
        return found

    return find


@pytest.fixture
def nothing_left(
    registry_base: Path, marked_processes: Callable[[], list[int]]
) -> Callable[[], None]:
    """Asserts that no process, mount or file of the test's labs is left.

    A namespace that no process lives in and no mount or open file refers to is gone, and links go
    with their namespace. Identities of namespaces tell nothing: the kernel gives them out again.
    """

    def check() -> None:
        deadline = time.monotonic() + LEFT_AFTER_S
        while (left := marked_processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left == []
        assert str(registry_base) not in Path("/proc/self/mountinfo").read_text()
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the listing's own
                assert not os.readlink(descriptor).startswith(("net:", "uts:", "pid:", "mnt:"))
        # What nobody could remove goes with the next look at the registry.
        subprocess.run(
            [sys.executable, "-m", "allemande", "lab", "ls"], check=True, capture_output=True
        )
        assert not (registry_base / "allemande").exists()

    return check


@pytest.fixture
def namespaces_of(
    marked_processes: Callable[[], list[int]],
) -> Callable[[], set[str]]:
    """The namespaces that this test's processes live in and this process does not."""

    def find() -> set[str]:
        found = set()
        for pid in marked_processes():
            for kind in ("net", "pid", "uts"):
                try:
                    name = os.readlink(f"/proc/{pid}/ns/{kind}")
                except OSError:
                    continue
                if name != os.readlink(f"/proc/self/ns/{kind}"):
                    found.add(name)
        return found

    return find
