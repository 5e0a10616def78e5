"""Labs whose switches route: several paths, a hash that picks one, links that fail."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.lab.networks import leaf_spine, links

from allemande.cli import main
from allemande.errors import BadInput, Failed
from allemande.flow_limit import flow_limit
from allemande.lab import Lab, boot_plan
from allemande.lab.network import BRIDGES, FORWARDING
from allemande.lab.stats import PortStats, Stats
from allemande.simulation.case import simulate
from allemande.topology import load_cluster

TWO_SPINES = leaf_spine("two-spines", spines=2)

# What hosts say on their own: ICMP's answers.
OWN = 6

# From one source port, or from one after the other.
SEND = """
import socket, sys
address, count, ports = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
kind = socket.AF_INET6 if ":" in address else socket.AF_INET
senders = [socket.socket(kind, socket.SOCK_DGRAM) for _ in range(ports)]
for number, sender in enumerate(senders):
    sender.bind(("", 20000 + number))
for turn in range(count):
    senders[turn % ports].sendto(bytes(100), (address, 9))
"""

# Routers answer what ends at the second of them; says who answered how often.
PROBE = """
import collections, socket, struct, sys
IP_RECVERR = 11
answers = collections.Counter()
for port in range(20000, 20064):
    prober = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    prober.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
    prober.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 2)
    prober.settimeout(5)
    prober.bind(("", port))
    prober.sendto(b"", (sys.argv[1], 9))
    try:
        prober.recv(100)
    except OSError:
        _, control, _, _ = prober.recvmsg(100, 512, socket.MSG_ERRQUEUE)
        answers[socket.inet_ntoa(control[0][2][20:24])] += 1
for address, count in answers.items():
    print(address, count)
