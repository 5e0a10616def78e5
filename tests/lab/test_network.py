"""What a lab's network does: names, addresses, rates, queues, quiet."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from allemande.errors import BadInput
from allemande.lab import Lab
from allemande.lab.network import HOST_DEVICE
from allemande.lab.stats import Stats
from allemande.topology import load_cluster

SEND = """
import socket, sys
address, count = sys.argv[1], int(sys.argv[2])
kind = socket.AF_INET6 if ":" in address else socket.AF_INET
sender = socket.socket(kind, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4000000)
for _ in range(count):
    sender.sendto(bytes(1472), (address, 9))
"""

ECHO = """
import socket, sys
kind = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
receiver = socket.socket(kind, socket.SOCK_DGRAM)
receiver.bind((sys.argv[1], 5000))
receiver.settimeout(60)
print("ready", flush=True)
data, address = receiver.recvfrom(2000)
receiver.sendto(data, address)
"""

ASK = """
import socket, sys
kind = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
asker = socket.socket(kind, socket.SOCK_DGRAM)
asker.settimeout(60)
asker.sendto(b"question", (sys.argv[1], 5000))
print(asker.recvfrom(2000)[0].decode())
"""


def send(lab: Lab, host: str, address: str, count: int) -> None:
    lab.exec(host, [sys.executable, "-c", SEND, address, str(count)], check=True)


def output(lab: Lab, host: str, *argv: str) -> str:
    done = lab.exec(host, argv, capture_output=True, text=True, check=True)
    return str(done.stdout)


def test_every_host_has_its_name_address_and_devices(lab: Lab) -> None:
    for index, host in enumerate(lab.hosts):
        text = output(lab, host, "sh", "-c", "hostname; ls /sys/class/net; ip -br -4 address")
        assert text.split()[:3] == [host, HOST_DEVICE, "lo"]
        assert f"198.18.0.{index + 1}/32" in text


def test_hosts_find_each_other_by_name(lab: Lab) -> None:
    text = output(
        lab, "h3", sys.executable, "-c", "import socket; print(socket.gethostbyname('h0'))"
    )
    assert text == "198.18.0.1\n"


def test_the_effective_cluster_file_reads_back(cluster: Path) -> None:
    with Lab.boot(cluster, scale=0.5) as lab:
        read = load_cluster(lab.cluster_file)
    assert [host.name for host in read.hosts] == ["h0", "h1", "h2", "h3"]
    assert [host.address for host in read.hosts] == [f"198.18.0.{n}" for n in (1, 2, 3, 4)]
    assert {host.interface for host in read.hosts} == {HOST_DEVICE}
    original = load_cluster(cluster).scaled(0.5)
    for link, expected in zip(read.links, original.links, strict=True):
        assert (link.from_, link.to) == (expected.from_, expected.to)
        assert link.rate_up_mbit_s == pytest.approx(expected.rate_up_mbit_s)
        assert link.queue_down_packets == expected.queue_down_packets
    assert read.limit_seconds(None, 10_000) == pytest.approx(original.limit_seconds(None, 10_000))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_datagrams_reach_every_other_host(lab: Lab, family: str) -> None:
    for far in ("h1", "h3"):
        address = getattr(lab.network, family)(far)
        with lab.popen(
            far, [sys.executable, "-c", ECHO, address], stdout=subprocess.PIPE, text=True
        ) as echo:
            assert echo.stdout is not None
            assert echo.stdout.readline() == "ready\n"
            assert output(lab, "h0", sys.executable, "-c", ASK, address) == "question\n"


def test_nobody_but_the_receiver_sees_a_datagram(lab: Lab) -> None:
    before = lab.stats()
    send(lab, "h0", lab.network.ipv4("h1"), 10)
    # h1 answers each with an ICMP error, or fewer: the kernel limits their rate.
    counted = lab.stats().since(before)
    sent = {(port.node, port.peer): port.sent_packets for port in counted.ports}
    assert sent["h0", "leaf0"] >= 10
    assert sent["leaf0", "h1"] >= 10
    # Nothing but what IPv6 says when a device comes up: a membership report or two.
    assert sent["leaf0", "core"] <= 4
    assert sent["leaf1", "h3"] == 0


def test_connections_use_the_congestion_control_asked_for(cluster: Path) -> None:
    code = (
        "import socket; s = socket.socket(); s.setblocking(False); "
        "s.connect_ex(('198.18.0.4', 9)); "
        "print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())"
    )
    for wanted in ("cubic", "reno"):
        with Lab.boot(cluster, congestion_control=wanted) as lab:
            assert output(lab, "h0", sys.executable, "-c", code) == f"{wanted}\n"
    with pytest.raises(BadInput, match=r"expected one of: .*reno"):
        Lab.boot(cluster, congestion_control="nonesuch")


def port(stats: Stats, node: str, peer: str) -> tuple[int, int, int, int]:
    for found in stats.ports:
        if (found.node, found.peer) == (node, peer):
            return (
                found.sent_packets,
                found.dropped_packets,
                found.queued_packets,
                found.queue_high_water,
            )
    raise AssertionError(f"no port {node} -> {peer}")


@pytest.fixture
def bottleneck(registry_base: Path) -> Iterator[Lab]:
    """One fast host and one that gets a packet every 12 seconds, after a queue of 20."""
    path = registry_base / "bottleneck.toml"
    path.write_text(
        """
        format = 1
        name = "bottleneck"
        [[switch]]
        name = "s"
        [[host]]
        name = "h[0-1]"
        [[link]]
        from = "h0"
        to = "s"
        rate_mbit_s = 1000
        [[link]]
        from = "h1"
        to = "s"
        rate_mbit_s = 0.001
        queue_down_packets = 20
        """
    )
    with Lab.boot(path, force=True) as lab:
        yield lab


def test_a_full_queue_drops_exactly_what_exceeds_it(bottleneck: Lab) -> None:
    before = bottleneck.stats()
    send(bottleneck, "h0", bottleneck.network.ipv4("h1"), 100)
    deadline = time.monotonic() + 30
    counted = before
    while sum(port(counted, "s", "h1")[:3]) < 100:
        assert time.monotonic() < deadline
        counted = bottleneck.stats().since(before)
    # The first is on the link, 20 wait; one more for every 8 s that all this takes.
    sent, dropped, queued, high_water = port(counted, "s", "h1")
    assert (sent + queued, dropped, high_water) == (21, 79, 20)
    assert counted.dropped_packets == 79
    assert port(counted, "h0", "s")[1] == 0


def test_links_carry_what_they_are_told(cluster: Path) -> None:
    """Both queues stay full, so that the counters show the shapers alone."""
    with Lab.boot(cluster, scale=0.1) as lab:
        check_rates(lab)


def check_rates(lab: Lab) -> None:
    target = lab.network.ipv4("h1")
    for host in ("h0", "h2"):
        send(lab, host, target, 900)
    started = time.monotonic()  # before the counters are read: this takes long on a busy machine
    before = lab.stats()
    time.sleep(2)
    after = lab.stats()
    elapsed = time.monotonic() - started
    sent = {p.node: p.sent_bytes for p in after.since(before).ports if p.node in ("h0", "h2")}
    left = {p.node: p.queued_packets for p in after.ports if p.node in ("h0", "h2")}
    if not all(left.values()):
        pytest.skip("this machine was too busy to look before the queues were empty")
    # The bucket adds a packet at most; 1 and 0.5 Mbit/s.
    assert sent["h0"] <= 1e6 / 8 * elapsed + 2 * 1764
    assert sent["h2"] <= 0.5e6 / 8 * elapsed + 2 * 1764
    assert sent["h0"] / sent["h2"] == pytest.approx(2, rel=0.3)


def test_unshaped_links_drop_nothing(cluster: Path) -> None:
    with Lab.boot(cluster, shape=False) as lab:
        before = lab.stats()
        send(lab, "h0", lab.network.ipv4("h3"), 500)
        counted = lab.stats().since(before)
    assert port(counted, "h0", "leaf0")[0] >= 500
    assert port(counted, "leaf1", "h3")[0] >= 500
    assert counted.dropped_packets == 0


def test_receive_buffer_drops_are_counted(lab: Lab) -> None:
    hold = (
        "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4608); s.bind((sys.argv[1], 9)); "
        "print('ready', flush=True); sys.stdin.read()"
    )
    address = lab.network.ipv4("h1")
    with lab.popen(
        "h1",
        [sys.executable, "-c", hold, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        before = lab.stats()
        send(lab, "h0", address, 30)
        deadline = time.monotonic() + 30
        while port(lab.stats().since(before), "leaf0", "h1")[0] < 30:
            assert time.monotonic() < deadline
        counted = lab.stats().since(before)
        holder.stdin.close()
    assert counted.receive_buffer_drops >= 20
    assert {host.host for host in counted.hosts if host.receive_buffer_drops} == {"h1"}


def test_stats_as_json_hold_every_counter(lab: Lab) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "allemande", "lab", "stats", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    read = json.loads(done.stdout)
    assert read["lab"] == lab.name
    assert len(read["ports"]) == 2 * len(lab.network.links)
    assert {"node", "peer", "sent_packets", "dropped_packets", "queue_high_water"} <= set(
        read["ports"][0]
    )
    assert [row["host"] for row in read["hosts"]] == list(lab.hosts)
    assert "softnet_dropped" in read["cpus"][0]
