"""Routes as commands take them: LID tables in OpenSM's format, rules, rerouting, deadlock."""

from __future__ import annotations

from pathlib import Path

import pytest

from allemande import _core
from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats.opensm_lfts import (
    LidTables,
    make_dump,
    read_fabric,
    read_tables,
    write_tables,
)
from allemande.simulation.case import simulate
from allemande.simulation.networks import find_cluster

# pytest: one test each.
RULES = (
    *("ecmp", "d-mod-k", "source", "lid", "updown", "valiant"),
    *("fm1", "fm2", "alternate", "random", "least-loaded"),
)


def test_dumps_are_read_back() -> None:
    cluster = find_cluster("fat-tree:16")
    for lmc, engine in ((0, "minhop"), (3, "updn")):
        ours = LidTables(lmc, _core.make_routes(cluster, "lid", lmc, engine).lid_tables())
        text = make_dump(cluster, lmc, engine)
        assert read_tables(cluster, text, "dump") == ours
        assert write_tables(cluster, ours, read_fabric(text, "dump")) == text


# As OpenSM 3.3.23 dumps them, and as ibroute prints them.
DUMP = """\
Unicast lids [0-4] of switch Lid 1 guid 0x0000000000200000 ('s0'):
0x0001 000 # Switch portguid 0x0000000000200000: 's0'
0x0002 001 # Channel Adapter portguid 0x0000000000100001: 'h0 HCA-1'
0x0003 002 # Channel Adapter portguid 0x0000000000100003: 'h1 HCA-1'
3 lids dumped
"""


def test_names_are_first_words_and_what_is_wrong_is_said() -> None:
    cluster = find_cluster("torus:1,hosts=2")
    assert read_tables(cluster, DUMP, "dump") == LidTables(0, [[1, 2]])
    older = DUMP.replace("# Channel", ": (Channel").replace("HCA-1'", "HCA-1')")
    assert read_tables(cluster, older, "dump") == LidTables(0, [[1, 2]])
    for text, message in (
        ("nothing\n", "no table is in it"),
        (DUMP.replace("'h1 ", "'h7 "), "host 'h1' of cluster torus-1 has no LID"),
        (DUMP.replace("('s0')", "('s9')"), "switch 's0' of torus-1 has no table"),
        (DUMP.replace("0x0003 002", "0x0003 two"), "dump:4: .* cannot be read"),
        (DUMP + "0x0004 002 # Channel Adapter portguid 0x1: 'h1'\n", "have .1, 2. LIDs"),
    ):
        with pytest.raises(BadInput, match=message):
            read_tables(cluster, text, "dump")


def test_the_command_writes_tables_the_simulator_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "lfts.dump"
    net = "lossless-leaf-spine:2x2x2"
    assert main(["topology", net, "--lid-tables", str(dump), "--lmc", "1"]) == 0
    own = simulate(net, size=5000, routing="lid", lmc=1)
    outside = simulate(net, size=5000, routing="lid", lid_tables=str(dump))
    assert outside.time_s == own.time_s
    # Both leaves send what is for h0 upwards.
    dump.write_text(dump.read_text().replace(" 001 # Channel", " 003 # Channel", 1))
    with pytest.raises(BadInput, match="number 0 of host `h0` leads from `h0`"):
        simulate(net, size=5000, routing="lid", lid_tables=str(dump))
    capsys.readouterr()
    assert main(["topology", net, "--lmc", "2"]) == 2
    assert main(["topology", net, "--lid-tables", "-", "--lmc", "8"]) == 2
    assert "an LMC of 8 has no place in a LID; expected 0 to 7" in capsys.readouterr().err


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_delivers_everything(rule: str) -> None:
    result = simulate("leaf-spine:2x3x2", size=20_000, routing=rule, exchanges=3)
    assert result.dropped == 0
    # Where each packet finds its own way, one of the next exchange may come first.
    assert result.retransmitted <= (10 if rule in ("random", "valiant") else 0)
    assert 0.3 < result.fraction_of_limit <= 1


def test_options_of_other_rules_are_refused() -> None:
    with pytest.raises(BadInput, match="are of routing=lid"):
        simulate("leaf-spine:2x2x2", size=1000, routing="ecmp", lmc=2)
    with pytest.raises(BadInput, match="expected minhop or updn"):
        simulate("leaf-spine:2x2x2", size=1000, routing="lid", lid_engine="dor")
    with pytest.raises(BadInput, match="at most 512"):
        simulate("leaf-spine:300x2x1", size=1000, routing="fm2")


# A trunk is down from the start to the end; what is lost meanwhile is sent again another way.
def test_routes_change_after_the_stated_delay() -> None:
    net = "leaf-spine:2x2x2"
    fault = {"kind": "link-down", "from": "leaf0", "to": "spine0", "start_us": 100}
    slow = simulate(net, size=200_000, faults=[fault], reroute_us=5000)
    fast = simulate(net, size=200_000, faults=[fault], reroute_us=500)
    assert fast.dropped > 0
    assert fast.time_s < slow.time_s
    down = [port for port in fast.raw["ports"] if port["name"] == "leaf0 -> spine0"]
    whole = simulate(net, size=200_000)
    used = [port for port in whole.raw["ports"] if port["name"] == "leaf0 -> spine0"]
    assert down[0]["packets"] < used[0]["packets"] / 2


def test_routes_that_can_deadlock_are_told_with_the_circle(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ring = simulate("lossless-torus:5", size=1000)
    assert len(ring.warnings) == 1
    assert "can deadlock a lossless network" in ring.warnings[0]
    assert "s0 -> s1, s1 -> s2" in ring.warnings[0]
    assert simulate("lossless-torus:5", size=1000, routing="updown").warnings == []
    assert simulate("torus:5", size=1000).warnings == []
    assert main(["simulate", "lossless-torus:5", "--size", "1000"]) == 0
    assert "warning: these routes can deadlock" in " ".join(capsys.readouterr().out.split())
    cluster = find_cluster("myrinet:4")
    assert _core.make_routes(cluster, "fm1").path("h0", "h8")[1] == "s0 -> s2"
