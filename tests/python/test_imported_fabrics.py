"""Dumps of InfiniBand as they are: without names, with several cards a host, cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats.ibnetdiscover import read_cluster
from allemande.formats.rails import find_rails
from allemande.topology import Cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"


def read(tmp_path: Path, text: str, options: str = "") -> tuple[Cluster, str]:
    path = tmp_path / "dump"
    path.write_text(text)
    cluster, notes = read_cluster(f"ibnetdiscover:{path}{options}")
    return cluster, "\n".join(notes).replace(str(path), "dump")


def hosts(cluster: Cluster) -> list[str]:
    return [host.name for host in cluster.hosts]


def switches(cluster: Cluster) -> list[str]:
    return [switch.name for switch in cluster.switches]


def homes(cluster: Cluster) -> dict[str, str]:
    names = set(hosts(cluster))
    return {link.from_: link.to for link in cluster.links if link.from_ in names}


def switch(guid: str, name: str, *ports: str) -> str:
    """`ports`: the peer, its port, and its description behind a blank."""
    lines = [f'Switch\t36 "S-{guid}"\t\t# "{name}" base port 0 lid 1 lmc 0']
    for number, port in enumerate(ports, 1):
        peer, _, description = port.partition(" ")
        identity, _, there = peer.partition(":")
        lines.append(f'[{number}]\t"{identity}"[{there or 1}]\t\t# "{description}" lid 9 4xEDR')
    return "\n".join([*lines, "", ""])


# ---- hosts without names -------------------------------------------------------------------------


def test_cards_without_host_names_are_hosts_by_guid(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ("", ",port=first"):
        file = f"ibnetdiscover:{FIXTURES / 'default_names.ibnet'}{options}"
        assert main(["topology", file, "--json"]) == 0
        assert "8 x 'MT4119 ConnectX5" in capsys.readouterr().err
        cluster, _ = read_cluster(file)
        guids = [f"{leaf:02x}{card:02x}" for leaf in (0, 1) for card in range(4)]
        assert hosts(cluster) == [f"host-0000cc000000{guid}" for guid in guids]
        assert sorted(homes(cluster).values()) == ["leaf0"] * 4 + ["leaf1"] * 4
        assert cluster.limit_seconds(None, 10_000) > 0


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("MT4123 ConnectX6   Mellanox Technologies", "host-"),
        ("MT25408 ConnectX Mellanox Technologies", "host-"),
        ("ConnectX-6 HDR", "host-"),
        ("Mellanox ConnectX-5", "host-"),
        ("localhost HCA-1", "host-"),
        ("(none) mlx5_0", "host-"),
        ("", "host-"),
        ("compute HCA-1", "compute-"),
        ("compute", "compute-"),
    ],
)
def test_what_names_no_host_is_told_by_guid(description: str, name: str, tmp_path: Path) -> None:
    ports = [f"H-a{i} {description}" for i in range(3)]
    cluster, notes = read(tmp_path, switch("1", "leaf", *ports, "H-b0 node7 HCA-1"))
    assert hosts(cluster) == sorted([*(f"{name}a{i}" for i in range(3)), "node7"])
    assert "adapters whose description tells no host: 3 x" in notes


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("mt1001 mlx5_0", "mt1001"),
        ("MT1001 HCA-1", "MT1001"),
        ("mt1001", "mt1001"),
        ("nvidia mlx5_bond_0", "nvidia"),
        ("intel hfi1_0", "intel"),
        ("bluefield", "bluefield"),
    ],
)
def test_hosts_may_be_called_like_a_model(description: str, name: str, tmp_path: Path) -> None:
    cluster, notes = read(tmp_path, switch("1", "leaf", f"H-a {description}", "H-b z HCA-1"))
    assert hosts(cluster) == [name, "z"]
    assert "no host" not in notes


def test_names_of_hosts_stay_or_are_noted(tmp_path: Path) -> None:
    long = "node-0001.compute.eu-central-1.hpc.internal.example"
    cluster, notes = read(tmp_path, switch("1", "leaf", f"H-a {long} mlx5_0", "H-b z HCA-1"))
    assert hosts(cluster) == [long, "z"]
    assert "names" not in notes
    words = ("n\N{LATIN SMALL LIGATURE OE}ud1", "n1,rack2", "a/b", "a-b", "x" * 70)
    ports = (f"H-{number} {word} mlx5_0" for number, word in enumerate(words))
    cluster, notes = read(tmp_path, switch("1", "leaf", *ports))
    assert set(hosts(cluster)) == {"n-ud1", "n1-rack2", "a-b", "a-b-2", "x" * 63}
    assert f"n\N{LATIN SMALL LIGATURE OE}ud1 is n-ud1, n1,rack2 is n1-rack2, {'x' * 70} is" in notes


def test_cards_of_one_device_are_one_host(tmp_path: Path) -> None:
    """The two ports of a card have GUIDs of their own, and one that is the device's."""
    model = "MT4123 ConnectX6   Mellanox Technologies"
    text = switch("1", "leaf", f"H-a0 {model}", f"H-a1 {model}", f"H-b0 {model}")
    for guid, port, system in (("a0", 1, "0xa0"), ("a1", 2, "0xa0"), ("b0", 3, "0xb0")):
        text += f'sysimgguid={system}\ncaguid=0x{guid}\nCa\t1 "H-{guid}"\t\t# "{model}"\n'
        text += f'[1]({guid}) \t"S-1"[{port}]\t\t# lid 1 lmc 0 "leaf" lid 1 4xEDR\n\n'
    cluster, _ = read(tmp_path, text, ",port=first")
    assert hosts(cluster) == ["host-a0", "host-b0"]


