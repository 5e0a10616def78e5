"""Real exchanges over several links of a host, and over paths of which one dies in flight."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tests.lab.networks import leaf_spine, links
from tests.lab.preloaded_program import build, run_preloaded

from allemande.lab import Lab

TWO_LINKS = (
    'format = 1\nname = "two-links"\n[[switch]]\nname = "a"\n[[switch]]\nname = "b"\n'
    '[[host]]\nname = "h[0-3]"\nlinks = 2\n'
    + links("h[0-3]", "a", rate_mbit_s=10, queue_down_packets=45)
    + links("h[0-3]", "b", rate_mbit_s=10, queue_down_packets=45)
)
LEAF_SPINE = leaf_spine("three-spines", spines=3, queue_down_packets=45)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Rank i sends to rank i + shift alone: arguments are bytes and shift."""
    return build(tmp_path, "permutation")


def run(lab: Lab, program: Path, size: int, shift: int, **options: str) -> float:
    """How long the call took, every byte checked."""
    words = [str(program), str(size), str(shift)]
    said = run_preloaded(lab, words, trials="off", **options).stdout.split()
    assert said[4:] == ["wrong", "0"]
    return float(said[3]) - float(said[1])


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
        call = threading.Thread(target=lambda: took.append(run(lab, program, size, 2, **options)))
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
        # Two spines carry all that two hosts send. A rank that waited for what is lost for good
        # took thirty times as long. MPI's own connections know one path, and go on when the link
        # is withdrawn.
        longest_s = 4 * size * 8 / 10e6
        lab.degrade("leaf0", "spine1", down=True, withdraw_ms=1000 * longest_s)
        call.join()
    assert took and took[0] < longest_s
