"""What a lab needs of the machine and of its input, and how it says so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import BadInput, Failed
from allemande.lab import Lab, boot_plan, capacity, preflight, registry
from allemande.lab.network import Link, Network, Switch
from allemande.topology import Cluster, load_cluster, parse_cluster

ALLEMANDE = (sys.executable, "-m", "allemande", "lab")


TWO_FAST = """
format = 1
name = "fast"
[[switch]]
name = "s"
[[host]]
name = "h[0-1]"
[[link]]
from = "h[0-1]"
to = "s"
rate_mbit_s = 100000
"""


def star(hosts: int, mbit_s: float) -> Network:
    names = tuple(f"h{index}" for index in range(hosts))
    links = tuple(Link(name, "s", mbit_s, mbit_s, 1000, 43) for name in names)
    return Network("star", names, (Switch("s"),), links)


def cluster_of(network: Network) -> Cluster:
    return parse_cluster(network.to_toml("of a test"), network.name)


def test_a_scale_beyond_the_processors_is_refused() -> None:
    network = cluster_of(star(32, 100))
    with pytest.raises(
        BadInput, match=r"use --scale [0-9.]+ or less, or `allemande lab up --force`"
    ) as refused:
        capacity.check(network, 1, 2)
    largest = float(str(refused.value).split("--scale ")[1].split()[0])
    capacity.check(network, largest, 2)
    with pytest.raises(BadInput):
        capacity.check(network, 1.1 * largest, 2)


def test_the_scale_by_default_leaves_processors_to_spare() -> None:
    network = cluster_of(star(32, 100))
    chosen = capacity.default_scale(network, 2)
    assert 0 < chosen < 1
    capacity.check(network, 1.5 * chosen, 2)
    assert capacity.default_scale(network, 4) == pytest.approx(2 * chosen, rel=0.1)
    assert capacity.default_scale(cluster_of(star(60, 100)), 2) < chosen
    assert capacity.default_scale(cluster_of(star(4, 10)), 2) == 1  # never faster than the network


def test_what_crowded_uplinks_do_not_let_through_takes_no_processors() -> None:
    """Eight hosts whose uplinks carry half of what the hosts send."""
    uplinks, wide = load_cluster("shallow-4x2"), cluster_of(star(8, 100))
    assert capacity.default_scale(uplinks, 2) > 1.1 * capacity.default_scale(wide, 2)


def test_where_no_scale_is_given_the_lab_has_the_largest(
    registry_base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = registry_base / "fast.toml"
    path.write_text(TWO_FAST)
    scale = capacity.default_scale(load_cluster(path), len(os.sched_getaffinity(0)))
    assert main(["lab", "up", str(path)]) == 0
    said = capsys.readouterr()
    assert f"scale {scale:g}: the largest" in said.err and f"scale {scale:g}, timers" in said.out
    with Lab.attach() as lab:
        assert lab.scale == scale < 1
        assert lab.timers.name == "scaled"
    with Lab.boot(path, shape=False) as lab:
        assert (lab.scale, lab.notes) == (1, [])


def test_the_scale_named_in_the_refusal_passes() -> None:
    assert capacity.round_down(0.3157) == 0.31
    assert capacity.round_down(0.0999) == 0.099
    assert capacity.round_down(12.7) == 12.0


def test_bad_command_lines_exit_with_2_and_name_what_is_valid(
    lab: Lab, cluster: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*words: str) -> str:
        assert main(["lab", *words]) == 2
        return capsys.readouterr().err

    text = refused("exec", "h7", "--", "true")
    assert "no host 'h7'" in text and "h0, h1, h2, h3" in text
    text = refused("exec", "leaf0", "--", "true")
    assert "'leaf0' is a switch" in text and "h0, h1, h2, h3" in text
    assert "unshaped" in refused("up", str(cluster), "--offloads")
    assert "-- COMMAND" in refused("exec", "h0")
    assert "-- COMMAND" in refused("run")
    assert "name the CLUSTER" in refused("run", "--scale", "0.1", "--", "true")
    assert "name the CLUSTER" in refused("run", "--timers", "real", "--", "true")
    assert "scaled" in refused("up", str(cluster), "--timers", "fast")
    assert "one of them" in refused("run", str(cluster), "--lab", lab.name, "--", "true")
    assert "running: small" in refused("down", "other")
    assert "running: small" in refused("stats", "other")
    assert "tam-8x4" in refused("up", "tam-8x5")
    assert "above 0" in refused("up", str(cluster), "--scale", "0")
    assert "--force" in refused("up", str(cluster), "--scale", "500")


def test_a_missing_tool_is_named_with_its_package(
    cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Failed, match=r"needs ip, .*apt-get install coreutils iproute2 util-linux"):
        Lab.boot(cluster)


def test_a_user_who_may_not_make_namespaces_learns_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(
        preflight, "read_setting", lambda name: "0" if name == "user/max_user_namespaces" else None
    )
    assert "sysctl -w user.max_user_namespaces" in preflight.no_namespaces("no space left")
    monkeypatch.setattr(preflight, "read_setting", lambda name: None)
    assert "run the lab as root" in preflight.no_namespaces("not permitted")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "CAP_SYS_ADMIN" in preflight.no_namespaces("not permitted")


def test_root_without_the_right_to_make_namespaces(cluster: Path, registry_base: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("drops a capability of root's")
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", *ALLEMANDE, "up", str(cluster)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "root may not make namespaces here" in done.stderr
    assert not (registry_base / "allemande").exists()


def test_a_registry_that_others_can_write_is_refused(cluster: Path, registry_base: Path) -> None:
    (registry_base / "allemande").mkdir()
    (registry_base / "allemande").chmod(0o777)
    with pytest.raises(Failed, match="only you can use"):
        Lab.boot(cluster)


def test_entries_of_dead_labs_are_removed(registry_base: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    directory = registry.claim("gone", exact=True)
    registry.write(directory / "boot.json", {"pid": dead.pid, "start": 1})
    assert registry.running() == []
    assert not directory.exists()


def test_a_host_has_one_to_eight_links(registry_base: Path) -> None:
    network = star(3, 10)
    Network("two", network.hosts, network.switches, (*network.links, network.links[0])).check("x")
    for links in (network.links[1:], network.links + 8 * network.links[:1]):
        with pytest.raises(BadInput, match="from one link to 8"):
            Network("odd", network.hosts, network.switches, links).check("odd.toml")


def test_a_missing_emulator_is_named(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "EMULATOR", cluster.parent / "nothing")
    with pytest.raises(Failed, match=r"nothing, which `make build` makes"):
        Lab.boot(cluster)
    Lab.boot(cluster, shape=False).close()


def test_what_the_emulator_has_against_a_lab_is_said(
    cluster: Path, registry_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = registry_base / "emulate"
    stand_in.write_text(
        f"#!{sys.executable}\nimport os, sys\nos.write(int(sys.argv[-1]), b'it cannot be\\n')\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setattr(preflight, "EMULATOR", stand_in)
    with pytest.raises(Failed, match="the lab cannot be built: it cannot be"):
        Lab.boot(cluster)
    assert not (registry_base / "allemande").exists()


def test_destinations_spread_over_parallel_paths() -> None:
    """Two leaves, two spines: each leaf reaches the other's hosts over both, none over a host."""
    hosts = ("h0", "h1", "h2", "h3")
    host_links = tuple(
        Link(host, leaf, 10, 10, 9, 9)
        for host, leaf in zip(hosts, ("l0", "l0", "l1", "l1"), strict=True)
    )
    pairs = [(leaf, spine) for leaf in ("l0", "l1") for spine in ("s0", "s1")]
    fabric = tuple(Link(leaf, spine, 10, 10, 9, 9) for leaf, spine in pairs)
    switches = tuple(Switch(name) for name in ("l0", "l1", "s0", "s1"))
    routes = Network("two-spines", hosts, switches, host_links + fabric).routes()
    assert [port.peer for port in routes["l0"] if port] == ["h0", "h1", "s0", "s1"]
    assert {port.peer for port in routes["s0"] if port} == {"l0", "l1"}