"""


@pytest.fixture
def cluster(registry_base: Path) -> Path:
    path = registry_base / "two-spines.toml"
    path.write_text(TWO_SPINES)
    return path


def send(lab: Lab, host: str, address: str, count: int, ports: int) -> None:
    words = [sys.executable, "-c", SEND, address, str(count), str(ports)]
    lab.exec(host, words, check=True)


def settled(lab: Lab, before: Stats) -> Stats:
    """The counters once nothing moves any more."""
    deadline = time.monotonic() + 30
    last = lab.stats()
    while True:
        time.sleep(0.05)
        now = lab.stats()
        if now.ports == last.ports:
            return now.since(before)
        assert time.monotonic() < deadline
        last = now


def port(counted: Stats, node: str, peer: str) -> PortStats:
    return next(found for found in counted.ports if (found.node, found.peer) == (node, peer))


def over_spines(counted: Stats) -> list[int]:
    return [port(counted, "leaf0", f"spine{number}").sent_packets for number in (0, 1)]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_flow_keeps_its_path_and_flows_spread(lab: Lab, family: str) -> None:
    assert lab.routed
    address = getattr(lab.network, family)("h3")
    before = lab.stats()
    send(lab, "h0", address, 100, ports=1)
    one = over_spines(settled(lab, before))
    assert max(one) >= 100 and min(one) <= OWN, one
    before = lab.stats()
    send(lab, "h0", address, 192, ports=64)
    many = over_spines(settled(lab, before))
    assert min(many) >= 48, many


def test_every_probe_is_answered_by_the_router_it_reaches(lab: Lab) -> None:
    done = lab.exec(
        "h0",
        [sys.executable, "-c", PROBE, lab.network.ipv4("h3")],
        capture_output=True,
        text=True,
        check=True,
    )
    answers = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
    assert set(answers) == {"198.19.0.3", "198.19.0.4"}  # the third and fourth switch
    assert sum(answers.values()) == 64


def test_routes_have_the_timers_of_the_lab(cluster: Path) -> None:
    with Lab.boot(cluster, scale=0.5) as lab:
        routes = lab.exec("h0", ["ip", "route"], capture_output=True, text=True).stdout
    assert "rto_min lock 400ms congctl cubic" in routes


def test_flows_take_the_same_paths_in_every_lab_of_a_file(cluster: Path) -> None:
    def loads() -> list[int]:
        with Lab.boot(cluster) as lab:
            before = lab.stats()
            send(lab, "h0", lab.network.ipv4("h3"), 20, ports=20)
            return over_spines(settled(lab, before))

    first, second = loads(), loads()
    assert all(abs(one - other) <= OWN for one, other in zip(first, second, strict=True))


def test_bridges_stay_to_be_had(cluster: Path) -> None:
    with Lab.boot(cluster, forwarding=BRIDGES) as lab:
        assert not lab.routed
        before = lab.stats()
        send(lab, "h0", lab.network.ipv4("h3"), 64, ports=64)
        assert min(over_spines(settled(lab, before))) <= OWN
        with pytest.raises(BadInput, match="nothing to withdraw"):
            lab.degrade("leaf0", "spine0", down=True, withdraw_ms=1)
        lab.degrade("h3", "leaf1", down=True)
        before = lab.stats()
        send(lab, "h0", lab.network.ipv4("h3"), 10, ports=1)
        assert port(settled(lab, before), "leaf1", "h3").sent_packets >= 10
        row = next(row for row in lab.stats().hosts if row.host == "h3")
        assert row.udp_received == 0


def test_a_slow_link_has_the_rate_it_is_given(lab: Lab) -> None:
    for spine in ("spine0", "spine1"):
        lab.degrade("leaf0", spine, rate=0.001)
    before = lab.stats()
    begin = time.monotonic()
    send(lab, "h0", lab.network.ipv4("h3"), 600, ports=64)
    spines = ("spine0", "spine1")
    deadline = time.monotonic() + 30
    counted = lab.stats().since(before)
    while any(port(counted, "leaf0", spine).dropped_packets <= 100 for spine in spines):
        assert time.monotonic() < deadline, counted
        time.sleep(0.05)
        counted = lab.stats().since(before)
    elapsed = time.monotonic() - begin
    for spine in spines:
        row = port(counted, "leaf0", spine)
        assert row.rate_mbit_s == pytest.approx(0.01)
        # 9 packets of 142 bytes a second; as many wait as the queue has places, no more.
        assert row.sent_packets <= 2 + 9 * elapsed
        assert row.queue_high_water == 45
    lab.restore("leaf0", "spine0")
    after = lab.stats()
    assert port(after, "leaf0", "spine0").rate_mbit_s == 10
    assert [row["link"] for row in after.degraded] == ["leaf0:spine1"]


def test_a_dead_link_swallows_until_its_next_hops_are_withdrawn(lab: Lab) -> None:
    address = lab.network.ipv4("h3")
    lab.degrade("leaf1", "spine0", down=True)
    before = lab.stats()
    send(lab, "h0", address, 192, ports=64)
    counted = settled(lab, before)
    swallowed, passed = over_spines(counted)
    assert swallowed >= 48
    assert abs(swallowed + passed - 192) <= OWN
    assert abs(port(counted, "leaf1", "h3").sent_packets - passed) <= OWN
    begin = time.monotonic()
    lab.degrade("leaf1", "spine0", down=True, withdraw_ms=50)
    assert time.monotonic() - begin >= 0.05
    before = lab.stats()
    send(lab, "h0", address, 192, ports=64)
    counted = settled(lab, before)
    # Also the leaf at the other end avoids the spine that has no way any more.
    assert over_spines(counted)[0] <= OWN
    assert port(counted, "leaf1", "h3").sent_packets >= 192
    lab.restore("spine0", "leaf1")
    before = lab.stats()
    send(lab, "h0", address, 192, ports=64)
    assert min(over_spines(settled(lab, before))) >= 48
    assert lab.stats().degraded == ()


def test_a_lossy_link_loses_its_part(lab: Lab) -> None:
    lab.degrade("h0", "leaf0", loss=0.9)
    lab.degrade("leaf0", "h0", loss=0.5)  # both ways, instead
    before = lab.stats()
    send(lab, "h0", lab.network.ipv4("h1"), 1000, ports=4)
    counted = settled(lab, before)
    assert 400 <= port(counted, "leaf0", "h1").sent_packets <= 600
    assert port(counted, "h0", "leaf0").sent_packets >= 980  # a socket of the host's may be full


def test_degrading_refuses_what_it_cannot_do(
    lab: Lab, capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    def refused(*words: str) -> str:
        assert main(["lab", "degrade", *words]) == 2
        return capsys.readouterr().err

    assert "no host or switch 'spine7'; did you mean 'spine" in refused("leaf0:spine7", "--down")
    assert "no link h0:h1; h0 is linked to: leaf0" in refused("h0:h1", "--down")
    assert "two nodes" in refused("leaf0", "--down")
    assert "one of --rate F" in refused("leaf0:spine0")
    assert "one of --rate F" in refused("leaf0:spine0", "--down", "--restore")
    assert "0.0001 to 1" in refused("leaf0:spine0", "--rate", "1.5")
    assert "0.0001 to 1" in refused("leaf0:spine0", "--rate", "1e-12")
    assert "below 1" in refused("leaf0:spine0", "--loss", "1")
    assert "goes with --down" in refused("leaf0:spine0", "--loss", "0.1", "--withdraw", "5")
    assert lab.stats().degraded == ()
    with pytest.raises(BadInput, match="bridges, routers"):
        Lab.boot(cluster, forwarding="hubs")
    with Lab.boot(cluster, shape=False) as bare, pytest.raises(BadInput, match="cannot get worse"):
        bare.degrade("leaf0", "spine0", rate=0.5)


def test_what_fails_half_way_can_be_restored(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(boot_plan, "reshaping", lambda *_: "qdisc change dev eth0 root nonsense")
        with pytest.raises(Failed, match="cannot change the links of h3"):
            lab.degrade("h3", "leaf1", rate=0.001)
    assert [row["link"] for row in lab.stats().degraded] == ["h3:leaf1"]
    lab.restore("h3", "leaf1")
    assert lab.stats().degraded == ()


def test_stats_show_what_is_degraded(lab: Lab) -> None:
    assert main(["lab", "degrade", "spine1:leaf0", "--loss", "0.25"]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "allemande", "lab", "stats", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["degraded"] == [
        {"link": "leaf0:spine1", "rate": 1.0, "loss": 0.25, "withdrawn": False}
    ]
    assert main(["lab", "degrade", "spine1:leaf0", "--restore"]) == 0


TWO_NICS = (
    'format = 1\nname = "two-nics"\n[[switch]]\nname = "a"\n[[switch]]\nname = "b"\n'
    '[[host]]\nname = "h[0-2]"\nlinks = 2\n'
    + links("h[0-2]", "a", rate_mbit_s=10)
    + links("h[0-2]", "b", rate_mbit_s=20)
)


@pytest.mark.parametrize("forwarding", FORWARDING)
def test_a_host_with_two_links_has_an_address_on_each(registry_base: Path, forwarding: str) -> None:
    path = registry_base / "two-nics.toml"
    path.write_text(TWO_NICS)
    with Lab.boot(path, forwarding=forwarding) as lab:
        read = load_cluster(lab.cluster_file)
        assert read.hosts[2].address == "198.18.0.3"
        assert read.hosts[1].interfaces == ["eth0", "eth1"]
        for switch, address in (("a", "198.18.0.3"), ("b", "198.18.32.3")):
            before = lab.stats()
            send(lab, "h0", address, 20, ports=1)
            counted = settled(lab, before)
            assert port(counted, "h0", switch).sent_packets >= 20
            assert port(counted, switch, "h2").sent_packets >= 20
            assert port(counted, switch, "h1").sent_packets <= OWN
    # Both links together: 3 hosts send 2 x 1 MB each at 30 Mbit/s.
    frame_bytes = -(-1_000_000 // 1472) * 42 + 1_000_000
    assert flow_limit(read, None, 1_000_000).seconds == pytest.approx(
        2 * frame_bytes * 8 / 30e6, rel=0.001
    )


def test_libraries_run_patterns_over_routers(cluster: Path, tmp_path: Path) -> None:
    """Stock and ours, every byte checked, and the same bytes as in the simulator."""
    path = tmp_path / "out.json"
    words = ["bench", "--lab", str(cluster), "--scale", "1", "--pattern", "alltoall-phased"]
    words += ["--sizes", "3000", "--against", "mpich,allemande+openmpi", "--rounds", "1"]
    assert main([*words, "--calls", "1", "--seconds", "0", "--json", str(path)]) == 0
    figures = json.loads(path.read_text())
    assert [figure["candidate"] for figure in figures] == ["mpich", "allemande+openmpi"]
    simulated = simulate(str(cluster), size=3000, pattern="alltoall-phased")
    for figure in figures:
        assert figure["wrong_bytes"] == 0
        assert len(figure["step_s"]) == len(simulated.step_s or []) == 6
        assert figure["median_s"] == pytest.approx(sum(figure["step_s"]), rel=0.5)
        assert figure["delivered_bytes"] == simulated.delivered_bytes == 4 * 3 * 3000
        assert figure["limit_s"] == pytest.approx(simulated.limit_s)
