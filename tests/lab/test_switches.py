"""Labs are networks of switches: frames take their time on each link, and wait where the file says.

Links are so slow here that what is measured is far longer than what the machine takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.lab.udp_programs import OVERHEAD_BYTES, RECEIVE, SEND, one_way_ns, send, start

from allemande.lab import Lab
from allemande.lab.network import HOST_DEVICE
from allemande.lab.stats import PortStats

STAR = """
format = 1
name = "star"
[[switch]]
name = "s"
{switch}
[[host]]
name = "h[0-3]"
[[link]]
from = "h[0-1]"
to = "s"
rate_mbit_s = 10
latency_us = 100
queue_down_packets = 20
[[link]]
from = "h2"
to = "s"
rate_mbit_s = 0.1
queue_down_packets = 20
[[link]]
from = "h3"
to = "s"
rate_mbit_s = 10
queue_down_packets = 20
"""
PAYLOAD = 1016
# Waits for so many datagrams or 2 s, and says how many came.
COUNT = """
import socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
receiver.bind(("", 9000))
print("ready", flush=True)
receiver.settimeout(20)
came = 0
while came < int(sys.argv[1]):
    try:
        receiver.recv(2000)
    except TimeoutError:
        break
    came += 1
    receiver.settimeout(2)
print(came)
"""
# A megabyte over TCP from whoever connects.
TAKE = """
import socket
server = socket.create_server(("", 9001))
print("ready", flush=True)
peers = [server.accept()[0] for _ in range(2)]
for peer in peers:
    while peer.recv(1 << 20):
        pass
peers[0].close(), peers[1].close()
"""
GIVE = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 9001))
peer.sendall(bytes(1_000_000))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
"""


@contextmanager
def star(folder: Path, switch: str = "", scale: float = 0.1) -> Iterator[Lab]:
    path = folder / "star.toml"
    path.write_text(STAR.format(switch=switch))
    with Lab.boot(path, scale=scale) as lab:
        yield lab


def frame_ns(mbit_s: float) -> float:
    return (PAYLOAD + OVERHEAD_BYTES) * 8e3 / mbit_s


def port(lab: Lab, node: str, peer: str) -> PortStats:
    return next(row for row in lab.stats().ports if (row.node, row.peer) == (node, peer))


def lateness_ns(lab: Lab) -> float:
    counted = lab.emulator_stats()
    assert counted is not None
    return counted.late_ns_max


@pytest.mark.parametrize("switching", ["store-and-forward", "cut-through"])
def test_a_lone_frame_takes_its_time_on_every_link(registry_base: Path, switching: str) -> None:
    """At scale 0.1 it takes 8.5 ms on a link of 1 Mbit/s, and 1 ms of latency each."""
    with star(registry_base, f'switching = "{switching}"') as lab:
        took = min(one_way_ns(lab, "h0", "h1", 20, 0.04, PAYLOAD))
        late_ns = lateness_ns(lab)
    latency_ns = 2 * 1e6
    once, twice = latency_ns + frame_ns(1), latency_ns + 2 * frame_ns(1)
    early_ns = 1514 * 8e3 / 25  # the emulator's tolerance (emulator.cc)
    if switching == "store-and-forward":
        assert twice - early_ns <= took <= 1.02 * twice + late_ns + 1e6
    else:
        assert once - early_ns <= took < once + 0.1 * frame_ns(1) + late_ns + 1e6


def test_frames_in_a_row_follow_each_other_at_the_rate_of_the_link(registry_base: Path) -> None:
    """The last of 20 at once takes 20 frame times on the first link, and one on the second."""
    with star(registry_base) as lab:
        took = one_way_ns(lab, "h0", "h1", 20, 0, PAYLOAD)
        late_ns = lateness_ns(lab)
    expected = 2e6 + 21 * frame_ns(1)
    assert expected - 20e6 <= took[-1] <= 1.02 * expected + late_ns + 2e6  # sent within 20 ms


def test_a_full_port_drops_what_exceeds_its_queue(registry_base: Path) -> None:
    """One is on the link, 20 wait, from the first on."""
    with star(registry_base) as lab:
        lab.degrade("h2", "s", rate=0.001)
        send(lab, "h0", "h2", 60)
        deadline = time.monotonic() + 30
        while (row := port(lab, "s", "h2")).queued_packets + row.dropped_packets < 59:
            assert time.monotonic() < deadline
    assert (row.queued_packets, row.queue_high_water, row.dropped_packets) == (20, 20, 39)


