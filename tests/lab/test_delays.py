"""Labs whose links have a latency: what the relay delays, and what launchers use meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.conftest import QUEUE, SCALE, TWO_SITES
from tests.lab.preloaded_program import build, run_preloaded
from tests.lab_processes import name_of_process, processes_of

from allemande.cli import main
from allemande.errors import BadInput
from allemande.lab import Lab, delays, processor_group
from allemande.lab.network import LATENCY_US_MIN, load_network
from allemande.topology import load_cluster

DELAY_S = 0.005 / SCALE  # as it lasts in the lab
FRAME_BYTES = 1514
FRAME_PAYLOAD_BYTES = 1448

# All hosts are one machine with one clock: a datagram says when it was sent, and the kernel when
# it came.
SEND = """
import random, socket, sys, time
address, port, count, pause_s = sys.argv[1], 9000, int(sys.argv[2]), float(sys.argv[3])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(count):
    body = random.Random(number).randbytes(1000)
    head = number.to_bytes(8) + time.time_ns().to_bytes(8)
    sender.sendto(head + body, (address, port))
    time.sleep(pause_s)
"""
RECEIVE = """
import random, socket, struct, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
receiver.bind(("", 9000))
receiver.settimeout(20)
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    data, control, _, _ = receiver.recvmsg(2000, 100)
    seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
    number, sent = int.from_bytes(data[:8]), int.from_bytes(data[8:16])
    assert data[16:] == random.Random(number).randbytes(1000), number
    print(number, seconds * 10**9 + nanoseconds - sent)
"""
# Echoes what comes over TCP.
SERVE = """
import socket
server = socket.create_server(("", 9001))
print("ready", flush=True)
peer, _ = server.accept()
while data := peer.recv(65536):
    peer.sendall(data)
"""
CALL = """
import random, socket, sys, threading, time
begin = time.monotonic()
peer = socket.create_connection((sys.argv[1], 9001))
print(time.monotonic() - begin)
sent = random.Random(1).randbytes(200_000)
threading.Thread(target=peer.sendall, args=(sent,)).start()
came = b""
while len(came) < len(sent):
    came += peer.recv(65536)
assert came == sent
"""


@pytest.fixture
def lab(two_sites: Path) -> Iterator[Lab]:
    with Lab.boot(two_sites, scale=SCALE) as booted:
        yield booted


def start(lab: Lab, host: str, program: str, *words: str) -> subprocess.Popen[str]:
    running: subprocess.Popen[str] = lab.popen(
        host, [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    return running


def one_way_ns(lab: Lab, sender: str, receiver: str, count: int, pause_s: float) -> list[int]:
    """In the order in which they came."""
    running = start(lab, receiver, RECEIVE, str(count))
    words = [lab.network.ipv4(receiver), str(count), str(pause_s)]
    lab.exec(sender, [sys.executable, "-c", SEND, *words], check=True)
    text, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    rows = [line.split() for line in text.splitlines()]
    assert sorted(int(number) for number, _ in rows) == list(range(count))
    return [int(took) for _, took in rows]


def crossed(lab: Lab, argv: list[str], algorithm: str) -> list[int]:
    """Bytes that the program sends over the long link, one way and the other."""
    before = lab.stats()
    done = run_preloaded(lab, argv, algorithm=algorithm)
    assert " wrong 0 " in done.stdout
    ports = lab.stats().since(before).ports
    return [port.sent_bytes for port in ports if {port.node, port.peer} == {"rennes", "nancy"}]


@pytest.mark.parametrize(("sender", "receiver"), [("h0", "h3"), ("h2", "h1")])
def test_what_crosses_comes_whole_and_as_much_later(lab: Lab, sender: str, receiver: str) -> None:
    took = one_way_ns(lab, sender, receiver, 40, 0.002)
    assert min(took) >= DELAY_S * 1e9 - 100_000
    counted = lab.stats().relay
    assert counted is not None and counted.lost_packets == 0
    assert counted.packets >= 40
    # The quickest was late by no more than a packet takes on the links, unless all were.
    if counted.late_us_mean < 200:
        assert min(took) <= DELAY_S * 1e9 + 2_000_000


def test_what_stays_within_a_site_is_not_delayed(lab: Lab) -> None:
    assert min(one_way_ns(lab, "h0", "h1", 20, 0.002)) < DELAY_S * 1e9 / 2


def test_tcp_crosses_in_a_round_trip(lab: Lab) -> None:
    """Its checksums are computed by nobody, and still right."""
    with start(lab, "h3", SERVE) as server:
        done = lab.exec(
            "h0",
            [sys.executable, "-c", CALL, lab.network.ipv4("h3")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        server.kill()
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) >= 2 * DELAY_S - 0.0002


def test_the_queue_is_before_the_long_link(lab: Lab) -> None:
    """More than the port carries and holds is lost there; the relay has room for all the rest."""
    sent = 600
    lab.degrade("rennes", "nancy", rate=0.001)
    before = lab.stats()
    words = [sys.executable, "-c", SEND, lab.network.ipv4("h2"), str(sent), "0"]
    lab.exec("h0", words, check=True)
    deadline = time.monotonic() + 30
    while True:
        counted = lab.stats().since(before)
        ports = {(port.node, port.peer): port for port in counted.ports}
        wan = ports["rennes", "nancy"]
        if ports["h0", "rennes"].sent_packets >= sent or time.monotonic() > deadline:
            break
    assert wan.queue_high_water == QUEUE
    assert wan.sent_packets + wan.dropped_packets + wan.queued_packets >= sent
    assert wan.dropped_packets >= sent - QUEUE - 100
    assert counted.relay is not None and counted.relay.lost_packets == 0


def test_the_delay_line_goes_round(two_sites: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More packets than it has slots, in the order in which they were sent."""
    monkeypatch.setattr(delays, "SLOTS_MIN", 64)
    monkeypatch.setattr(delays, "SLOTS_PER_FRAME", 0)
    with Lab.boot(two_sites, scale=SCALE) as lab:
        took = one_way_ns(lab, "h0", "h3", 200, 0.002)
        assert min(took) >= DELAY_S * 1e9 - 100_000
        assert lab.stats().relay is not None


