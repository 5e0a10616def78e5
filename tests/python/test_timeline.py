"""Timelines: what the kernel says is read right, and what is made of it adds up."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

import pytest

from allemande.bench.candidates import parse_candidates
from allemande.bench.records import SizeRecord
from allemande.bench.timeline import (
    PERIOD_S_MAX,
    PERIOD_S_MIN,
    busiest_level,
    make_timeline,
    median_call,
    period_for,
    watched_ports,
)
from allemande.cluster_files import find_cluster_file
from allemande.lab.inside import qdisc, watch
from allemande.lab.inside.watch import TCP_COUNTERS, Look, Watch, tcp_counts
from allemande.lab.lookout import parse_looks
from allemande.lab.network import load_network
from allemande.topology import load_cluster

NETSTAT = b"""TcpExt: SyncookiesSent TCPTimeouts TCPLossProbes TCPSackRecovery
TcpExt: 0 17 4 6
IpExt: InNoRoutes InOctets
IpExt: 1 2
"""


def attribute(kind: int, data: bytes) -> bytes:
    raw = struct.pack("=HH", 4 + len(data), kind) + data
    return raw + bytes(-len(raw) % 4)


def queue_message(ifindex: int, sent: int, queued: int, dropped: int) -> bytes:
    """What the kernel answers for a shaper."""
    basic = attribute(qdisc.TCA_STATS_BASIC, struct.pack("=QI", sent, 1))
    queue = attribute(qdisc.TCA_STATS_QUEUE, struct.pack("=IIIII", queued, 0, dropped, 0, 0))
    body = struct.pack("=BxxxiIII", 0, ifindex, 1, qdisc.TC_H_ROOT, 0)
    body += attribute(qdisc.TCA_KIND, qdisc.SHAPER) + attribute(qdisc.TCA_STATS2, basic + queue)
    return struct.pack("=IHHII", 16 + len(body), qdisc.RTM_NEWQDISC, 2, 1, 0) + body


DONE = struct.pack("=IHHIIi", 20, qdisc.NLMSG_DONE, 2, 1, 0, 0)


# ---- parsing -------------------------------------------------------------------------------------


def test_what_tcp_noticed_is_found_by_name_in_its_own_table() -> None:
    found = dict(zip(TCP_COUNTERS, tcp_counts(NETSTAT), strict=True))
    assert (found["timeouts"], found["loss_probes"], found["sack_recoveries"]) == (17, 4, 6)
    assert found["probe_recoveries"] == 0  # older kernels do not have all of them
    assert set(tcp_counts(b"IpExt: TCPTimeouts\nIpExt: 3\n")) == {0}
    assert set(tcp_counts(b"")) == {0}


def test_an_answer_in_several_parts_is_decoded_as_one() -> None:
    first = queue_message(3, 1000, 5, 2) + queue_message(4, 2000, 0, 0)
    counted = qdisc.decode([first, queue_message(9, 7, 1, 1) + DONE])
    assert {index: each.sent_bytes for index, each in counted.items()} == {3: 1000, 4: 2000, 9: 7}
    assert (counted[3].queued_packets, counted[3].dropped_packets) == (5, 2)


def test_reading_goes_on_until_the_kernel_is_done() -> None:
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, kernel:
        kernel.send(queue_message(3, 1, 0, 0))
        kernel.send(queue_message(4, 2, 0, 0) + DONE)
        kernel.send(b"of a later question")
        assert set(qdisc.decode(qdisc.read(ours))) == {3, 4}


# ---- the program in the lab ----------------------------------------------------------------------


def watch_with(looks: list[Look], hosts: int = 2) -> Watch:
    made = Watch({"holders": [], "shaped": False, "watch": {"period_s": 0.01, "ports": [7]}})
    made.queues = [(socket.socket(), {3: 7})]
    made.queues[0][0].close()
    made.netstats = list(range(hosts))
    made.looks.extend(looks)
    return made


def look(time_s: float, sent: int, *hosts: tuple[int, int]) -> Look:
    texts = [(host, NETSTAT.replace(b"17", b"%d" % count)) for host, count in hosts]
    return Look(time_s, [[queue_message(3, sent, 1, 0) + DONE]], b"", texts)


def test_an_interval_has_the_looks_around_it_too() -> None:
    """Hosts that were not asked in a look count as they did before."""
    looks = [
        look(1.0, 0, (0, 1), (1, 10)),
        look(2.0, 10, (0, 2)),
        look(3.0, 20, (1, 20)),
        look(4.0, 30, (0, 3)),
        look(5.0, 40, (1, 21)),
    ]
    answer = watch_with(looks).between(2.5, 3.5)
    assert answer["times_s"] == [2.0, 3.0, 4.0]
    assert answer["tcp"]["timeouts"] == (12, 22, 23)
    assert answer["tcp"]["loss_probes"] == (8, 8, 8)
    assert answer["ports"] == [{"port": 7, "looks": [[10, 1, 0], [20, 1, 0], [30, 1, 0]]}]


def test_who_was_not_asked_yet_has_no_timeouts_to_show() -> None:
    """As where the first looks are not kept any more."""
    looks = [look(1.0, 0, (0, 5)), look(2.0, 0, (1, 90)), look(3.0, 0, (0, 6))]
    assert watch_with(looks).between(0.0, 9.0)["tcp"]["timeouts"] == (95, 95, 96)


def test_many_hosts_are_asked_in_turn_and_all_of_them_at_first() -> None:
    made = Watch({"holders": [], "watch": {"period_s": 0.01, "ports": []}})
    descriptor = os.open(os.devnull, os.O_RDONLY)
    try:
        made.netstats = [descriptor] * 20
        for turn in range(4):
            made.look(turn)
    finally:
        os.close(descriptor)
    asked = [[host for host, _ in each.hosts] for each in made.looks]
    assert asked[0] == list(range(20))
    assert sorted(asked[1] + asked[2] + asked[3]) == list(range(20))
    assert all(len(each) <= watch.HOSTS_PER_LOOK for each in asked[1:])


def test_old_looks_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Watch({"holders": [], "watch": {"period_s": 0.01, "ports": []}})
    descriptor = os.memfd_create("netstat")
    try:
        os.write(descriptor, NETSTAT)
        made.netstats = [descriptor]
        monkeypatch.setattr(watch, "KEPT_BYTES_MAX", 3 * len(NETSTAT))
        for turn in range(9):
            made.look(turn)
    finally:
        os.close(descriptor)
    assert len(made.looks) == 3
    assert made.kept_bytes == 3 * len(NETSTAT)


# ---- what is made of it --------------------------------------------------------------------------


def answer_of(ports: dict[int, list[list[int]]], times_s: list[float]) -> dict[str, Any]:
    rows = [{"port": index, "looks": looks} for index, looks in ports.items()]
    tcp = {"timeouts": [5, 5, 6][: len(times_s)], "loss_probes": [0, 2, 2][: len(times_s)]}
    return {"times_s": times_s, "tcp": tcp, "ports": rows, "cpu_s": 0.1}


def test_the_busiest_level_is_that_of_the_limit_and_leaves_a_switch() -> None:
    for name, level, count in (
        ("oversubscribed-8x4", "leaf uplink up", 4),
        ("shallow-4x2", "leaf uplink up", 2),
        ("tam-8x1", None, 8),  # hosts send as much as they get: the switch's side is looked at
    ):
        network = load_network(find_cluster_file(name))
        found = busiest_level(load_cluster(name), network, 10_000)
        assert level in (None, found.name)
        assert len(found.ports) == count
        assert all(port.node not in network.hosts for port in found.ports)
        assert set(found.ports) <= set(watched_ports(network, found))


def test_use_drops_and_timeouts_are_differences_and_queues_are_not() -> None:
    network = load_network(find_cluster_file("shallow-4x2"))
    level = busiest_level(load_cluster("shallow-4x2"), network, 20_000)
    first, second = level.ports  # 200 Mbit/s, 10 packets
    full = 25_000_000
    looks = parse_looks(
        answer_of(
            {
                first.index: [[0, 0, 3], [full // 10, 10, 3], [full // 10, 0, 8]],
                second.index: [[0, 0, 0], [0, 4, 1], [0, 2, 1]],
            },
            [99.9, 100.0, 100.2],
        ),
        network.ports(),
        watched_s=10.0,
    )
    candidate = parse_candidates(["openmpi"])[0]
    line = make_timeline(candidate, 20_000, (99.95, 0.2), 3, 0.005, level, looks, network.hosts)
    assert line.edges_s == pytest.approx((-0.05, 0.05, 0.25))
    assert line.link_use == pytest.approx((0.5, 0.0))
    assert line.queue_fill == pytest.approx((1.0, 0.2))
    assert line.queue_packets == (10, 2)
    assert line.drops == (1, 5)
    assert line.tcp["timeouts"] == (0, 1)
    assert line.timers == (2, 1)
    assert line.processor_part == pytest.approx(0.01)
    assert line.as_json()["candidate"] == "openmpi"


def test_looks_are_as_far_apart_as_the_exchange_is_long() -> None:
    assert period_for(0.1) == pytest.approx(0.005)
    assert period_for(1e-4) == PERIOD_S_MIN
    assert period_for(10) == PERIOD_S_MAX


def test_the_call_shown_is_one_that_was_made() -> None:
    records = [
        SizeRecord(10, [3.0, 1.0], begins_s=[100.0, 104.0]),
        SizeRecord(10, [2.0, 9.0], begins_s=[110.0, 113.0]),
    ]
    assert median_call(records) == ((110.0, 2.0), 4)
    assert median_call([SizeRecord(10)]) is None