def test_shaping_counts_packets_and_lets_one_frame_through() -> None:
    network = star(2, 10)
    root, child = boot_plan.shaping(network, network.ports()[0])
    assert root == (
        "qdisc add dev eth0 root handle 1: tbf rate 10000000bit burst 1764 limit 1514000"
    )
    assert child == "qdisc add dev eth0 parent 1:1 handle 10: pfifo limit 1000"
    preamble = Network("x", network.hosts, network.switches, network.links, link_header_bytes=38)
    assert "stab overhead 24" in boot_plan.shaping(preamble, preamble.ports()[0])[0]


def test_a_multipath_network_carries_every_pair(registry_base: Path) -> None:
    path = registry_base / "two-spines.toml"
    path.write_text(
        """
        format = 1
        name = "two-spines"
        [framing]
        mtu_bytes = 9000
        [[switch]]
        name = "leaf[0-1]"
        [[switch]]
        name = "spine[0-1]"
        [[host]]
        name = "n.[0-3]"
        [[link]]
        from = "n.[0-1]"
        to = "leaf0"
        rate_mbit_s = 10
        [[link]]
        from = "n.[2-3]"
        to = "leaf1"
        rate_mbit_s = 10
        [[link]]
        from = "leaf[0-1]"
        to = "spine0"
        rate_mbit_s = 10
        [[link]]
        from = "leaf[0-1]"
        to = "spine1"
        rate_mbit_s = 10
        """
    )
    send = "import socket, sys; socket.socket(2, 2).sendto(bytes(8972), (sys.argv[1], 9))"
    with Lab.boot(path) as lab:
        for host in lab.hosts:
            for other in lab.hosts:
                if host != other:
                    lab.exec(host, [sys.executable, "-c", send, other], check=True)
        # Each host gets a frame of 9014 bytes from each of the three others.
        deadline = time.monotonic() + 30
        while any(
            port.sent_bytes < 3 * 9014 for port in lab.stats().ports if port.peer in lab.hosts
        ):
            assert time.monotonic() < deadline
