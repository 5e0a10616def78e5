"""What Slurm's files have beside one whole tree: what can be used is used, the rest is said."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats.slurm import read_cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"
RATE = ",rate_mbit_s=1000"


def read(tmp_path: Path, text: str, options: str = "", name: str = "file") -> dict[str, object]:
    path = tmp_path / name
    path.write_text(text)
    cluster, notes = read_cluster(f"slurm:{path}{RATE}{options}")
    return {
        "hosts": [host.name for host in cluster.hosts],
        "switches": [switch.name for switch in cluster.switches],
        "links": {(link.from_, link.to) for link in cluster.links},
        "notes": "\n".join(notes).replace(str(path), name),
    }


# ---- islands and roots ---------------------------------------------------------------------------


def test_islands_are_usable_each_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    file = f"slurm:{FIXTURES / 'islands.conf'}{RATE}"
    assert main(["topology", file]) == 0
    done = capsys.readouterr()
    assert "8 hosts" in done.out
    assert "nothing joins it and isw2 (8 hosts), left out: root=isw2 takes that part" in done.err
    for root, first in (("isw1", 1), ("isw2", 9)):
        cluster, notes = read_cluster(f"{file},root={root}")
        assert [host.name for host in cluster.hosts] == [f"c{first + i}" for i in range(8)]
        assert [switch.name for switch in cluster.switches] == [root]
        assert notes == []


def test_the_part_with_most_nodes_is_taken(tmp_path: Path) -> None:
    text = (
        "SwitchName=s0 Nodes=a[0-1]\nSwitchName=s1 Switches=s0\nSwitchName=s2 Nodes=b0\n"
        "SwitchName=s3 Nodes=c[0-2]\nSwitchName=s4 Nodes=c[3-5]\nSwitchName=s5 Switches=s[3-4]\n"
    )
    found = read(tmp_path, text)
    assert found["hosts"] == [f"c{i}" for i in range(6)]
    assert found["switches"] == ["s3", "s4", "s5"]
    assert "s1 and 1 more switches (2 hosts), s2 (1 host)" in str(found["notes"])


def test_the_root_that_is_told_takes_the_whole_part(tmp_path: Path) -> None:
    text = "".join(f"SwitchName=s{i} Nodes=n[{2 * i}-{2 * i + 1}]\n" for i in range(5))
    text += "SwitchName=a Switches=s[0-2]\nSwitchName=b Switches=s[3-4]\n"
    found = read(tmp_path, text)
    assert found["switches"] == ["s0", "s1", "s2", "a"]
    assert "taken: a and 3 more switches (6 hosts); nothing joins it and b and 2 more" in str(
        found["notes"]
    )
    assert "root=b takes that part instead" in str(found["notes"])
    assert read(tmp_path, text, ",root=b")["switches"] == ["s3", "s4", "b"]


def test_a_root_takes_what_is_below_it(tmp_path: Path) -> None:
    conf = (FIXTURES / "topology.conf").read_text()
    whole = read(tmp_path, conf)
    assert whole["switches"] == ["s0", "s1", "s2", "s3"]
    part = read(tmp_path, conf, ",root=s2")
    assert part["switches"] == ["s0", "s1", "s2"]
    assert part["hosts"] == whole["hosts"]
    leaf = read(tmp_path, conf, ",root=s1")
    assert (leaf["hosts"], leaf["switches"]) == ([f"tux{i}" for i in range(4, 8)], ["s1"])
    with pytest.raises(BadInput, match=r"root=s9: no switch .*expected one of s2, s3"):
        read(tmp_path, conf, ",root=s9")


def test_nodes_below_two_roots_are_told_apart_by_root(tmp_path: Path) -> None:
    """Two fabrics over the same nodes."""
    text = "SwitchName=eth Nodes=n[0-3]\nSwitchName=ib Nodes=n[0-3]\n"
    with pytest.raises(BadInput, match=r"file:2: node 'n0' hangs on 'eth' and 'ib'; .*root=eth"):
        read(tmp_path, text)
    for root in ("eth", "ib"):
        assert read(tmp_path, text, f",root={root}")["switches"] == [root]


# ---- what is empty or odd ------------------------------------------------------------------------


def test_switches_and_blocks_without_nodes_are_left_out(tmp_path: Path) -> None:
    text = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1\nSwitchName=top Switches=s[0-2]\n"
    found = read(tmp_path, text)
    assert found["links"] == {("n0", "s0"), ("n1", "s0"), ("s0", "top")}
    assert "file:2: switch 's1' has nothing below: left out" in str(found["notes"])
    assert "switch 's2' below 'top' is not described: left out" in str(found["notes"])
    blocks = "BlockName=b0 Nodes=n[0-1]\nBlockName=b1\nBlockName=b2\nBlockName=b3 Nodes=n2\n"
    found = read(tmp_path, blocks)
    assert found["switches"] == ["b0", "b3", "above-blocks"]
    assert "blocks with nothing below are left out: b1, b2" in str(found["notes"])
    assert read(tmp_path, blocks, ",root=b0")["switches"] == ["b0"]


def test_odd_lines_are_passed_over_and_said(tmp_path: Path) -> None:
    text = (
        "$ scontrol show topology\n"
        "SwitchName = s0  Level=0 LinkSpeed=1 Nodes=n[0-1] Colour=red\n"
        "No more to tell\n"
        "SwitchName=s1 Level=0 Nodes=(null)\n"
    )
    found = read(tmp_path, text)
    assert found["hosts"] == ["n0", "n1"]
    notes = str(found["notes"])
    assert "file:1: '$' is not known" in notes
    assert "file:2: 'Colour=red' is not known" in notes
    assert "file:3: 'No' is not known" in notes
    assert "switch 's1' has nothing below" in notes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("SwitchName=s1 Nodes=n[5", "file:2: .*brackets do not match"),
        ("SwitchName=s1 Nodes=n[0-999999999]", "file:2: .*is too long"),
        ("SwitchName=s1 Nodes=n5 Nodes=n6", "file:2: Nodes stands twice"),
        ("SwitchName=s1 Level=" + "9" * 4300, "file:2: Level=9+ is no number"),
        ("SwitchName= Nodes=n5", "file:2: '' is no name of a switch"),
        ("SwitchName=s0 Nodes=n5", "file:2: switch 's0' stands twice.*before line 1"),
    ],
)
def test_a_line_that_refuses_the_file_says_how_to_go_on(
    line: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read(tmp_path, f"SwitchName=s0 Nodes=n[0-3]\n{line}\n")
    assert "put # before" in str(caught.value)
    assert read(tmp_path, "SwitchName=s0 Nodes=n[0-3]\n# " + line.replace("\n", "\n# "))


@pytest.mark.parametrize(
    "nodes",
    ["n[0-3],\\\nn[4-7]", "n[0-3],\\\n  n[4-7]", "n[0-\\\n7]", "n[0-3], n[4-7]", "n[0-7],"],
)
def test_lists_go_on_behind_a_backslash_and_may_end_in_a_comma(nodes: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"SwitchName=s0 Nodes={nodes} \\\n LinkSpeed=1\nSwitchName=s1\n")
    assert found["hosts"] == [f"n{i}" for i in range(8)]
    assert "not known" not in str(found["notes"])


def test_the_file_of_an_include_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"file:1: Include is not followed; give tree\.conf itself"):
        read(tmp_path, "Include tree.conf\n")


def test_a_chain_of_thousands_of_switches_is_refused(tmp_path: Path) -> None:
    chain = "".join(f"SwitchName=s{i} Switches=s{i + 1}\n" for i in range(1200))
    with pytest.raises(BadInput, match=r"file:1002: 's1001' is more than 1000 cables from 's0'"):
        read(tmp_path, chain + "SwitchName=s1200 Nodes=n[0-1]\n")


def test_nodes_and_switches_may_have_one_name(tmp_path: Path) -> None:
    found = read(tmp_path, "SwitchName=s0 Nodes=s[0-1]\nSwitchName=s2 Switches=s0\n")
    assert found["links"] == {("s0", "s0-switch"), ("s1", "s0-switch"), ("s0-switch", "s2")}
    assert "s0 is s0-switch" in str(found["notes"])


def test_names_that_a_cluster_file_cannot_have_are_changed_and_noted(tmp_path: Path) -> None:
    text = (
        "SwitchName=r1/leaf Nodes=n[0-1]\nSwitchName=r1-leaf Nodes=n2,n/2\n"
        "SwitchName=top:1 Switches=r1/leaf,r1-leaf\nSwitchName=lone/1 Nodes=m0\n"
    )
    found = read(tmp_path, text)
    assert found["links"] == {
        ("n0", "r1-leaf-2"), ("n1", "r1-leaf-2"), ("n2", "r1-leaf"), ("n-2", "r1-leaf"),
        ("r1-leaf-2", "top-1"), ("r1-leaf", "top-1"),
    }  # fmt: skip
    notes = str(found["notes"])
    assert "r1/leaf is r1-leaf-2, top:1 is top-1, lone/1 is lone-1" in notes
    assert "n/2 is n-2" in notes
    assert "root=lone-1 takes that part instead" in notes
    for root in ("lone-1", "lone/1"):
        assert read(tmp_path, text, f",root={root}")["hosts"] == ["m0"]


def test_thousands_of_names_may_become_one(tmp_path: Path) -> None:
    odd = ("".join(letters) for letters in product("/:@+", repeat=6))
    text = "".join(f"SwitchName={name}x Nodes=n{i}\n" for i, name in enumerate(odd))
    begin = time.process_time()
    read(tmp_path, text)
    assert time.process_time() - begin < 1


def test_a_switch_below_itself_or_listed_twice_is_joined_once(tmp_path: Path) -> None:
    text = "SwitchName=s0 Nodes=n0,n0 Switches=s0\nSwitchName=s1 Nodes=n1 Switches=s0,s0\n"
    found = read(tmp_path, text)
    assert found["links"] == {("n0", "s0"), ("n1", "s1"), ("s0", "s1")}
    assert "file:1: switch 's0' is below itself" in str(found["notes"])


def test_switches_and_blocks_at_once_are_the_switches(tmp_path: Path) -> None:
    found = read(tmp_path, "SwitchName=s0 Nodes=n0\nBlockName=b0 Nodes=n1\n")
    assert found["hosts"] == ["n0"]
    assert "the blocks b0 are left out" in str(found["notes"])


def test_notes_stand_beside_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("SwitchName=s0 Nodes=n0\nSwitchName=s1\n")
    with pytest.raises(BadInput, match=r"has no rates; say them: .*'s1' has nothing below"):
        read_cluster(f"slurm:{path}")


# ---- topology.yaml -------------------------------------------------------------------------------

FLAT_FIRST = """\
- topology: all
  cluster_default: true
  flat: true
