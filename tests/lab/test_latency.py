"""Labs whose links have a latency, and what launchers use meanwhile."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.conftest import QUEUE, SCALE, TWO_SITES
from tests.lab.preloaded_program import build, run_preloaded
from tests.lab.udp_programs import one_way_ns, send, start

from allemande.cli import main
from allemande.lab import Lab, launch_network
from allemande.topology import load_cluster

DELAY_S = 0.005 / SCALE  # as it lasts in the lab
FRAME_BYTES = 1514
FRAME_PAYLOAD_BYTES = 1448

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


def crossed(lab: Lab, argv: list[str], algorithm: str) -> list[int]:
    """Bytes that the program sends over the long link, one way and the other."""
    before = lab.stats()
    done = run_preloaded(lab, argv, algorithm=algorithm)
    assert " wrong 0 " in done.stdout
    ports = lab.stats().since(before).ports
    return [port.sent_bytes for port in ports if {port.node, port.peer} == {"rennes", "nancy"}]


@pytest.mark.parametrize(("sender", "receiver"), [("h0", "h3"), ("h2", "h1")])
def test_what_crosses_comes_whole_and_as_much_later(lab: Lab, sender: str, receiver: str) -> None:
    before = lab.emulator_stats()
    took = one_way_ns(lab, sender, receiver, 40, 0.002)
    after = lab.emulator_stats()
    assert before is not None and after is not None
    assert min(took) >= DELAY_S * 1e9
    passed = after.since(before)
    assert passed.lost_frames == 0 and passed.frames_out >= 40
    # The quickest was late by no more than a packet takes on the links, unless all were.
    if passed.lateness_s < 200e-6:
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
    """More than the port carries and holds is lost there."""
    sent = 600
    lab.degrade("rennes", "nancy", rate=0.001)
    before = lab.stats()
    send(lab, "h0", "h2", sent)
    deadline = time.monotonic() + 30
    while True:
        counted = lab.stats().since(before)
        ports = {(port.node, port.peer): port for port in counted.ports}
        wan = ports["rennes", "nancy"]
        if wan.sent_packets + wan.dropped_packets + wan.queued_packets >= sent:
            break
        assert time.monotonic() < deadline
    assert wan.queue_high_water == QUEUE
    assert wan.dropped_packets >= sent - QUEUE - 2
    assert counted.emulator is not None and counted.emulator.lost_frames == 0


def test_the_effective_file_has_latency_and_sites(lab: Lab) -> None:
    effective = load_cluster(lab.cluster_file)
    assert [switch.site for switch in effective.switches] == ["rennes", "nancy"]
    assert effective.latency_seconds(None) == pytest.approx(DELAY_S + 2e-6 / SCALE)
    latencies = [link.latency_us for link in effective.links]
    assert latencies == pytest.approx([1 / SCALE] * 4 + [DELAY_S * 1e6])
    assert lab.notes == []


def test_launchers_have_a_network_without_delay(lab: Lab) -> None:
    text = lab.exec("h3", ["ip", "-4", "addr"], capture_output=True, text=True).stdout
    assert f"{launch_network.ADDRESSES[4]}/32" in text and launch_network.DEVICE in text
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
        assert figure["bound_s"] > figure["limit_s"] + figure["latency_s"]
        assert figure["fraction_of_bound"] == pytest.approx(figure["bound_s"] / figure["median_s"])
        assert 0 < figure["fraction_of_bound"] < 1.001


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
