"""Clusters out of what Slurm and ibnetdiscover say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ibsim import simulated, tool

from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats import ibnetdiscover
from allemande.simulation.networks import as_cluster_file, find_cluster
from allemande.topology import Cluster, load_cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"
RATES = ",rate_mbit_s=1000/4000"


def links(cluster: Cluster) -> dict[tuple[str, str], float]:
    return {(link.from_, link.to): link.rate_up_mbit_s for link in cluster.links}


def names(cluster: Cluster) -> list[str]:
    return [host.name for host in cluster.hosts]


# ---- Slurm ---------------------------------------------------------------------------------------


def test_topology_conf_any_case_comments_and_several_parents() -> None:
    cluster = find_cluster(f"slurm:{FIXTURES / 'topology.conf'}{RATES}")
    assert names(cluster) == [f"tux{i}" for i in range(8)]
    assert links(cluster) == {
        **{(f"tux{i}", f"s{i // 4}"): 1000.0 for i in range(8)},
        **{(f"s{leaf}", f"s{top}"): 4000.0 for leaf in (0, 1) for top in (2, 3)},
    }


def test_scontrol_repeats_nodes_above_level_0() -> None:
    cluster = find_cluster(f"slurm:{FIXTURES / 'scontrol-show-topology.txt'}{RATES}")
    assert links(cluster) == {
        **{(f"tux{i}", f"s{i // 4}"): 1000.0 for i in range(8)},
        ("s0", "s2"): 4000.0,
        ("s1", "s2"): 4000.0,
    }
    assert cluster.schedule_hierarchy() == [[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8]


def test_topology_yaml_has_trees_and_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    path = FIXTURES / "slurm-topologies.yaml"
    tree = find_cluster(f"slurm:{path}{RATES}")
    assert links(tree) == {
        **{(f"node0{i}", f"s{(i + 1) // 2}"): 1000.0 for i in (1, 2, 3, 4)},
        ("s1", "sw_root"): 4000.0,
        ("s2", "sw_root"): 4000.0,
    }
    assert capsys.readouterr().err == ""
    blocks = find_cluster(f"slurm:{path}{RATES},topology=topo2")
    assert links(blocks)["b1", "above-blocks"] == 4000.0
    assert "taken to be one switch, above-blocks" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["flat: true", "ring: {regions: []}", "torus3d: {sizes: [2, 2]}"])
def test_topologies_without_switches_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(f"- topology: here\n  {kind}\n")
    with pytest.raises(BadInput, match="says nothing of switches; expected tree or block"):
        find_cluster(f"slurm:{path}{RATES}")


def test_which_topology_is_asked_where_none_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    one = "- topology: {}\n  tree:\n    switches:\n      - {{switch: s, nodes: 'n[0-1]'}}\n"
    path.write_text(one.format("a") + one.format("b"))
    with pytest.raises(BadInput, match=r"none of a, b is the default; say which: .*topology=a"):
        find_cluster(f"slurm:{path}{RATES}")
    assert names(find_cluster(f"slurm:{path}{RATES},topology=b")) == ["n0", "n1"]
    with pytest.raises(BadInput, match="no topology 'c'; expected one of a, b"):
        find_cluster(f"slurm:{path}{RATES},topology=c")


def test_topology_yaml_outranks_topology_conf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topology.conf").write_text("SwitchName=s Nodes=old[0-1]\n")
    assert names(find_cluster(f"slurm:{tmp_path}{RATES}")) == ["old0", "old1"]
    shutil.copy(FIXTURES / "slurm-topologies.yaml", tmp_path / "topology.yaml")
    assert names(find_cluster(f"slurm:{tmp_path}{RATES}"))[0] == "node01"
    assert capsys.readouterr().err == ""
    assert names(find_cluster(f"slurm:{tmp_path / 'topology.conf'}{RATES}"))[0] == "node01"
    assert "Slurm reads that one, and so does this" in capsys.readouterr().err


def test_blocks_of_conf_and_of_scontrol(tmp_path: Path) -> None:
    path = tmp_path / "blocks.txt"
    conf = "BlockName=b0 Nodes=n[0-1]\nBlockName=b1 Nodes=n[2-3]\nBlockSizes=2,4\n"
    shown = (
        "BlockName=b0 BlockIndex=0 Nodes=n[0-1] BlockSize=2\n"
        "BlockName=b1 BlockIndex=1 Nodes=n[2-3] BlockSize=2\n"
        "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[0-3] BlockSize=4\n"
    )
    for text in (conf, shown):
        path.write_text(text)
        cluster = find_cluster(f"slurm:{path},rate_mbit_s=10")
        assert links(cluster) == {
            **{(f"n{i}", f"b{i // 2}"): 10.0 for i in range(4)},
            ("b0", "above-blocks"): 10.0,
            ("b1", "above-blocks"): 10.0,
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SwitchName=s0 Nodes=n[0-1]", r"has no rates; say them: slurm:.*,rate_mbit_s=10000/40000"),
        ("SwitchName=s0 Hosts=n0", ":1: 'Hosts=n0' is not known"),
        ("SwitchName=s0 Nodes=n[0-", ":1: "),
        ("SwitchName=s0", "switch 's0' has nothing below"),
        ("SwitchName=s0 Nodes=n0\nSwitchName=s0 Nodes=n1", ":2: switch 's0' stands twice"),
        ("SwitchName=s0 Nodes=n0 Nodes=n1", "Nodes stands twice"),
        ("SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n0", "'n0' hangs on 's0' and 's1'"),
        ("SwitchName=s0 Nodes=n0\nSwitchName=s1 Switches=s2", "'s2' below 's1' is not described"),
        ("SwitchName=s0 Nodes=n0\nSwitchName=s1 Nodes=n1", "nothing joins it and s1"),
        ("SwitchName=s0 Nodes=n0\nBlockName=b0 Nodes=n1", "switches and blocks at once"),
        ("SwitchName=s0 Nodes=n0 Level=top", ":1: Level=top is no number"),
        ("LinkSpeed=1", "neither switch nor block"),
        ("", "no host is in it"),
    ],
)
def test_what_slurm_files_lack_is_told(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "topology.txt"
    path.write_text(text + "\n")
    with pytest.raises(BadInput, match=message):
        find_cluster(f"slurm:{path}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (",rate=1", "'rate' is no option of slurm; expected some of: latency_us, "),
        (",rate_mbit_s=fast", "expected Mbit/s, from the hosts' links upwards"),
        (",rate_mbit_s=0", "is out of range; expected a number above 0"),
        (",rate_mbit_s=1,queue_packets=many", "queue_packets 'many'"),
        (",rate_mbit_s=1,queue_packets=2.7", "queue_packets=2.7 is no whole number"),
    ],
)
def test_bad_options_of_an_import_are_refused(options: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        find_cluster(f"slurm:{FIXTURES / 'topology.conf'}{options}")


# ---- ibnetdiscover -------------------------------------------------------------------------------


def check_fabric(cluster: Cluster) -> None:
    """The fabric of ibsim.net: QDR but for the hosts of leaf1, and two cables to one spine."""
    assert names(cluster) == ["node1", "node2", "node3", "node10", "node11"]
    found = [(link.from_, link.to, link.rate_up_mbit_s) for link in cluster.links]
    hosts = [(f"node{i}", "leaf0", 32000.0) for i in (1, 2, 3)]
    hosts += [(f"node{i}", "leaf1", 16000.0) for i in (10, 11)]
    trunks = ["leaf0 spine0", "leaf0 spine0", "leaf0 spine1", "leaf1 spine0", "leaf1 spine1"]
    assert sorted(found) == sorted([*hosts, *((*trunk.split(), 32000.0) for trunk in trunks)])
    for switch in cluster.switches:
        assert (switch.flow_control, switch.switching) == ("back-pressure", "cut-through")


def test_a_fabric_is_read_with_the_port_that_counts() -> None:
    text = f"ibnetdiscover:{FIXTURES / 'ibnetdiscover.txt'}"
    for port in ("first", "2", "mlx5_0/1", "mlx5_0"):
        check_fabric(find_cluster(f"{text},port={port}"))
    with pytest.raises(BadInput, match=r"'node11' has the ports mlx5_0/1, mlx5_0/2; .*port=first"):
        find_cluster(text)
    with pytest.raises(BadInput, match="none of them 'mlx5_9'"):
        find_cluster(f"{text},port=mlx5_9")


@pytest.mark.parametrize(
    ("speed", "mbit_s"),
    [
        ("1xSDR", 2000),
        ("4xDDR", 16000),
        ("4xQDR", 32000),
        ("4xFDR10", 40000),
        ("4xFDR", 54560),
        ("4xEDR", 100_000),
        ("2xHDR", 100_000),
        ("4xNDR", 400_000),
        ("8xXDR", 1_600_000),
    ],
)
def test_width_times_speed_is_the_data_rate(speed: str, mbit_s: float) -> None:
    text = f'Ca 1 "H-1" # "a HCA-1"\n[1](2) "S-2"[1] # lid 5 lmc 0 "leaf" lid 3 {speed}\n'
    (port,) = ibnetdiscover.parse(text, "file")["H-1"].ports
    assert port.rate_mbit_s == mbit_s


FABRIC = """\
Switch 4 "S-0002c902004885b0" # "MF0;leaf:MSB7700/U1" enhanced port 0 lid 3 lmc 0
[1] "H-a"[1](1) # "a HCA-1" lid 1 4xEDR
[2] "H-b"[1](2) # "b HCA-1" lid 2 4xEDR
[3] "H-f"[1](3) # "Mellanox Technologies Aggregation Node" lid 9 4xEDR
[4] "R-c"[1](4) # "router" lid 10 4xEDR
Ca 1 "H-a" # "a HCA-1"
[1](1) "S-0002c902004885b0"[1] # lid 1 lmc 0 "leaf" lid 3 4xEDR
Ca 1 "H-b" # "b HCA-1"
[1](2) "S-0002c902004885b0"[2] # lid 2 lmc 0 "leaf" lid 3 4xEDR
Ca 1 "H-f" # "Mellanox Technologies Aggregation Node"
[1](3) "S-0002c902004885b0"[3] # lid 9 lmc 0 "leaf" lid 3 4xEDR
Rt 1 "R-c" # "router"
[1](4) "S-0002c902004885b0"[4] # lid 10 lmc 0 "leaf" lid 3 4xEDR
"""


def test_routers_and_aggregation_nodes_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fabric.txt"
    path.write_text(FABRIC)
    cluster = find_cluster(f"ibnetdiscover:{path}")
    assert links(cluster) == {("a", "leaf-MSB7700-U1"): 100_000, ("b", "leaf-MSB7700-U1"): 100_000}
    assert "left out: 2 routers and aggregation nodes" in capsys.readouterr().err
    path.write_text(FABRIC.replace("4xEDR", "4xWARP"))
    with pytest.raises(BadInput, match="has no rates"):
        find_cluster(f"ibnetdiscover:{path}")
    assert links(find_cluster(f"ibnetdiscover:{path},rate_mbit_s=7"))["a", "leaf-MSB7700-U1"] == 7
    path.write_text(FABRIC.replace('[1](1) "S', "[1](1) S"))
    with pytest.raises(BadInput, match=r"fabric.txt:7: .* cannot be read; expected a port"):
        find_cluster(f"ibnetdiscover:{path}")
    path.write_text("# made\nnothing\n")
    with pytest.raises(BadInput, match=r"fabric\.txt:2: no node is in the file, .*'nothing'"):
        find_cluster(f"ibnetdiscover:{path}")


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Path]:
    """A folder whose processes see the fabric of ibsim.net."""
    with simulated(tmp_path, FIXTURES / "ibsim.net", "opensm", "ibnetdiscover"):
        yield tmp_path


def test_a_fabric_of_debians_tools_is_read(fabric: Path) -> None:
    """opensm brings the links up, ibnetdiscover prints them."""
    tool(fabric, "opensm", "-o", "-f", str(fabric / "opensm.log"))
    path = fabric / "fabric.txt"
    path.write_text(tool(fabric, "ibnetdiscover"))
    check_fabric(find_cluster(f"ibnetdiscover:{path},port=first"))


# ---- the command ---------------------------------------------------------------------------------


def test_what_is_imported_is_written_as_a_cluster_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cluster.toml"
    text = f"slurm:{FIXTURES / 'scontrol-show-topology.txt'},rate_mbit_s=100/200,queue_packets=43"
    assert main(["topology", text, "-o", str(out)]) == 0
    assert "uplink" in capsys.readouterr().out or out.is_file()
    written = load_cluster(out)
    assert links(written) == links(find_cluster(text))
    assert {link.queue_down_packets for link in written.links} == {43}
    for name in ("tam-8x4", "fat-tree:16"):
        assert main(["topology", name, "-o", str(out)]) == 0
        assert load_cluster(out).to_toml() == find_cluster(name).to_toml()


def test_labs_get_a_file_for_as_long_as_they_look() -> None:
    text = f"slurm:{FIXTURES / 'scontrol-show-topology.txt'},rate_mbit_s=100"
    with as_cluster_file(text) as name:
        assert links(load_cluster(name)) == links(find_cluster(text))
    assert not Path(name).exists()
    with as_cluster_file("tam-8x4") as name:
        assert name == "tam-8x4"


def test_simulate_takes_an_import(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"ibnetdiscover:{FIXTURES / 'ibnetdiscover.txt'},port=first"
    assert main(["simulate", text, "--size", "4KB", "--json", "-"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert (result["hosts"], result["dropped"]) == (5, 0)
