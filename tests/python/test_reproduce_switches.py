"""experiments/switches.toml: one setting for each real switch, and who has it."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

from allemande.errors import BadInput
from allemande.reproduce import experiment as experiments
from allemande.reproduce.cases import find_experiment_cluster, make_case
from allemande.reproduce.experiment import read_switches
from allemande.topology import load_cluster

ROOT = Path(__file__).parents[2]
FILES = [*ROOT.glob("clusters/*.toml"), *ROOT.glob("experiments/*/*.toml")]
KEYS = {
    "what",
    "clusters",
    "names",
    "architecture",
    "switching",
    "queue_packets",
    "uplink_packets",
    "link_mbit_s",
    "options",
    "module",
    "predicts",
}


def files_of(patterns: list[str]) -> list[Path]:
    relative = {str(path.relative_to(ROOT)): path for path in FILES}
    return [path for name, path in relative.items() if any(fnmatch(name, one) for one in patterns)]


@pytest.mark.parametrize("name", read_switches())
def test_cluster_files_have_the_setting_of_their_switch(name: str) -> None:
    switch = read_switches()[name]
    assert set(switch) <= KEYS
    files = files_of(switch["clusters"])
    assert files or not switch["clusters"]
    for path in files:
        cluster = load_cluster(path)
        hosts = {host.name for host in cluster.hosts}
        mine = {one.name for one in cluster.switches if one.name.startswith(tuple(switch["names"]))}
        for one in cluster.switches:
            if one.name in mine:
                found = (one.architecture, one.switching)
                assert found == (switch["architecture"], switch["switching"]), (path, one.name)
        for link in cluster.links:
            if link.from_ in hosts and link.to in mine and "queue_packets" in switch:
                assert link.queue_down_packets == switch["queue_packets"], path
            if link.from_ in mine and link.to not in hosts:
                if "uplink_packets" in switch:
                    assert link.queue_up_packets == switch["uplink_packets"], path
                if "link_mbit_s" in switch:
                    assert link.rate_up_mbit_s == switch["link_mbit_s"], path


def test_no_experiment_has_a_setting_of_its_own() -> None:
    for name in experiments.names():
        own = experiments.load(name).data
        if "switch" not in own:
            continue
        switch = read_switches()[own["switch"]]
        for key, value in switch.get("options", {}).items():
            assert own["options"][key] == value, name
        assert own.get("module") == switch.get("module"), name


def test_pauses_of_hosts_are_the_same_everywhere() -> None:
    pauses = {
        (options["jitter_us"], options["jitter_interval_us"])
        for options in (
            experiments.load(name).data.get("options", {}) for name in experiments.names()
        )
        if options.get("jitter") == "pause"
    }
    assert len(pauses) == 1


def test_the_module_is_on_every_link_between_switches() -> None:
    loaded = experiments.load("000-fig-10")
    curve = loaded.data["curve"][0]
    modules = make_case(loaded, curve, 1000).options["modules"]
    assert [(one["from"], one["to"]) for one in modules] == [(f"leaf{i}", "core") for i in range(4)]
    assert modules[0]["per_packet_ns"] == read_switches()["ibm-8275-326"]["module"]["per_packet_ns"]


def test_links_of_generated_networks_have_the_rate_of_the_switch() -> None:
    loaded = experiments.load("001-fig-11-14")
    cluster = find_experiment_cluster(loaded, "myrinet:4")
    rates = {
        (link.from_.startswith("h"), link.rate_up_mbit_s, link.rate_down_mbit_s)
        for link in cluster.links
    }
    assert rates == {(True, 1280.0, 1280.0), (False, 980.0, 980.0)}


def test_a_switch_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    text = 'title = "a"\nfigure = "b"\nkind = "curves"\nswitch = "c"\n'
    (tmp_path / "one" / "experiment.toml").write_text(text)
    (tmp_path / "switches.toml").write_text('[d]\nwhat = "e"\n')
    monkeypatch.setattr(experiments, "INSTALLED", tmp_path)
    with pytest.raises(BadInput, match="switch 'c' is unknown; expected one of d"):
        experiments.load("one")
