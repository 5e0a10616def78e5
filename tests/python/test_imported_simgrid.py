"""SimGrid's platforms: clusters, routes and what is shared, as hosts, switches and links."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from allemande.errors import BadInput
from allemande.formats.simgrid import read_cluster
from allemande.topology import Cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"
FLAT = '<cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1Gbps" lat="10us"'


def read(tmp_path: Path, text: str, options: str = "") -> tuple[Cluster, str]:
    path = tmp_path / "p.xml"
    path.write_text(text)
    cluster, notes = read_cluster(f"simgrid:{path}{options}")
    return cluster, "\n".join(notes).replace(str(path), "p.xml")


def platform(inside: str, routing: str = "Full") -> str:
    zone = f'<zone id="z" routing="{routing}">{inside}</zone>'
    return f'<platform version="4.1">\n{zone}\n</platform>'


def links(cluster: Cluster) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Rate, what both directions carry together, latency."""
    return {
        (one.from_, one.to): (
            one.rate_up_mbit_s,
            one.bidirectional_cap_mbit_s,
            round(one.latency_us, 6),
        )
        for one in cluster.links
    }


def backplanes(cluster: Cluster) -> dict[str, float]:
    return {one.name: one.backplane_mbit_s for one in cluster.switches}


# ---- clusters ------------------------------------------------------------------------------------


def test_a_platform_of_clusters_and_a_medium_between_them() -> None:
    cluster, notes = read_cluster(f"simgrid:{FIXTURES / 'platform.xml'}")
    assert notes == []
    assert backplanes(cluster) == {
        "ncab1_router.a": 10_000,
        "two": 0,
        "store": 0,
        "link-middle": 10_000,
    }
    # Half of the backbone's 4 us and of the medium's 8 us is each port's.
    assert links(cluster) == {
        **{(f"n{i}.a", "ncab1_router.a"): (1000, 0, 22) for i in (0, 1, 2, 7)},
        **{(f"n{i}.b", "two"): (1000, 1000, 20) for i in (0, 1)},
        ("s1", "store"): (20_000, 0, 5),
        ("ncab1_router.a", "link-middle"): (10_000, 0, 6),
        ("two", "link-middle"): (10_000, 0, 4),
        ("store", "link-middle"): (10_000, 0, 4),
    }


def test_a_fat_tree_has_levels_and_parallel_links(tmp_path: Path) -> None:
    """SimGrid's example: four leaves of four nodes, two cables to each of two cores."""
    tree = 'topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"'
    cluster, _ = read(tmp_path, platform(FLAT.replace("0-3", "0-15") + f" {tree}/>"))
    cables = [(link.from_, link.to) for link in cluster.links]
    assert cables[:16] == [(f"n{i}", f"c-1-{i // 4}") for i in range(16)]
    assert sorted(cables[16:]) == sorted(
        2 * [(f"c-1-{leaf}", f"c-2-{core}") for leaf in range(4) for core in range(2)]
    )
    three = tree.replace("2;4,4;1,2;1,2", "3;2,2,2;1,2,2;1,1,1")
    cluster, _ = read(tmp_path, platform(FLAT.replace("0-3", "0-7") + f" {three}/>"))
    assert len(cluster.switches) == 4 + 4 + 4
    assert len(cluster.links) == 8 + 8 + 8
    assert cluster.schedule_hierarchy()[0][-1] == 3


def test_hosts_of_a_star_have_links_of_their_own(tmp_path: Path) -> None:
    star = (
        '<router id="mid"/><host id="a" speed="1f"/>'
        '<link id="au" bandwidth="1Gbps" latency="10us"/>'
        '<link id="ad" bandwidth="2Gbps" latency="20us"/><host_link id="a" up="au" down="ad"/>'
        '<host id="b" speed="1f"/><link id="b" bandwidth="3Gbps" latency="1us"/>'
        '<host_link id="b" up="b" down="b"/><backbone id="bb" bandwidth="4Gbps" latency="6us"/>'
        '<cabinet id="k" prefix="k" suffix="" radical="1-2" speed="1f" bw="1Gbps" lat="1us"/>'
    )
    cluster, _ = read(tmp_path, platform(star, "Cluster"))
    assert backplanes(cluster) == {"mid": 4000}
    assert links(cluster) == {
        ("a", "mid"): (1000, 0, 18),
        ("b", "mid"): (3000, 3000, 4),
        ("k1", "mid"): (1000, 0, 4),
        ("k2", "mid"): (1000, 0, 4),
    }
    assert cluster.links[0].rate_down_mbit_s == 2000