def test_hosts_and_switches_keep_names_apart(tmp_path: Path) -> None:
    text = switch("1", "leaf", "H-a leaf HCA-1", "H-b b/1 HCA-1", "H-c b-1 HCA-1", "S-2:1 leaf")
    text += switch("2", "leaf", "S-1:4 leaf")
    cluster, _ = read(tmp_path, text)
    assert len({*hosts(cluster), *switches(cluster)}) == 5


# ---- rails ---------------------------------------------------------------------------------------


def test_rails_are_found_by_their_switches() -> None:
    file = f"ibnetdiscover:{FIXTURES / 'two_rails.ibnet'}"
    names = [f"gpu{i}" for i in range(6)]
    with pytest.raises(BadInput) as caught:
        read_cluster(file)
    for number in (1, 2):
        assert f"rail={number} is 6 hosts on rail{number - 1}-MQM9701-U1" in str(caught.value)
    for option, leaf in (
        (",port=first", "rail0"),
        (",rail=1", "rail0"),
        (",rail=2", "rail1"),
        (",rail=rail1-MQM9701-U1", "rail1"),
        (",rail=rail1", "rail1"),
    ):
        cluster, notes = read_cluster(file + option)
        assert hosts(cluster) == names
        assert switches(cluster) == [f"{leaf}-MQM9701-U1"]
        assert not any("mixed" in note for note in notes)
    with pytest.raises(BadInput, match=r"no rail is called '3'; expected rail=all, or: rail=1 is"):
        read_cluster(f"{file},rail=3")


def test_all_rails_are_links_of_each_host() -> None:
    cluster, _ = read_cluster(f"ibnetdiscover:{FIXTURES / 'two_rails.ibnet'},rail=all")
    assert {host.links for host in cluster.hosts} == {2}
    ways = [link.to for link in cluster.links if link.from_ == "gpu1"]
    assert ways == ["rail0-MQM9701-U1", "rail1-MQM9701-U1"]


def test_the_rail_that_the_first_port_takes_is_told_with_those_left_out(tmp_path: Path) -> None:
    text = switch("1", "comp", *(f"H-c{i} n{i} mlx5_0" for i in range(3))).replace("EDR", "HDR")
    storage = (*(f"H-d{i} n{i} mlx5_1" for i in range(3)), "H-e oss mlx5_0")
    cluster, notes = read(tmp_path, text + switch("2", "stor", *storage), ",port=first")
    assert switches(cluster) == ["stor"]
    assert (
        "most hosts: rail=2 is 4 hosts on stor at 100 Gbit/s; left out: rail=1 is 3 hosts on "
        "comp at 200 Gbit/s" in notes
    )
    assert "no port that counts leads are left out: comp" in notes