- topology: wired
  tree:
    switches:
      - switch: s0
        nodes: n[0-1]
      - switch: top
        children: s0
- topology: cells
  block:
    blocks:
      - block: b0
        nodes: n[0-3]
      - block: b1
        nodes:
"""


def test_what_scontrol_show_topoconf_prints_may_have_any_name(tmp_path: Path) -> None:
    for begin in ("", "---\n", "# topologies\n\n---\n"):
        for name in ("t.txt", "topology.conf", "t"):
            assert read(tmp_path, begin + FLAT_FIRST, name=name)["switches"] == ["s0", "top"]
    found = read(tmp_path, FLAT_FIRST, ",topology=cells", name="t.txt")
    assert found["hosts"] == ["n0", "n1", "n2", "n3"]


def test_a_flat_default_leaves_the_named_ones(tmp_path: Path) -> None:
    found = read(tmp_path, FLAT_FIRST, name="t.yaml")
    assert found["switches"] == ["s0", "top"]
    assert "the default, all, is flat: taken is topology=wired" in str(found["notes"])
    assert "topology=cells" in str(found["notes"])
    blocks = read(tmp_path, FLAT_FIRST, ",topology=cells", name="t.yaml")
    assert blocks["switches"] == ["b0"]
    assert "block 'b1' has nothing below: left out" in str(blocks["notes"])
    with pytest.raises(BadInput, match=r"t\.yaml:1: topology all is flat, .*topology=wired has"):
        read(tmp_path, FLAT_FIRST, ",topology=all", name="t.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("switch: s0", "switch: [s0]", "t.yaml:7: `switch` is a list; expected text"),
        ("nodes: n[0-1]", "nodes: {n: 0}", "t.yaml:8: `nodes` is a table; expected text"),
        ("switches:", "switches: s0\n    more:", "t.yaml:6: `switches` is 's0'; expected a list"),
        ("- switch: s0", "- s0\n      - switch: s0", "t.yaml:7: 's0' where a switch is expected"),
        ("tree:", "tree: 2024-13-45\n  trees:", "t.yaml: |says nothing of switches"),
        ("topology: cells", "topology: wired", "t.yaml:11: topology 'wired' stands twice"),
        ("- topology: all", "- all", "t.yaml:"),
        ("flat: true", "flat: *x", r"t.yaml:3: \*x stands for nothing"),
    ],
)
def test_what_is_no_topology_is_told_with_its_line(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in FLAT_FIRST
    with pytest.raises(BadInput, match=message):
        read(tmp_path, FLAT_FIRST.replace(old, new, 1), ",topology=wired", name="t.yaml")


def test_dates_numbers_and_keys_of_yaml_are_texts(tmp_path: Path) -> None:
    text = (
        "- topology: 2024-13-45\n  1: 2\n  tree:\n    switches:\n"
        "    - {switch: 7, nodes: 'n[0-1]', 3: [4]}\n"
    )
    assert read(tmp_path, text, name="t.yaml")["switches"] == ["7"]


def in_tree(*lines: str) -> str:
    """A topology.yaml whose switches begin in line 4."""
    return "\n".join(["- topology: t", "  tree:", "    switches:", *lines, ""])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            in_tree(*("      - switch: s1", "        nodes: n0") * 2),
            "t.yaml:6: switch 's1' stands twice.*take this entry away, or that of line 4, to",
        ),
        (
            in_tree("      - switch: s1", "        nodes: n[0-3"),
            "t.yaml:5: .*brackets do not match.*take the entry away to read the rest",
        ),
        (
            in_tree("      - switch: s1", "\tnodes: n1"),
            "t.yaml:5: not valid YAML: .*; expected plain YAML, .*, with blanks, and no tabs",
        ),
        (
            in_tree("      - nodes: n1"),
            "t.yaml:4: expected the name of a switch, as in switch: s0; this entry has only nodes",
        ),
        (
            in_tree("      - switch: s1").replace("switches", "switch"),
            "expected `switches:` below `tree:`.*t.yaml:3: key `switch` is not known",
        ),
        ("- topology: t\n  tree:\n", "t.yaml:2: `tree` is empty, .*expected `switches:` below it"),
    ],
)
def test_a_topology_yaml_that_is_wrong_is_told_in_its_own_terms(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        read(tmp_path, text, name="t.yaml")
    assert "put #" not in str(caught.value)


def test_keys_of_topology_yaml_that_are_not_known_are_named(tmp_path: Path) -> None:
    leaf = ("      - switch: s0", "        nodes: n0", "      - switch: s1", "        node: n1")
    found = read(tmp_path, in_tree(*leaf), name="t.yaml")
    assert found["hosts"] == ["n0"]
    assert "passed over: t.yaml:7: key `node` is not known" in str(found["notes"])


def test_terminals_obey_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.yaml"
    text = in_tree("      - switch: a", "        nodes: n[0-1]").replace("t\n", '"t\\x1b[31m"\n', 1)
    text += '      - switch: "b\\x1b[31m\\n"\n        nodes: m0\n'
    path.write_text(f"{text}- topology: flat\n  flat: true\n")
    assert main(["topology", f"slurm:{path}{RATE}"]) == 0
    told = capsys.readouterr().err
    assert (
        "root=b-31m takes" in told
        and "b\\x1b[31m\\n is b-31m" in told
        and "topology=t\\x1b[31m" in told
    )
    assert "\x1b" not in told
    assert main(["topology", f"slurm:{path}{RATE},root=\x1b"]) == 2
    assert "\x1b" not in capsys.readouterr().err
