"""Routes that routers tell: asked for at bring-up, and followed by paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.preloaded_program import build, run_preloaded

from allemande.lab import Lab
from allemande.lab.network import BRIDGES, ROUTERS

LEAF_SPINE = """
format = 1
name = "two-routes"
[[switch]]
name = "leaf[0-1]"
[[switch]]
name = "spine[0-1]"
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "leaf0"
rate_mbit_s = 10
[[link]]
from = "h[2-3]"
to = "leaf1"
rate_mbit_s = 10
[[link]]
from = "leaf[0-1]"
to = "spine0"
rate_mbit_s = 10
queue_up_packets = 45
queue_down_packets = 45
[[link]]
from = "leaf[0-1]"
to = "spine1"
rate_mbit_s = 10
queue_up_packets = 45
queue_down_packets = 45
"""


def run(lab: Lab, folder: Path, bytes_per_pair: int, **options: str) -> str:
    """What rank 0 and the library have said of one exchange, every byte checked."""
    program = build(folder, "alltoall")
    options = {"log": "info", "algorithm": "sync-shuffle", **options}
    done = run_preloaded(lab, [str(program), str(bytes_per_pair)], **options)
    assert "wrong 0" in done.stdout
    return done.stderr


@pytest.mark.parametrize("forwarding", [ROUTERS, BRIDGES])
def test_routes_are_those_that_routers_tell(
    registry_base: Path, tmp_path: Path, forwarding: str
) -> None:
    path = registry_base / "two-routes.toml"
    path.write_text(LEAF_SPINE)
    with Lab.boot(path, forwarding=forwarding) as lab:
        before = lab.stats()
        said = run(lab, tmp_path, 100_000, paths="2", path_policy="assigned")
        sent = {
            port.peer: port.sent_packets
            for port in lab.stats().since(before).ports
            if port.node == "leaf0" and port.peer.startswith("spine")
        }
    if forwarding == BRIDGES:
        assert "no router has told which routes there are" in said
        return
    assert "2 routes between leaves" in said
    # Each spine carries half of what the hosts of a leaf send in each step.
    assert min(sent.values()) >= 4 * 100_000 / 1472 / 2 * 0.9