def test_hosts_with_several_links_to_a_switch_are_drawn_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump"
    ports = [f"H-{i}{port} n{i} mlx5_{port}" for i in range(4) for port in range(2)]
    path.write_text(switch("1", "leaf", *ports))
    assert main(["topology", f"ibnetdiscover:{path},rail=all"]) == 0
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL} n[0-3]  2 links, each 100 Gbit/s" in (
        capsys.readouterr().out
    )


def gpus(units: int, rails: int, spine: bool = True) -> str:
    """Hosts of two in each unit, a leaf for each rail of a unit, cards named at random."""
    text = ""
    tops: dict[int, list[str]] = {}
    for unit in range(units):
        for rail in range(rails):
            leaf = f"f{unit}{rail}"
            ports = []
            for number in range(2):
                host = 2 * unit + number
                card = f"mlx5_{rail}" if host % 2 else f"HCA-{rail + 1}"
                ports.append(f"H-{host}{rail} g{host} {card}")
            top = tops.setdefault(0 if spine else rail, [])
            top.append(f"S-{leaf}:3 leaf-{unit}-{rail}")
            ports.append(f"S-c{0 if spine else rail}:{len(top)} spine")
            text += switch(leaf, f"leaf-{unit}-{rail}", *ports)
    return text + "".join(switch(f"c{n}", f"spine{n}", *ports) for n, ports in tops.items())


@pytest.mark.parametrize("spine", [True, False])
def test_rails_go_across_units(spine: bool, tmp_path: Path) -> None:
    text = gpus(3, 4, spine)
    for rail in range(4):
        cluster, _ = read(tmp_path, text, f",rail={rail + 1}")
        assert hosts(cluster) == [f"g{i}" for i in range(6)]
        assert set(homes(cluster).values()) == {f"leaf-{unit}-{rail}" for unit in range(3)}
        assert len(cluster.switches) == 4
    cluster, notes = read(tmp_path, text, ",port=first")
    assert set(homes(cluster).values()) == {f"leaf-{unit}-0" for unit in range(3)}
    assert "mixed" not in notes


def test_mixed_rails_are_warned_of(tmp_path: Path) -> None:
    text = gpus(2, 2).replace('"H-10"[1]', '"H-99"[1]').replace("g1 mlx5_0", "g9 mlx5_0")
    cluster, notes = read(tmp_path, text, ",port=first")
    assert homes(cluster)["g1"] == "leaf-0-1"
    assert homes(cluster)["g0"] == "leaf-0-0"
    assert "rails are mixed: g[0,2-3,9] on rail 1, g1 on rail 2" in notes
    one, notes = read(tmp_path, text, ",rail=1")
    assert "g1" not in hosts(one)
    assert "without a port on rail 1, left out: g1" in notes
    _, notes = read(tmp_path, text, ",port=1")
    assert "rails are mixed" in notes


def test_rails_are_numbered_as_hosts_count_their_ports() -> None:
    leaves = {"a": ["x", "y"], "b": ["x", "y"], "c": ["w", "z"], "d": ["z"]}
    trunks = [("x", "s"), ("y", "s"), ("w", "s"), ("z", "s")]
    found = find_rails(leaves, trunks)
    assert [rail.leaves for rail in found] == [("x", "w"), ("y", "z")]
    assert [rail.hosts for rail in found] == [("a", "b", "c"), ("a", "b", "c", "d")]
    planes = find_rails({"a": ["x", "y"], "b": ["x", "y"]}, [])
    assert [rail.leaves for rail in planes] == [("x",), ("y",)]


def test_a_few_hosts_with_two_ways_out_make_no_rails() -> None:
    leaves = {f"n{i}": [f"leaf{i % 3}"] for i in range(12)} | {"gate": ["leaf0", "leaf1"]}
    assert find_rails(leaves, []) == []


def test_choices_that_switches_do_not_explain_are_warned_of(tmp_path: Path) -> None:
    text = switch(
        "1", "l1", "H-g0 gate HCA-1", *(f"H-a{i} a{i} HCA-1" for i in range(4)), "S-2:9 l2"
    )
    text += switch("2", "l2", "H-g1 gate HCA-2", *(f"H-b{i} b{i} HCA-1" for i in range(4)))
    cluster, notes = read(tmp_path, text, ",port=first")
    assert homes(cluster)["gate"] == "l1"
    assert "ports on several switches, of which one counts: gate" in notes