@pytest.mark.parametrize("architecture", ["output", "input"])
def test_the_head_of_a_line_blocks_where_inputs_queue(
    registry_base: Path, architecture: str
) -> None:
    """h0 sends to the slow h2 and then to h1, which has nothing else to do. At an input-buffered
    switch that waits for those in front; the port holds one on the link and three besides."""
    with star(registry_base, f'architecture = "{architecture}"') as lab:
        receiver = start(lab, "h1", RECEIVE, "1")
        send(lab, "h0", "h2", 10, 0, PAYLOAD)  # each takes 0.86 s
        begin = time.monotonic()
        send(lab, "h0", "h1", 1, 0, PAYLOAD)
        text, _ = receiver.communicate(timeout=60)
        waited = time.monotonic() - begin
        row = port(lab, "s", "h0")
    assert text.startswith("0 ")
    if architecture == "input":
        assert waited > 3
        assert row.queue_high_water >= 5
    else:
        assert row.queue_high_water == 0


def received_of_two(lab: Lab, sent: int) -> int:
    """What comes to h3 of `sent` packets from h0 and as many from h1, at once."""
    receiver = start(lab, "h3", COUNT, str(2 * sent))
    words = [lab.network.ipv4("h3"), str(sent), "0", str(PAYLOAD), "together"]
    senders = [start(lab, host, SEND, *words) for host in ("h0", "h1")]
    for sender in senders:
        assert sender.stdin is not None
        sender.stdin.close()
    for sender in senders:
        assert sender.wait(60) == 0
    text, _ = receiver.communicate(timeout=60)
    return int(text)


@pytest.mark.parametrize("flow_control", ["drop", "back-pressure"])
def test_nothing_is_lost_where_switches_hold_packets_back(
    registry_base: Path, flow_control: str
) -> None:
    """Two hosts send to one, whose port holds twenty packets."""
    sent = 150
    with star(registry_base, f'flow_control = "{flow_control}"', scale=1) as lab:
        came = received_of_two(lab, sent)
        counted = lab.stats()
    assert counted.emulator is not None and counted.emulator.lost_frames == 0
    if flow_control == "drop":
        assert came == 2 * sent - counted.dropped_packets < 2 * sent
    else:
        assert (came, counted.dropped_packets) == (2 * sent, 0)


def test_a_slowed_host_that_was_held_back_stays_slow(registry_base: Path) -> None:
    """It can send more than its half of what the receiver's link takes."""
    sent = 150
    with star(registry_base, 'flow_control = "back-pressure"', scale=1) as lab:

        def rate() -> str:
            words = ["tc", "qdisc", "show", "dev", HOST_DEVICE]
            text = str(lab.exec("h0", words, capture_output=True, text=True, check=True).stdout)
            return text[text.index(" rate ") :].split()[1]

        lab.degrade("h0", "s", rate=0.9)
        slow = rate()
        assert received_of_two(lab, sent) == 2 * sent
        assert rate() == slow
        lab.restore("h0", "s")
        assert rate() != slow


def test_shared_buffers_and_everything_else_reach_the_effective_file(registry_base: Path) -> None:
    words = 'architecture = "shared"\nbuffer_packets = 30\nbuffer_alpha = 0.5\n'
    with star(registry_base, words + "backplane_mbit_s = 40", scale=0.5) as lab:
        text = lab.cluster_file.read_text()
        assert lab.network.switches[0].backplane_mbit_s == 20
        # The slow host's port may have half of what is free: 10 of 30.
        lab.degrade("h2", "s", rate=0.001)
        send(lab, "h0", "h2", 40)
        deadline = time.monotonic() + 30
        while (row := port(lab, "s", "h2")).queued_packets + row.dropped_packets < 39:
            assert time.monotonic() < deadline
    for line in ('architecture = "shared"', "buffer_packets = 30", "buffer_alpha = 0.5"):
        assert line in text
    assert row.queue_high_water == 10


def test_switches_mark_packets_of_connections_where_the_file_says_so(registry_base: Path) -> None:
    path = registry_base / "star.toml"
    path.write_text(STAR.format(switch="") + "ecn_packets = 5\n")  # of h3's link
    with Lab.boot(path) as lab:
        with start(lab, "h3", TAKE) as taker:
            words = [sys.executable, "-c", GIVE, lab.network.ipv4("h3")]
            givers = [lab.popen(host, words) for host in ("h0", "h1")]
            assert [giver.wait(60) for giver in givers] == [0, 0]
            taker.kill()
        row = port(lab, "s", "h3")
    assert row.marked_packets > 0