@pytest.mark.parametrize(
    ("bandwidth", "mbit_s"),
    [
        ("125MBps", 1000),
        ("1Gbps", 1000),
        ("1.25e2MBps", 1000),
        ("1.25E8Bps", 1000),
        ("1.25E+08", 1000),
        ("125000000", 1000),
        ("1MiBps", 8.388608),
        ("100kBps", 0.8),
    ],
)
def test_bandwidths_have_units(bandwidth: str, mbit_s: float, tmp_path: Path) -> None:
    cluster, _ = read(tmp_path, platform(FLAT.replace("1Gbps", bandwidth) + "/>"))
    assert cluster.links[0].rate_up_mbit_s == pytest.approx(mbit_s)


# ---- routes --------------------------------------------------------------------------------------


def test_links_are_where_the_routes_say() -> None:
    cluster, notes = read_cluster(f"simgrid:{FIXTURES / 'routes.xml'}")
    assert links(cluster) == {
        ("west1", "core"): (1000, 0, 10),
        ("west2", "core"): (1000, 0, 10),
        ("core", "joint-1"): (500, 500, 1000),
        ("east1", "joint-1"): (100, 100, 30),
        ("east2", "joint-1"): (100, 100, 30),
    }
    assert notes == ["links on no route are left out: self"]


HOSTS = "".join(f'<host id="{name}" speed="1f"/>' for name in "abc")


def link(name: str, policy: str = "SHARED") -> str:
    return f'<link id="{name}" bandwidth="1Gbps" latency="10us" sharing_policy="{policy}"/>'


def route(begin: str, end: str, *names: str, symmetrical: str = "YES") -> str:
    inside = "".join(f'<link_ctn id="{name}"/>' for name in names)
    return f'<route src="{begin}" dst="{end}" symmetrical="{symmetrical}">{inside}</route>'


def test_one_link_between_all_is_a_medium(tmp_path: Path) -> None:
    inside = HOSTS + link("lan") + "".join(route(a, b, "lan") for a, b in ("ab", "ac", "bc"))
    cluster, _ = read(tmp_path, platform(inside))
    assert backplanes(cluster) == {"link-lan": 1000}
    assert links(cluster) == {(name, "link-lan"): (1000, 0, 5) for name in "abc"}


def test_a_link_between_two_hosts_is_a_switch_between_them(tmp_path: Path) -> None:
    inside = HOSTS.replace('<host id="c" speed="1f"/>', "") + link("l") + route("a", "b", "l")
    cluster, _ = read(tmp_path, platform(inside))
    assert links(cluster) == {("a", "link-l"): (1000, 0, 5), ("b", "link-l"): (1000, 0, 5)}


def test_a_host_that_passes_on_gets_a_switch_beside_it(tmp_path: Path) -> None:
    inside = HOSTS + link("x") + link("y", "SPLITDUPLEX")
    inside += route("a", "b", "x") + route("b", "c", "y") + route("a", "c", "x", "y")
    cluster, _ = read(tmp_path, platform(inside))
    assert links(cluster) == {
        ("b", "beside-b"): (2000, 0, 0),
        ("a", "beside-b"): (1000, 1000, 10),
        ("c", "beside-b"): (1000, 0, 10),
    }


def test_links_of_one_direction_are_put_together(tmp_path: Path) -> None:
    inside = HOSTS + '<router id="r"/>' + "".join(link(name) for name in ("up", "down", "b", "c"))
    inside += route("a", "r", "up", symmetrical="NO") + route("b", "r", "b") + route("c", "r", "c")
    with pytest.raises(BadInput, match=r"p\.xml:2: link 'up' carries only .* from 'a' to 'r'"):
        read(tmp_path, platform(inside))
    cluster, _ = read(tmp_path, platform(inside + route("r", "a", "down", symmetrical="NO")))
    assert links(cluster)["a", "r"] == (1000, 0, 10)


def test_fatpipes_are_as_wide_as_all_hosts(tmp_path: Path) -> None:
    inside = HOSTS + link("bb", "FATPIPE") + "".join(link(f"l{name}") for name in "abc")
    inside += "".join(route(a, b, f"l{a}", "bb", f"l{b}") for a, b in ("ab", "ac", "bc"))
    cluster, notes = read(tmp_path, platform(inside))
    assert backplanes(cluster) == {"link-bb": 0}
    assert "FATPIPE links limit each flow alone" in notes


def test_hosts_without_links_are_left_out(tmp_path: Path) -> None:
    text = platform(FLAT + "/>" + '<host id="lonely" speed="1f"/>')
    cluster, notes = read(tmp_path, text)
    assert len(cluster.hosts) == 4
    assert notes == "hosts without a link are left out: lonely"