# ---- dumps that are not whole --------------------------------------------------------------------


def test_cards_that_only_switches_name_are_hosts(tmp_path: Path) -> None:
    text = switch("1", "leaf0", "H-a node1 HCA-1", "H-b node2 HCA-1", "S-2:7 leaf1")
    text += (
        'Ca\t1 "H-c"\t\t# "node3 HCA-1"\n[1](c) \t"S-2"[1]\t\t# lid 1 lmc 0 "leaf1" lid 2 4xHDR\n'
    )
    cluster, notes = read(tmp_path, text)
    assert homes(cluster) == {"node1": "leaf0", "node2": "leaf0", "node3": "leaf1"}
    assert "alone: node1 HCA-1, node2 HCA-1, leaf1; is the file cut off?" in notes
    assert {link.rate_up_mbit_s for link in cluster.links} == {100_000, 200_000}


def test_a_dump_that_is_cut_off_anywhere_is_read_or_refused_by_line(tmp_path: Path) -> None:
    whole = (FIXTURES / "ibnetdiscover.txt").read_text()
    read_count = 0
    for end in range(0, len(whole), 37):
        try:
            read(tmp_path, whole[:end], ",port=first")
            read_count += 1
        except BadInput as error:
            assert "dump" in str(error)
            assert "ibnetdiscover:" not in str(error)
    assert read_count > 50


@pytest.mark.parametrize("header", ['CA\t1 "H-a"', '#Ca\t1 "H-a"\t\t# "a HCA-1"', ""])
def test_ports_below_no_node_are_nobody_elses(header: str, tmp_path: Path) -> None:
    """A header that is commented out, garbled or cut off."""
    ports = switch("1", "leaf", "H-a a HCA-1", "H-b b HCA-1")
    cards = "vendid=0x2c9\n" + header + '\n[1](a) \t"S-1"[1]\t\t# lid 9 lmc 0 "leaf" lid 1 4xEDR\n'
    cards += 'vendid=0x2c9\nCa\t1 "H-b"\t\t# "b HCA-1"\n[1](b) \t"S-1"[2]\t\t# lid 9 4xEDR\n'
    for text, line in ((ports + cards, 7), (cards + ports, 3)):
        cluster, notes = read(tmp_path, text)
        assert homes(cluster) == {"a": "leaf", "b": "leaf"}
        assert f"dump:{line}: ports below no node are left out, 1 in all" in notes


def test_adapters_without_a_cable_are_named(tmp_path: Path) -> None:
    text = switch("1", "leaf", "H-a a HCA-1", "H-b b HCA-1") + 'Ca\t2 "H-c"\t\t# "c HCA-1"\n'
    cluster, notes = read(tmp_path, text)
    assert hosts(cluster) == ["a", "b"]
    assert "adapters without a cable are left out: c HCA-1" in notes


@pytest.mark.parametrize(
    "line",
    [
        'Ca : 0x0002c9020048aa10 ports 1 devid 0x1017 vendid 0x2c9 "n1 mlx5_0"',
        "CA   100  1 0x00000000000000c1 4x EDR - SW     1  1 0xaa ( 'n1 mlx5_0' - 'leaf0' )",
        "ibnetdiscover: iberror: failed: discover failed",
    ],
)
def test_what_else_such_programs_print_is_told_by_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"dump:2: no node .*prints without -l or -p") as caught:
        read(tmp_path, f"# made\n{line}\n" * 1000)
    assert repr(line[:60]) in str(caught.value)


def test_an_indented_dump_is_read(tmp_path: Path) -> None:
    text = switch("1", "leaf", "H-a a HCA-1", "H-b b HCA-1")
    cluster, _ = read(tmp_path, "".join(f" {line}\n" for line in text.split("\n")))
    assert hosts(cluster) == ["a", "b"]


def test_a_cable_from_a_switch_to_itself_is_left_out(tmp_path: Path) -> None:
    text = switch(
        "1", "leaf", "S-1:2 leaf", "S-1:1 leaf", "H-a a HCA-1", "H-b b HCA-1", "S-1:5 leaf"
    )
    cluster, notes = read(tmp_path, text)
    assert homes(cluster) == {"a": "leaf", "b": "leaf"}
    assert len(cluster.links) == 2
    assert "cables from a switch to itself are left out: dump:2: leaf, dump:6: leaf" in notes


