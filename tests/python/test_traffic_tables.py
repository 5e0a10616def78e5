"""LID tables for a given traffic: what meets on a port in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from allemande import _core
from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats.opensm_lfts import LidTables, load_tables, read_tables, write_tables
from allemande.patterns import Steps, make_steps, parse_pattern
from allemande.simulation.case import simulate
from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster
from allemande.traffic_tables import Tables, make_tables, tables_for_pattern


def names(cluster: Cluster, count: int) -> list[str]:
    return [host.name for host in cluster.hosts[:count]]


def drc(ranks: int) -> Steps:
    return make_steps(parse_pattern("drc"), ranks, 1000)


def worst_by_step(
    cluster: Cluster, hosts: list[str], steps: Steps, tables: Tables, lmc: int, offset: int = 0
) -> list[int]:
    """Messages by the fullest port, of each step; every message has to arrive."""
    switches = {switch.name: i for i, switch in enumerate(cluster.switches)}
    numbers = {host.name: i for i, host in enumerate(cluster.hosts)}
    far: dict[str, list[str]] = {switch: [] for switch in switches}
    leaf = {}
    for link in cluster.links:
        for here, there in ((link.from_, link.to), (link.to, link.from_)):
            if here in switches:
                far[here].append(there)
            else:
                leaf[here] = there
    found = []
    for step in steps:
        load: dict[tuple[str, int], int] = {}
        for source, destination, _ in step:
            node, goal = leaf[hosts[source]], hosts[destination]
            hops = 0
            while node != goal:
                number = tables[switches[node]][numbers[goal] << lmc | offset]
                load[node, number] = load.get((node, number), 0) + 1
                node = far[node][number - 1]
                hops += 1
                assert hops < 10
        found.append(max(load.values()))
    return found


@pytest.mark.parametrize("lmc", [0, 2])
def test_a_displaced_ring_meets_nowhere(lmc: int) -> None:
    """004 Figures 4 and 5: with four numbers a host, step 12 has four messages on a link."""
    cluster = find_cluster("ib-144")
    hosts, steps = names(cluster, 24), drc(24)
    usual = _core.make_routes(cluster, "lid", lmc).lid_tables()
    assert max(worst_by_step(cluster, hosts, steps, usual, lmc)) == (4 if lmc else 1)
    made = make_tables(cluster, hosts, steps, lmc)
    for offset in range(1 << lmc):
        assert max(worst_by_step(cluster, hosts, steps, made, lmc, offset)) == 1


def test_numbers_of_a_host_lead_to_different_spines() -> None:
    cluster = find_cluster("ib-144")
    made = make_tables(cluster, names(cluster, 24), drc(24), 2)
    leaf0 = next(i for i, one in enumerate(cluster.switches) if one.name == "leaf0")
    for host in range(12, 24):
        assert len(set(made[leaf0][4 * host : 4 * host + 4])) == 4


@pytest.mark.parametrize("pattern", ["drc", "allgather-ring", "allreduce"])
def test_tables_are_no_worse_than_a_subnet_managers(pattern: str) -> None:
    """Three levels, and hosts that a scheduler has scattered."""
    cluster = find_cluster("fat-tree:16")
    hosts = [f"h{(5 * i) % 16}" for i in range(16)]
    assert set(hosts) == {host.name for host in cluster.hosts}
    steps = make_steps(parse_pattern(pattern), 16, 1600)
    usual = _core.make_routes(cluster, "lid", 0).lid_tables()
    made = make_tables(cluster, hosts, steps)
    before = sum(worst_by_step(cluster, hosts, steps, usual, 0))
    after = sum(worst_by_step(cluster, hosts, steps, made, 0))
    assert after <= before
    if pattern == "drc":
        assert after < before


def test_the_simulator_is_faster_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "drc.dump"
    given = ["--lid-tables", str(dump), "--lmc", "2", "--lid-engine", "traffic"]
    assert main(["topology", "ib-144", *given, "--pattern", "drc", "--hosts", "h[0-23]"]) == 0
    capsys.readouterr()
    options: dict[str, Any] = {
        "pattern": "drc",
        "hosts": names(find_cluster("ib-144"), 24),
        "timer_jitter_us": 10,
    }
    usual = simulate("ib-144", size=100_000, routing="lid", lmc=2, **options)
    own = simulate("ib-144", size=100_000, routing="lid", lid_tables=str(dump), **options)
    assert own.step_s is not None and usual.step_s is not None
    assert max(usual.step_s) > 3 * min(usual.step_s)
    assert max(own.step_s) < 1.1 * min(own.step_s)


def test_a_dump_of_them_reads_back() -> None:
    cluster = find_cluster("leaf-spine:2x2x2")
    made = tables_for_pattern(cluster, None, "drc", 1)
    text = write_tables(cluster, LidTables(1, made))
    assert read_tables(cluster, text, "dump").ports == made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lid-engine", "traffic"], "--pattern and --hosts are of --lid-engine traffic"),
        (["--pattern", "drc"], "--pattern and --hosts are of --lid-engine traffic"),
        (["--hosts", "h[0-1]"], "--pattern and --hosts are of --lid-engine traffic"),
        (["--lid-engine", "traffic", "--pattern", "drc", "--hosts", "x"], "has no host 'x'"),
        (["--lid-engine", "traffic", "--pattern", "ring"], "pattern 'ring' is unknown"),
        (["--lid-engine", "traffic", "--pattern", "drc", "--lmc", "8"], "LMC of 8 has no place"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = str(tmp_path / "dump")
    assert main(["topology", "leaf-spine:2x2x2", "--lid-tables", dump, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "dump").exists()


def test_links_with_one_way_are_refused(tmp_path: Path) -> None:
    text = find_cluster("leaf-spine:2x2x2").to_toml()
    path = tmp_path / "one.toml"
    path.write_text(
        text + '\n[[link]]\nfrom = "leaf0"\nto = "spine0"\nrate_mbit_s = 100\none_way = true\n'
    )
    with pytest.raises(BadInput, match="has one way"):
        tables_for_pattern(find_cluster(str(path)), None, "drc")


def test_tables_load_from_the_file(tmp_path: Path) -> None:
    cluster = find_cluster("leaf-spine:2x2x2")
    (tmp_path / "a").write_text(
        write_tables(cluster, LidTables(0, tables_for_pattern(cluster, None, "drc")))
    )
    assert load_tables(cluster, str(tmp_path / "a")).lmc == 0
