"""The same lab for a user who is not root."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.conftest import SCALE

SOMEBODY = 65534
# Open MPI's launcher may wait for ever for processes that are no MPI programs and end at once.
LINGER = "sleep 1; "
ALLEMANDE = (sys.executable, "-m", "allemande", "lab")


@pytest.fixture
def somebody(cluster: Path, registry_base: Path) -> Iterator[Callable[..., str]]:
    """Runs `allemande lab …` as a user without rights: nobody when the tests run as root."""
    home = registry_base / "home"
    home.mkdir()
    prefix: list[str] = []
    if os.geteuid() == 0:
        os.chown(home, SOMEBODY, SOMEBODY)
        ids = (f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups")
        prefix = ["setpriv", *ids, "--bounding-set=-all", "--inh-caps=-all"]
        readable = subprocess.run([*prefix, "test", "-r", __file__], check=False, cwd="/")
        if readable.returncode != 0:
            pytest.skip(f"user {SOMEBODY} cannot read {Path(__file__).parents[2]}")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(home), "HOME": str(home)}

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [*prefix, *ALLEMANDE, *words],
            cwd=home,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    probe = ["unshare", "--user", "--map-root-user", "true"]
    if subprocess.run([*prefix, *probe], capture_output=True, check=False, cwd="/").returncode:
        pytest.skip("this machine does not let users make namespaces")
    yield run
    shutil.rmtree(home)


def test_a_user_without_rights_has_a_whole_lab(
    somebody: Callable[..., str], cluster: Path, nothing_left: Callable[[], None]
) -> None:
    somebody("up", str(cluster))
    assert somebody("exec", "h2", "--", "hostname") == "h2\n"
    assert somebody("exec", "h0", "--", "sh", "-c", "exit 9", code=9) == ""
    send = "import socket; socket.socket(2, 2).sendto(bytes(100), ('h3', 9))"
    somebody("exec", "h0", "--", sys.executable, "-c", send)
    control = (
        "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('h3', 9)); "
        "print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())"
    )
    assert somebody("exec", "h0", "--", sys.executable, "-c", control) == "cubic\n"
    assert "leaf1 -> h3" in somebody("stats")
    somebody("down")
    nothing_left()


def test_a_user_without_rights_has_links_with_a_latency(
    somebody: Callable[..., str], two_sites: Path, nothing_left: Callable[[], None]
) -> None:
    somebody("up", str(two_sites), "--scale", str(SCALE))
    refused = (
        "import socket, time; begin = time.monotonic(); "
        "error = socket.socket().connect_ex(('h3', 9)); print(error, time.monotonic() - begin)"
    )
    error, took = somebody("exec", "h0", "--", sys.executable, "-c", refused).split()
    assert int(error) == errno.ECONNREFUSED
    assert float(took) >= 2 * 0.005 / SCALE - 0.0002
    said = somebody("stats")
    assert " 0 lost by the machine" in said and "without real-time priority" in said
    somebody("down")
    nothing_left()


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_a_user_without_rights_runs_mpi(
    somebody: Callable[..., str], cluster: Path, library: str, nothing_left: Callable[[], None]
) -> None:
    text = somebody("run", str(cluster), "--mpi", library, "--", "sh", "-c", LINGER + "hostname")
    assert sorted(text.split()) == ["h0", "h1", "h2", "h3"]
    nothing_left()