def test_the_effective_file_has_latency_and_sites(lab: Lab) -> None:
    effective = load_cluster(lab.cluster_file)
    assert [switch.site for switch in effective.switches] == ["rennes", "nancy"]
    assert effective.latency_seconds(None) == pytest.approx(DELAY_S)
    assert [link.latency_us for link in effective.links] == [0, 0, 0, 0, DELAY_S * 1e6]
    assert any("less than 1 ms in the lab are not emulated" in note for note in lab.notes)
    assert lab.network.delayed_links() == [4]


def test_launchers_have_a_network_without_delay(lab: Lab) -> None:
    text = lab.exec("h3", ["ip", "-4", "addr"], capture_output=True, text=True).stdout
    assert f"{delays.LAUNCH_NETWORK[4]}/20" in text and delays.LAUNCH_DEVICE in text
    lines = {kind: lab.mpi_command(kind, None, ["x"]) for kind in ("openmpi", "mpich")}
    assert "PRTE_MCA_prte_if_include=launch0" in lines["openmpi"]
    assert "OMPI_MCA_btl_tcp_if_include=eth0" in lines["openmpi"]
    assert lines["mpich"][lines["mpich"].index("-iface") + 1] == "launch0"
    assert "FI_TCP_IFACE=eth0" in lines["mpich"]


def test_an_exchange_between_sites_is_right_and_keeps_the_bound(
    two_sites: Path, registry_base: Path
) -> None:
    path = registry_base / "out.json"
    words = ["bench", "--lab", str(two_sites), "--scale", str(SCALE), "--sizes", "1024,20000"]
    words += ["--against", "allemande+openmpi:algorithm=multi-site"]
    words += ["--rounds", "1", "--calls", "1", "--seconds", "0", "--json", str(path)]
    assert main(words) == 0
    for figure in json.loads(path.read_text()):
        assert figure["wrong_bytes"] == 0 and figure["start"] == "clock"
        assert figure["latency_s"] == pytest.approx(DELAY_S, rel=0.001)
        bound_s = figure["limit_s"] + figure["latency_s"]
        assert figure["fraction_of_bound"] == pytest.approx(bound_s / figure["median_s"])
        # The shapers let a frame pass before its time.
        assert 0 < figure["fraction_of_bound"] < 1.05


@pytest.mark.parametrize("algorithm", ["multi-site", "local-group"])
def test_every_byte_crosses_the_long_link_once(
    two_sites: Path, tmp_path: Path, algorithm: str
) -> None:
    program = build(tmp_path, "alltoall")
    sizes = (1_000, 601_000)
    with Lab.boot(two_sites, scale=SCALE) as lab:
        sent = [crossed(lab, [str(program), str(size)], algorithm) for size in sizes]
    blocks = 2 * 2
    payload = blocks * (sizes[1] - sizes[0])
    least = payload * FRAME_BYTES / FRAME_PAYLOAD_BYTES
    assert [len(both_ways) for both_ways in sent] == [2, 2]
    for small, large in zip(*sent, strict=True):
        assert payload <= large - small <= 1.05 * least


def test_sites_are_found_by_round_trips(registry_base: Path, tmp_path: Path) -> None:
    registry_base.chmod(0o755)
    path = registry_base / "unsaid.toml"
    path.write_text("".join(re.split("site = .*\n", TWO_SITES)))
    program = build(tmp_path, "alltoall")
    with Lab.boot(path, scale=SCALE) as lab:
        done = run_preloaded(lab, [str(program), "5000"], algorithm="multi-site", log="info")
    assert "ranks 4 wrong 0 " in done.stdout, done.stderr
    assert "sites by round trips: h[0-1] / h[2-3] (" in done.stderr
    assert "multi-site" in done.stderr.partition("sites by round trips")[2]


def test_a_lab_ends_with_its_relay(two_sites: Path, nothing_left: Callable[[], None]) -> None:
    with Lab.boot(two_sites, scale=SCALE) as lab:
        (relay,) = (
            int(folder.name)
            for folder in processes_of(lab)
            if name_of_process(folder) == "the relay"
        )
        os.kill(relay, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while lab.directory.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not lab.directory.exists()
    nothing_left()


def test_the_relay_is_in_the_group_of_the_ranks(two_sites: Path) -> None:
    """Outside it stood still for up to 52 s (ADR 53)."""
    with Lab.boot(two_sites, scale=SCALE) as lab:
        if processor_group.make() is None:
            pytest.skip("no groups of processes may be made here")
        (relay,) = (one for one in processes_of(lab) if name_of_process(one) == "the relay")
        assert "/allemande-lab\n" in (relay / "cgroup").read_text()


def test_refuses_what_there_is_no_memory_for(two_sites: Path) -> None:
    text = TWO_SITES.replace("latency_us = 5000", "latency_us = 500000000")
    two_sites.write_text(text)
    with pytest.raises(BadInput, match=r"GB of memory; expected 1 GB"):
        Lab.boot(two_sites)


def test_short_latencies_are_left_out(two_sites: Path) -> None:
    network = load_network(two_sites)
    assert network.scaled(0.1).links[0].latency_us == pytest.approx(10)
    assert not network.scaled(0.1).links[0].delayed
    assert network.scaled(1 / LATENCY_US_MIN).links[0].delayed
