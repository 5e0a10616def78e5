"""`_core.simulate`: options, refusals, results and the layout of traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.python.output_queues import output_queued

from allemande import _core
from allemande.errors import BadInput, Failed
from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster

TRACE = np.dtype(
    [
        *((name, "<i8") for name in ("queued", "start", "end")),
        *((name, "<u4") for name in ("port", "source", "destination", "bytes", "label", "depth")),
        ("kind", "u1"),
        ("unused", "V7"),
    ]
)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return find_cluster("tam-8x2")


def simulate(cluster: Cluster, **options: Any) -> dict[str, Any]:
    return _core.simulate(cluster, options, None)


def test_a_result_counts_packets_time_and_ranks(cluster: Cluster) -> None:
    result = simulate(cluster, size=10_000, exchanges=2)
    assert result["hosts"] == 16
    assert result["data_packets"] == 2 * 16 * 15 * 7
    assert result["dropped"] == 0
    assert 0.9 < result["fraction_of_limit"] < 1
    assert result["time_s"] == pytest.approx(sum(result["exchange_s"]) / 2)
    assert len(result["rank_time_s"]) == 16
    assert len(result["ports"]) == 2 * 18
    sent = sum(port["packets"] for port in result["ports"])
    assert sent >= result["packet_hops"]


def test_same_seed_same_result(cluster: Cluster) -> None:
    options = {"size": 20_000, "algorithm": "direct", "jitter_us": 100}
    first = simulate(cluster, **options, seed=7)
    assert simulate(cluster, **options, seed=7) == first
    assert simulate(cluster, **options, seed=8) != first


def test_a_trace_has_a_record_of_every_packet_hop(cluster: Cluster) -> None:
    result = simulate(cluster, size=3000, trace=True)
    records = np.frombuffer(result["trace"], dtype=TRACE)
    assert len(records) == result["packet_hops"]
    assert (records["start"] >= records["queued"]).all()
    assert (records["end"] > records["start"]).all()
    assert records["label"].max() == 2


def test_block_of_a_port_costs_its_time(cluster: Cluster) -> None:
    free = simulate(cluster, size=1000)
    block = {"kind": "block-port", "from": "core", "to": "leaf1", "duration_us": 5000}
    blocked = simulate(cluster, size=1000, faults=[block])
    assert blocked["time_s"] > free["time_s"] + 0.003


def test_output_queues_take_the_window_of_the_host_port(cluster: Cluster) -> None:
    assert simulate(cluster, size=10_000)["window_packets"] == 4
    queued = output_queued("tam-8x2")
    assert simulate(queued, size=10_000)["window_packets"] == 43


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "direct"}, "`method` is unknown"),
        ({"as_lab": True}, "`as_lab` is unknown; expected algorithm"),
        ({"algorithm": "best"}, "expected one of: direct"),
        ({"size": -1}, "`size` is -1"),
        ({"size": 1 << 39}, "too many packets"),
        ({"exchanges": 0}, "`exchanges` is 0"),
        ({"jitter_us": float("nan")}, "`jitter_us` is nan"),
        ({"jitter": "pause", "jitter_us": 1}, "needs jitter_interval_us"),
        ({"routing": "best"}, "expected ecmp, d-mod-k, source"),
        ({"hosts": ["h1"]}, "two hosts or more, not 1"),
        ({"hosts": ["h1", "h1"]}, "takes part twice"),
        ({"hosts": ["h1", "x"]}, "no host `x`"),
        ({"faults": [{"kind": "meteor"}]}, "kind `meteor` is unknown"),
        ({"faults": [{"kind": "link-down", "from": "h0", "to": "h1"}]}, "no link joins"),
        ({"faults": [{"kind": "block-port", "from": "h0", "to": "leaf0"}]}, "for no time"),
        ({"faults": [{"kind": "slow-host", "host": "h1", "factor": 1}]}, "factor above 1"),
        ({"modules": [{"from": "leaf0", "to": "core", "x": 1}]}, "`x` is unknown"),
        ({"overheads_ns": {"o": 1}}, "`o` is unknown"),
        ({"host_queue_packets": 0}, "`host_queue_packets` is 0"),
        ({"datagram_bytes": 20}, "`datagram_bytes` is 20"),
    ],
)
def test_unknown_options_and_values_are_refused(
    cluster: Cluster, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        simulate(cluster, **{"size": 1000, **options})


def test_a_run_beyond_its_memory_is_refused() -> None:
    tree = _core.generate("fat-tree:128")
    with pytest.raises(BadInput, match="MiB are allowed"):
        simulate(tree, size=1000, memory_max_mib=1)


def test_a_trace_beyond_its_memory_is_refused(cluster: Cluster) -> None:
    with pytest.raises(BadInput, match="a trace of this exchange takes about"):
        simulate(cluster, size=1_000_000_000, trace=True)


def test_a_run_beyond_its_time_or_with_a_lost_peer_fails(cluster: Cluster) -> None:
    with pytest.raises(Failed, match="not complete after"):
        simulate(cluster, size=100_000, time_max_s=0.001)
    down = {"kind": "link-down", "from": "h0", "to": "leaf0"}
    with pytest.raises(Failed, match="has not heard of rank 0"):
        simulate(cluster, size=100_000, peer_timeout_s=2, faults=[down])


def test_an_interrupt_in_the_watcher_ends_the_run(cluster: Cluster) -> None:
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.simulate(cluster, {"size": 1_000_000}, stop)


@pytest.mark.parametrize(
    ("algorithm", "packets"),
    [("sync-shuffle", 16 * 15), ("grid", 16 * 6), ("grid:2x8", 16 * 8), ("bruck", 16 * 7)],
)
def test_combining_plans_send_one_packet_for_each_message(
    cluster: Cluster, algorithm: str, packets: int
) -> None:
    result = simulate(cluster, algorithm=algorithm, size=100, exchanges=2)
    assert result["data_packets"] == 2 * packets
    assert result["retransmitted"] == 0
    assert result["algorithm"] == algorithm


def test_ranks_of_a_host_share_a_message_for_each_other_host() -> None:
    result = simulate(find_cluster("tam-8x1"), size=100, ranks_per_host=4)
    assert result["ranks"] == 32
    # 16 blocks of 100 bytes for each other host: two packets.
    assert result["data_packets"] == 8 * 7 * 2
    assert 0.9 < result["fraction_of_limit"] < 1


def test_unequal_blocks_are_combined_too(cluster: Cluster) -> None:
    matrix = [[(sender * 5 + receiver) % 7 * 10 for receiver in range(16)] for sender in range(16)]
    combined = simulate(cluster, algorithm="grid", matrix=matrix)
    direct = simulate(cluster, algorithm="sync-shuffle", matrix=matrix)
    assert combined["data_packets"] == 16 * 6
    assert combined["data_packets"] < direct["data_packets"] / 2


def test_messages_on_lossless_networks_are_worth_their_order() -> None:
    cluster = _core.generate("lossless-fat-tree:16")
    times = {
        algorithm: simulate(cluster, algorithm=algorithm, size=65536, transport="messages")[
            "time_s"
        ]
        for algorithm in ("direct", "sync-shuffle")
    }
    assert times["direct"] >= 1.2 * times["sync-shuffle"]


def test_messages_need_back_pressure(cluster: Cluster) -> None:
    with pytest.raises(BadInput, match="drops what it cannot hold"):
        simulate(cluster, size=1000, transport="messages")
    with pytest.raises(BadInput, match="ours go over udp, messages or stripes"):
        simulate(cluster, size=1000, transport="tcp")
