"""Real exchanges over several links of a host, and over paths of which one dies in flight."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from allemande.lab import Lab, mpi_launch
from allemande.preload import library_path

TWO_LINKS = """
format = 1
name = "two-links"
[[switch]]
name = "a"
[[switch]]
name = "b"
[[host]]
name = "h[0-3]"
links = 2
[[link]]
from = "h[0-3]"
to = "a"
rate_mbit_s = 10
queue_down_packets = 45
[[link]]
from = "h[0-3]"
to = "b"
rate_mbit_s = 10
queue_down_packets = 45
"""

LEAF_SPINE = """
format = 1
name = "three-spines"
[[switch]]
name = "leaf[0-1]"
[[switch]]
name = "spine[0-2]"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "leaf0"
rate_mbit_s = 10
queue_down_packets = 45
[[link]]
from = "h[2-3]"
to = "leaf1"
rate_mbit_s = 10
queue_down_packets = 45
"""
for spine in range(3):
    LEAF_SPINE += f"""
[[link]]
from = "leaf[0-1]"
to = "spine{spine}"
rate_mbit_s = 10
queue_up_packets = 45
queue_down_packets = 45
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Rank i sends to rank i + shift alone: arguments are bytes and shift."""
    made = tmp_path / "permutation"
    source = Path(__file__).with_name("permutation.c")
    compiler = mpi_launch.installation("openmpi").compiler()
    subprocess.run([compiler, "-O2", "-o", made, source], check=True)
    return made


def run(lab: Lab, program: Path, size: int, shift: int, **options: str) -> tuple[float, str]:
    """How long the call took, every byte checked, and what the library said."""
    done = lab.run(
        "openmpi",
        None,
        [str(program), str(size), str(shift)],
        preload=library_path(mpi_launch.installation("openmpi").kind),
        env={
            "ALLEMANDE_TRIALS": "off",
            **{f"ALLEMANDE_{name.upper()}": value for name, value in options.items()},
        },
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=lab.timers.patience_s(120),
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert words[4:] == ["wrong", "0"]
    return float(words[3]) - float(words[1]), done.stderr


def test_paths_go_round_the_links_of_a_host(registry_base: Path, program: Path) -> None:
    path = registry_base / "two-links.toml"
    path.write_text(TWO_LINKS)
    size = 400_000
    packets = 4 * size / 1472
    with Lab.boot(path) as lab:
        for paths, share in (("1", (1.0, 0.0)), ("2", (0.5, 0.5))):
            before = lab.stats()
            run(lab, program, size, 1, paths=paths, path_policy="rotate")
            after = lab.stats().since(before)
            for switch, part in zip(("a", "b"), share, strict=True):
                sent = sum(port.sent_bytes for port in after.ports if port.node == switch) / 1514
                # MPI's own messages and acknowledgements as well.
                assert packets * part <= sent + 1 <= packets * part + 0.25 * packets


def test_a_path_that_dies_in_flight_is_left(registry_base: Path, program: Path) -> None:
    path = registry_base / "three-spines.toml"
    path.write_text(LEAF_SPINE)
    size = 2_500_000
    took: list[float] = []
    with Lab.boot(path) as lab:
        before = lab.stats()
        options = {"paths": "3", "path_policy": "least-loaded"}
        call = threading.Thread(
            target=lambda: took.append(run(lab, program, size, 2, **options)[0])
        )
        call.start()
        deadline = time.monotonic() + lab.timers.patience_s(60)
        while True:
            ports = lab.stats().since(before).ports
            if any(
                port.node == "leaf1" and port.peer == "h2" and port.sent_packets > 200
                for port in ports
            ):
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)
        lab.degrade("leaf0", "spine1", down=True)
        call.join()
    # Two spines carry all that two hosts send. A rank that waited for what is lost for good took
    # thirty times as long.
    assert took and took[0] < 4 * size * 8 / 10e6
