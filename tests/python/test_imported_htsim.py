"""htsim's .topo files as clusters, and what htsim would stop at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from allemande.errors import BadInput
from allemande.formats.htsim_topology import read_cluster
from allemande.topology import Cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"


def read(tmp_path: Path, text: str, options: str = "") -> tuple[Cluster, str]:
    path = tmp_path / "file.topo"
    path.write_text(text)
    cluster, notes = read_cluster(f"htsim:{path}{options}")
    return cluster, "\n".join(notes).replace(str(path), "file.topo")


def test_three_tiers_have_pods_bundles_and_delays_of_switches() -> None:
    cluster, notes = read_cluster(f"htsim:{FIXTURES / 'three-tiers.topo'}")
    assert notes == []
    assert [host.name for host in cluster.hosts] == [f"h{i}" for i in range(16)]
    cables = Counter((link.from_, link.to, link.latency_us) for link in cluster.links)
    assert cables == {
        **{(f"h{i}", f"tor{i // 4}", 0.65): 1 for i in range(16)},
        **{(f"tor{t}", f"agg{a}", 1.4): 1 for t in range(4) for a in range(4) if t // 2 == a // 2},
        **{(f"agg{a}", f"core{a % 2}", 2.25): 2 for a in range(4)},
    }
    assert {link.rate_up_mbit_s for link in cluster.links} == {100_000}
    # 150,000 bytes are 100 packets.
    down = {link.from_[0]: link.queue_down_packets for link in cluster.links}
    assert down == {"h": 100, "t": 1000, "a": 1000}


def test_two_tiers_are_leaves_and_spines(tmp_path: Path) -> None:
    cluster, notes = read_cluster(f"htsim:{FIXTURES / 'two-tiers.topo'},queue_packets=45")
    assert notes == []
    trunks = [(link.from_, link.to) for link in cluster.links[8:]]
    assert trunks == [(f"tor{t}", f"agg{a}") for t in range(2) for a in range(2)]
    rates = {link.from_[:3]: link.rate_up_mbit_s for link in cluster.links}
    assert (rates["h0"], rates["tor"]) == (25_000, 50_000)
    assert {link.queue_down_packets for link in cluster.links} == {45}
    text = (FIXTURES / "two-tiers.topo").read_text()
    _, told = read(tmp_path, text)
    assert "queues are given on htsim's command line: queue_packets=N says them" in told
    _, told = read(tmp_path, text.replace("oversubscribed 1", "oversubscribed 3\nColour red"))
    assert "Tier 0: Oversubscribed 3 does not fit 100 Gbit/s below and 100 above" in told
    assert "not known, passed over: line 10 (Colour)" in told


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 16", "", "file.topo:1: head has no nodes"),
        ("Nodes 16", "Nodes 17", "file.topo:4: 17 is no multiple of 8"),
        ("Nodes 16", "Nodes 16 17", "file.topo:2: 'Nodes 16 17' is not valid"),
        ("Nodes 16", "Nodes " + "9" * 4300, "file.topo:2: .* is not valid"),
        ("Nodes 16", "Nodes 9999999", "file.topo:2: .*at most 65536"),
        ("Nodes 16", "Nodes 16\nNodes 16", "file.topo:3: Nodes stands in line 2, too"),
        ("Tiers 3", "Tiers 4", "file.topo:3: 4 tiers .*expected 2 or 3"),
        ("Tiers 3", "Tiers 2", "file.topo:4: 2 pods in two tiers"),
        ("Tier 1", "Tier 2", "Tier 2 is not valid|is not described"),
        ("Tier 1", "Tier x", "file.topo:15: 'Tier x' is not valid"),
        ("Tier 2", "# Tier 2", "stands in line|is not described"),
        ("Radix_Down 4\nRadix_Up 2", "Radix_Down 3\nRadix_Up 2", "file.topo:8: 8 is no multiple"),
        ("Radix_Up 2\nQueue", "Radix_Up 0\nQueue", "file.topo:9: radix_up 0 is out of range"),
        ("Bundle 2", "Bundle 1", "file.topo:24: .*expected Radix_Down 2"),
        ("Downlink_Latency_ns 500", "", "file.topo:6: Tier 0 has no downlink_latency_ns"),
        ("Podsize 8", "Radix_Up 8", "file.topo:4: Radix_Up stands above the first Tier"),
    ],
)
def test_topologies_that_are_wrong_are_told_with_their_line(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = (FIXTURES / "three-tiers.topo").read_text()
    assert old in text
    with pytest.raises(BadInput, match=message):
        read(tmp_path, text.replace(old, new, 1))
