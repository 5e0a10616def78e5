"""Networks with several paths: generated names, prices, bisections, limits by flow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import BadInput
from allemande.flow_limit import alltoall_limits, flow_limit
from allemande.partition import bisection
from allemande.simulation.case import simulate
from allemande.simulation.networks import as_cluster_file, find_cluster
from allemande.topology import Cluster, load_cluster, parse_cluster

PACKET_BITS = 1514 * 8


def test_generated_names_are_taken_by_every_command(tmp_path: object) -> None:
    for name in ("leaf-spine:4x4x4", "torus:3x3", "dragonfly:1x2x1", "myrinet:18", "ib-144"):
        with as_cluster_file(name) as path:
            assert load_cluster(path).to_toml() == find_cluster(name).to_toml()
    with pytest.raises(BadInput, match="myrinet: and a bisection of 1, 2, 4, 5, 6 or 9"):
        find_cluster("myrinet:3")
    with pytest.raises(BadInput, match=r"expected a cluster file, fat-tree:HOSTS, .*myrinet:"):
        find_cluster("mirinet:3")


# 001 section 6 prints 22,200 at a bisection of 1, 360 more at 4, and 3,440 more at 9. The others
# are by the list of Table 1, for the wiring of ours that has the bisections of Figure 10.
@pytest.mark.parametrize(
    ("links", "dollars"),
    [(1, 22200), (2, 22320), (4, 22200 + 360), (5, 24920), (6, 25280), (9, 22200 + 3440)],
)
def test_myrinets_have_the_prices_of_the_list_and_the_published_bisections(
    links: int, dollars: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["topology", f"myrinet:{links}", "--price", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["price"]["total"] == dollars
    assert told["bisection"] == {"links": links, "mbit_s": links * 1280.0, "exact": True}


def test_a_price_needs_a_price_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topology", "tam-8x4", "--price"]) == 2
    assert "expected a [price] table" in capsys.readouterr().err
    assert main(["topology", "myrinet:9", "--price"]) == 0
    assert "25,640 dollars" in capsys.readouterr().out


# Halves of whole leaves cut half of every spine's links; a torus of 4x4x4 is cut twice across.
def test_metis_finds_known_bisections() -> None:
    for name, links in (("ib-144", 72), ("torus:4x4x4", 32), ("fat-tree:128", 64)):
        halves = bisection(find_cluster(name))
        assert (halves.links, halves.exact) == (links, False)
    halves = bisection(find_cluster("ib-144"))
    assert halves.mbit_s == 72 * 16000.0
    assert bisection(find_cluster("myrinet:5")).exact
    # 21 switches with one host each have no two halves of whole switches, but of 10 and 11 hosts.
    assert bisection(find_cluster("torus:21")).links == 2
    with pytest.raises(BadInput, match="out of reach"):
        bisection(find_cluster("torus:19,hosts=3"))


# Two rails that only hosts join: cutting a half of the hosts off costs both links of each.
def test_links_of_hosts_count_where_hosts_have_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rails = tmp_path / "rails.toml"
    rails.write_text(
        """format = 1
name = "rails"
switch = [{ name = "a,b" }]
host = [{ name = "h[0-7]", links = 2 }]
link = [{ from = "h[0-7]", to = "a", rate_mbit_s = 1000 },
        { from = "h[0-7]", to = "b", rate_mbit_s = 1000 }]"""
    )
    assert main(["topology", str(rails), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bisection"] == {"links": 8, "mbit_s": 8000.0, "exact": False}


def square(rates: str) -> Cluster:
    """Four switches in a ring, a host on each with a fast link."""
    return parse_cluster(
        f"""format = 1
name = "square"
switch = [{{ name = "s[0-3]" }}]
host = [{{ name = "h[0-3]" }}]
link = [{{ from = "h[0-3]", to = "s[0-3]", rate_mbit_s = 10000 }},
        {{ from = "s[0-2]", to = "s[1-3]", rate_mbit_s = 100 }},
        {{ from = "s3", to = "s0", {rates} }}]""",
        "square",
    )


# Host 0 to host 2 alone: both ways around are full, 200 Mbit/s together. With the last link at
# 50 Mbit/s there are 150; a one-way link that leads from 3 to 0 is of no use, from 0 to 3 it is.
def test_flow_takes_all_paths() -> None:
    to_2 = [[0] * 4 for _ in range(4)]
    to_2[0][2] = 1472
    ring = square("rate_mbit_s = 100")
    assert flow_limit(ring, None, to_2).seconds == pytest.approx(PACKET_BITS / 200e6)
    slow = flow_limit(square("rate_mbit_s = 50"), None, to_2)
    assert slow.method == "flow"
    assert slow.seconds == pytest.approx(PACKET_BITS / 150e6)
    assert slow.seconds > square("rate_mbit_s = 50").traffic_limit_seconds(None, to_2) * 0.999
    one_way = flow_limit(
        square("rate_mbit_s = 100\none_way = true".replace("\n", ", ")), None, to_2
    )
    assert one_way.seconds == pytest.approx(PACKET_BITS / 100e6)
    capped = square("rate_mbit_s = 100, bidirectional_cap_mbit_s = 60")
    both = [row[:] for row in to_2]
    both[2][0] = 1472
    assert flow_limit(capped, None, both).seconds == pytest.approx(2 * PACKET_BITS / 260e6)


# 1 to 0 and 3 to 2 of a ring of four have three trunks more to go around: cuts alone see 200
# Mbit/s at each switch, yet both together use 1 + 3 of 4 trunks each way round.
def test_flow_is_found_where_no_single_cut_tells() -> None:
    pairs = [[0] * 4 for _ in range(4)]
    for i in range(4):
        pairs[i][(i + 2) % 4] = 1472
    found = flow_limit(square("rate_mbit_s = 100"), None, pairs)
    # Every message crosses two trunks; there are eight directed ones.
    assert found.seconds == pytest.approx(4 * 2 * PACKET_BITS / 8 / 100e6)


def test_trees_and_networks_that_split_evenly_need_no_programme() -> None:
    for name in ("tam-8x4", "fat-tree:128", "leaf-spine:4x4x4", "ib-144"):
        cluster = find_cluster(name)
        limit = flow_limit(cluster, None, 10_000)
        assert (limit.method, limit.seconds) == ("cuts", cluster.limit_seconds(None, 10_000))


def test_limits_of_several_sizes_are_those_of_each() -> None:
    for name in ("shuffle-exchange:8", "torus:6,hosts=2", "tam-8x4"):
        cluster = find_cluster(name)
        for size, limit in zip(
            (1000, 70_000), alltoall_limits(cluster, (1000, 70_000)), strict=True
        ):
            assert limit.seconds == pytest.approx(flow_limit(cluster, None, size).seconds)


def test_simulations_are_held_to_the_flow() -> None:
    cluster = find_cluster("shuffle-exchange:8")
    result = simulate(cluster, size=20_000)
    assert result.limit_s == pytest.approx(flow_limit(cluster, None, 20_000).seconds)
    assert result.limit_s > cluster.limit_seconds(None, 20_000) * 1.1
    assert 0.5 < result.fraction_of_limit <= 1


def test_json_shows_every_port_that_was_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "leaf-spine:4x4x4", "--size", "4KB", "--json", "-"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    ports = result["ports"]
    assert len(ports) == 2 * (16 + 16)
