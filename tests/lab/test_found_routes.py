"""Routes that routers tell: asked for at bring-up, and followed by paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.networks import leaf_spine
from tests.lab.preloaded_program import build, run_preloaded

from allemande.lab import Lab
from allemande.lab.network import BRIDGES, ROUTERS

LEAF_SPINE = leaf_spine("two-routes", spines=2)
# Two pods of two leaves and two switches above them, which two cores each join.
THREE_LEVELS = """
format = 1
name = "three-levels"
[[switch]]
name = "leaf[0-3]"
[[switch]]
name = "middle[0-3]"
[[switch]]
name = "core[0-3]"
[[host]]
name = "h[0-3]"
"""
for number in range(4):
    pod = number // 2
    THREE_LEVELS += f"""
[[link]]
from = "h{number}"
to = "leaf{number}"
rate_mbit_s = 10
"""
    for middle in (0, 1):
        THREE_LEVELS += f"""
[[link]]
from = "leaf{number}"
to = "middle{2 * pod + middle}"
rate_mbit_s = 10
[[link]]
from = "middle{number}"
to = "core{2 * (number % 2) + middle}"
rate_mbit_s = 10
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


def test_without_an_option_or_a_file_there_are_as_many_paths_as_ways(
    registry_base: Path, tmp_path: Path
) -> None:
    path = registry_base / "two-routes.toml"
    path.write_text(LEAF_SPINE)
    with Lab.boot(path) as lab:
        before = lab.stats()
        said = run(lab, tmp_path, 100_000, cluster="off")
        sent = {
            port.peer: port.sent_packets
            for port in lab.stats().since(before).ports
            if port.node == "leaf0" and port.peer.startswith("spine")
        }
        assert "routes" not in run(lab, tmp_path, 1_000, cluster="off", paths="1")
    assert "2 routes between leaves, 2 paths" in said
    assert min(sent.values()) >= 4 * 100_000 / 1472 / 2 * 0.9


def test_where_routers_know_one_way_there_is_one_path(registry_base: Path, tmp_path: Path) -> None:
    path = registry_base / "one-route.toml"
    one = LEAF_SPINE.replace('"spine[0-1]"', '"spine0"').replace("two-routes", "one-route")
    path.write_text(one[: one.index('[[link]]\nfrom = "leaf[0-1]"\nto = "spine1"')])
    with Lab.boot(path, forwarding=ROUTERS) as lab:
        said = run(lab, tmp_path, 100_000, cluster="off")
        assert "which routes there are: 1 path" in said
        # A tree by the file: nobody is asked.
        assert "routes" not in run(lab, tmp_path, 1_000)


def test_ways_that_part_further_up_are_found(registry_base: Path, tmp_path: Path) -> None:
    path = registry_base / "three-levels.toml"
    path.write_text(THREE_LEVELS)
    with Lab.boot(path, forwarding=ROUTERS) as lab:
        said = run(lab, tmp_path, 100_000, cluster="off")
    assert "4 routes between leaves, 4 paths" in said  # two middle switches, two cores above each
