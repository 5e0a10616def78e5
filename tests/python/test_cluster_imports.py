"""KIND:FILE wherever a cluster is named: which kinds there are, and files under a wrong name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.python.readers import plan_json as plan_reader

from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats import plan_json
from allemande.formats.cluster_imports import is_import, read_import
from allemande.formats.recognise import IMPORT_FORMS, READ, kind_of
from allemande.formats.schedule import make_schedule
from allemande.simulation.networks import as_cluster_file, find_cluster
from allemande.topology import load_cluster

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "imports"
FILES = {
    "topology.conf": "slurm",
    "scontrol-show-topology.txt": "slurm",
    "islands.conf": "slurm",
    "slurm-topologies.yaml": "slurm",
    "ibnetdiscover.txt": "ibnetdiscover",
    "ibsim.net": "ibnetdiscover",
    "two_rails.ibnet": "ibnetdiscover",
    "default_names.ibnet": "ibnetdiscover",
    "platform.xml": "simgrid",
    "routes.xml": "simgrid",
    "three-tiers.topo": "htsim",
    "two-tiers.topo": "htsim",
}
LSTOPO = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0"></object>
</topology>
"""


def test_every_fixture_is_known_by_its_first_lines() -> None:
    assert {path.name: kind_of(path.read_text()) for path in FIXTURES.iterdir()} == FILES


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", READ)
def test_a_file_under_a_wrong_kind_is_told_the_right_one(name: str, kind: str) -> None:
    if FILES[name] != kind:
        with pytest.raises(BadInput, match=rf"say {FILES[name]}:.*{re.escape(name)}"):
            read_import(f"{kind}:{FIXTURES / name}")


@pytest.mark.parametrize("name", FILES)
def test_a_file_under_no_kind_is_told_its_own(name: str) -> None:
    with pytest.raises(BadInput, match=rf"say {FILES[name]}:.*{re.escape(name)}"):
        find_cluster(str(FIXTURES / name))


def test_what_lstopo_writes_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(LSTOPO)
    for begin in ("", "lstopo:", "hwloc:", *(f"{kind}:" for kind in READ)):
        assert main(["topology", f"{begin}{path}"]) == 2
        told = capsys.readouterr().err
        assert "lstopo (hwloc)" in told and "no network is described" in told
        assert "give what ibnetdiscover or" in told
    path.write_text("Machine (31GB total)\n  Package L#0\n")
    with pytest.raises(BadInput, match="lstopo"):
        find_cluster(f"slurm:{path}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-4] CPUs=4\n", "give topology.conf"),
        ("NodeName=n[1-4] CPUs=4\n", "give topology.conf"),
        ("CA    1  1 0x0002c9030001 4x QDR - SW  2  3 0x0002c9020001\n", "without them"),
        ('Ca\t : 0x0002c9030001 ports 1 devid 0x673c vendid 0x2c9 "h0 HCA-1"\n', "without them"),
    ],
)
def test_files_that_lie_beside_a_network_are_refused_by_name(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    for begin in ("", "slurm:", "simgrid:"):
        with pytest.raises(BadInput, match=told):
            find_cluster(f"{begin}{path}")


def test_schedules_are_no_clusters(tmp_path: Path) -> None:
    path = tmp_path / "flows"
    path.write_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1\n")
    with pytest.raises(BadInput, match=r"connection matrix of htsim.*\.topo"):
        find_cluster(f"htsim:{path}")
    path.write_text('<algo name="a" ngpus="2"></algo>')
    with pytest.raises(BadInput, match="schedule of MSCCL"):
        find_cluster(f"simgrid:{path}")


@pytest.mark.parametrize("name", ["platform.xml", "three-tiers.topo"])
def test_new_kinds_stand_where_the_others_do(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{FILES[name]}:{FIXTURES / name}"
    out = tmp_path / "cluster.toml"
    assert main(["topology", text, "-o", str(out)]) == 0
    assert load_cluster(out).to_toml() == find_cluster(text).to_toml()
    assert main(["simulate", text, "--size", "1KB", "--json", "-"]) == 0
    assert main(["emit", "json", "--algorithm", "direct", "--size", "1K", "--cluster", text]) == 0
    with as_cluster_file(text) as file:
        assert len(load_cluster(file).hosts) == len(find_cluster(text).hosts)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (",rate_mbit_s=0", "rate_mbit_s=0 is out of range; expected a number above 0"),
        (",rate_mbit_s=" + "9" * 13, "rate_mbit_s '9+' is not valid"),
        (",queue_packets=0", "queue_packets=0 is out of range; expected 1 to"),
        (",mtu_bytes=100", "mtu_bytes=100 is out of range; expected 576 to 9216"),
        (",latency_us=x", "latency_us 'x' is not valid; expected a number"),
        (",root=nothing", "root=nothing: no switch is called so; expected one of"),
        (",colour=1", "'colour' is no option of"),
    ],
)
@pytest.mark.parametrize("name", ["ibsim.net", "platform.xml", "two-tiers.topo"])
def test_options_are_checked_by_name(name: str, options: str, message: str) -> None:
    kind = FILES[name]
    port = ",port=first" if kind == "ibnetdiscover" else ""
    with pytest.raises(BadInput, match=message) as caught:
        find_cluster(f"{kind}:{FIXTURES / name}{port}{options}")
    assert not re.search(r"net:\d|xml:\d|topo:\d", str(caught.value))