def test_names_that_a_cluster_file_cannot_have_are_changed_and_noted(tmp_path: Path) -> None:
    """Examples of SimGrid call hosts so, and routers of clusters get long names."""
    hosts = "".join(f'<host id="{name}" speed="1Gf"/>' for name in ("Cpu A", "Cpu-A", "Cpu/A"))
    long = f'<cluster id="{"c" * 60}" prefix="n" suffix=".site" radical="0-1" bw="1Gbps" lat="0"/>'
    routes = route("Cpu A", "Cpu-A", "x", "y") + route("Cpu/A", "Cpu-A", "w", "y")
    up = route("Cpu A", f"n{'c' * 60}_router.site", "x", "z")
    cables = "".join(link(name) for name in "wxyz")
    cluster, notes = read(tmp_path, platform(hosts + long + cables + routes + up))
    assert {one.name for one in cluster.hosts} == {"Cpu-A-2", "Cpu-A", "Cpu-A-3"} | {
        f"n{number}.site" for number in (0, 1)
    }
    assert "Cpu A is Cpu-A-2, Cpu/A is Cpu-A-3" in notes
    assert f"n{'c' * 49}" in backplanes(cluster)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (platform(FLAT.replace('bw="1Gbps"', "") + "/>"), "p.xml:2: <cluster> has no bw"),
        (platform(FLAT.replace("1Gbps", "fast") + "/>"), "p.xml:2: .*bw='fast' is not valid"),
        (platform(FLAT.replace("1Gbps", "1parsec") + "/>"), "p.xml:2: .*has the unit 'parsec'"),
        (platform(FLAT.replace("10us", "1fortnight") + "/>"), "p.xml:2: .*unit 'fortnight'"),
        (platform(FLAT.replace("1Gbps", "9" * 4300) + "/>"), "p.xml:2: .*is not valid"),
        (platform(FLAT.replace("0-3", "0-999999999") + "/>"), "p.xml:2: .*more than 65536 hosts"),
        (platform(FLAT.replace("0-3", "5-2") + "/>"), "p.xml:2: .*radical='5-2' is not valid"),
        (platform(FLAT.replace('"n"', '"' + "n" * 9999 + '"') + "/>"), "names of at most 255"),
        (platform(FLAT + "/>" + FLAT.replace('"c"', '"d"') + "/>"), "'n0' stands twice"),
        (platform(FLAT + ' topology="TORUS" topo_parameters="2,2"/>'), "name a generated network"),
        (
            platform(FLAT + ' topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"/>'),
            "4 hosts by `radical`, and 16",
        ),
        (
            platform(FLAT + ' topology="FAT_TREE" topo_parameters="1;99999;99999;99999"/>'),
            "p.xml:2: .*expected at most",
        ),
        (platform(HOSTS + route("a", "b", "x")), "names the link 'x', which is not described"),
        (platform(HOSTS + link("x") + route("a", "q", "x")), "leads to 'q', which is neither"),
        (platform(HOSTS), "p.xml:2: a, b, c have no link; expected .* <route> that names them"),
        (platform('<include file="x"/>'), "put what is in it into the platform"),
        ("<platform><a>&x;</a></platform>", "p.xml:1: not valid XML: undefined entity"),
        (
            "<?xml version='1.0'\n?><!DOCTYPE p SYSTEM 'simgrid.dtd'>\n<platform a='&x;'/>",
            "p.xml:3: not valid XML: undefined entity",
        ),
        ('<!DOCTYPE p [<!ENTITY x "y">]><platform/>', "p.xml:1: declares the entity 'x'"),
        ('<!DOCTYPE p [<!ENTITY % x SYSTEM "/etc/passwd">%x;]><platform/>', "declares the entity"),
        ("<platform>" * 100, "p.xml:1: elements more than 64 deep"),
        ("<platform>" + "<a/>" * 300_000 + "</platform>", "more than 100000 elements"),
        ("\n\n<platform>", "p.xml:3: not valid XML: no element found"),
        ("<robots/>", "p.xml:1: <robots> begins"),
        (
            '<platform><actor host="a" function="f"/></platform>',
            "p.xml: no host is in it; expected the platform: this is the deployment",
        ),
    ],
)
def test_platforms_that_are_wrong_are_told_with_their_line(
    text: str, message: str, tmp_path: Path
) -> None:
    begin = time.process_time()
    with pytest.raises(BadInput, match=message):
        read(tmp_path, text)
    assert time.process_time() - begin < 1