def test_two_nodes_back_to_back_are_refused_by_line(tmp_path: Path) -> None:
    text = (
        'Ca\t1 "H-a"\t\t# "a HCA-1"\n[1](a) \t"H-b"[1](b) \t\t# lid 1 lmc 0 "b HCA-1" lid 2 4xEDR\n'
    )
    with pytest.raises(BadInput, match="dump:2: 'a' and 'b' are joined without a switch"):
        read(tmp_path, text)
    cluster, notes = read(tmp_path, switch("1", "leaf", "H-c c HCA-1", "H-d d HCA-1") + text)
    assert hosts(cluster) == ["c", "d"]
    assert "dump:6: 'a' and 'b' are joined without a switch: left out" in notes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('[2] "S-1" [', "cannot be read|leads elsewhere|from a switch to itself"),
        ("[x] no port", r"dump:2: '\[x\] no port' cannot be read"),
        ('[1] "H-b"[1] # "b HCA-1" lid 9 4xEDR', r"dump:3: port \[1\] of 'S-1' stands in line 2"),
        ('[2] "H-a"[1] # "a HCA-1" lid 9 4xEDR', r"dump:3: .*leads elsewhere by line 2|dump:2: "),
        ("[" + "9" * 4300 + '] "H-b"[1]', "dump:2: .* cannot be read"),
    ],
)
def test_a_line_that_refuses_a_dump_says_how_to_go_on(
    line: str, message: str, tmp_path: Path
) -> None:
    begin, first, *rest = switch("1", "leaf", "H-a a HCA-1").split("\n")
    text = "\n".join([begin, line, first, *rest])
    try:
        read(tmp_path, text)
    except BadInput as error:
        assert "put # before" in str(error) and "dump:" in str(error)
    cluster, _ = read(tmp_path, text.replace(line, "# " + line))
    assert hosts(cluster) == ["a"]
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text + "[")
        raise BadInput(message)
    assert str(caught.value)


def test_a_speed_that_is_not_known_is_told_with_its_line(tmp_path: Path) -> None:
    text = switch("1", "leaf", "H-a a HCA-1", "H-b b HCA-1").replace("4xEDR", "4xWARP", 1)
    with pytest.raises(BadInput, match=r"has no rates \(line 2\)"):
        read(tmp_path, text)
    assert len(read(tmp_path, text, ",rate_mbit_s=7")[0].hosts) == 2


# ---- ibsim's own files ---------------------------------------------------------------------------


def test_net_files_of_ibsim_are_read(tmp_path: Path) -> None:
    text = (
        "# made by hand\n"
        'Switch\t8 "Switch1"\n[1]\t"Hca1"[1]\n[2]\t"Hca2"[2]\tw=3 s=7\n[3]\t"Switch2"[3]\n\n'
        'speed=2\nSwitch 8 "Switch2"\n[3]\t"Switch1"[3]\n[4] "Hca3"\n\n'
        'Hca\t2 "Hca1"\n[1]\t"Switch1"[1]\n\nHca\t2 "Hca2"\n[2]\t"Switch1"[2]\tw=3 s=7\n'
    )
    cluster, notes = read(tmp_path, text)
    assert homes(cluster) == {"Hca1": "Switch1", "Hca2": "Switch1", "Hca3": "Switch2"}
    rates = {link.from_: link.rate_up_mbit_s for link in cluster.links}
    assert rates == {"Hca1": 8000, "Hca2": 32_000, "Hca3": 16_000, "Switch1": 8000}
    assert "read as a net file of ibsim" in notes


def test_the_same_fabric_comes_of_ibsim_and_of_its_dump() -> None:
    found = []
    for name in ("ibsim.net", "ibnetdiscover.txt"):
        cluster, _ = read_cluster(f"ibnetdiscover:{FIXTURES / name},port=first")
        found.append(
            sorted((link.from_, link.to, link.rate_up_mbit_s) for link in cluster.links if link)
        )
    hosts_only = [[one for one in links if one[0].startswith("node")] for links in found]
    assert hosts_only[0] == hosts_only[1]