def test_messages_cite_the_users_file_alone(tmp_path: Path) -> None:
    """What is generated on the way has lines, too: none of them may be told."""
    path = tmp_path / "topology.conf"
    path.write_text("# a\n\nSwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n1\n")
    with pytest.raises(BadInput, match=r"topology\.conf:4: node 'n1' hangs on 's0' and 's1'"):
        find_cluster(f"slurm:{path},rate_mbit_s=1")


@pytest.mark.parametrize("name", ["träge \N{GRINNING FACE}.conf", "a,b.conf", "-.conf"])
def test_any_file_name_will_do(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("SwitchName=s0 Nodes=n[0-1]\n")
    assert len(find_cluster(f"slurm:{path},rate_mbit_s=1").hosts) == 2


@pytest.mark.parametrize(
    "name",
    ["\udcff", "torus:\udcff", "\udcff.toml", "slurm:\udcff", "a\0b", "torus:2x2\n", "x" * 5000],
)
def test_names_that_no_file_has_are_refused(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        find_cluster(name)
    str(caught.value).encode()


def test_a_file_that_is_called_like_an_import_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_import("slurm:x.toml") and not is_import("torus:2x2") and not is_import("slurm")
    (tmp_path / "slurm:x.toml").write_text(load_cluster("tam-8x1").to_toml())
    assert find_cluster("slurm:x.toml").name == "tam-8x1"


def test_help_and_documents_name_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["topology"], ["simulate"], ["bench"], ["lab", "up"]):
        assert main([*command, "--help"]) == 0
        told = re.sub(r"[^A-Za-z:]+", "", capsys.readouterr().out)
        for kind in READ:
            assert f"{kind}:FILE" in told
    assert IMPORT_FORMS == "slurm:FILE, ibnetdiscover:FILE, simgrid:FILE or htsim:FILE"
    for document in ("docs/formats.md", "docs/cluster-file.md"):
        text = (ROOT / document).read_text()
        for kind in READ:
            assert f"`{kind}:FILE`" in text


def test_a_plan_of_no_ranks_ends_at_once() -> None:
    """Ranks that are only claimed are not looked at one by one."""
    text = "".join(plan_json.write(make_schedule("direct", 100, ranks=2)))
    claimed = text.replace('"ranks": 2', '"ranks": 999999999')
    with pytest.raises(BadInput, match="plans of 2 ranks; expected all 999999999"):
        plan_reader.read(claimed, "plan.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rate_mbit_s=10,rate_mbit_s=20", "rate_mbit_s= is given twice"),
        ("rate_mbit_s=10, root=s0", "' root' is no option of slurm"),
        ("RATE_MBIT_S=10", "'RATE_MBIT_S' is no option of slurm"),
        ("root=", "root= says nothing; expected root=VALUE"),
        ("topology=x", r"topology= is of topology\.yaml"),
    ],
)
def test_options_that_say_nothing_sure_are_refused(options: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_import(f"slurm:{FIXTURES / 'topology.conf'},{options}")


def test_what_is_there_or_not_is_told_as_it_is(tmp_path: Path) -> None:
    named = tmp_path / "s.conf,root=s0"
    named.write_text("SwitchName=s0 Nodes=h[0-3]\n")
    assert len(read_import(f"slurm:{named},rate_mbit_s=10")[0].hosts) == 4
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="a pipe or device, which is no plain file"):
        find_cluster(str(tmp_path / "pipe"))
    with pytest.raises(BadInput, match="none: no such file"):
        read_import(f"lstopo:{tmp_path}/none")
