"""`allemande simulate`: results, sweeps, traces, bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (  # type: ignore[import-untyped]
    Trace,
    TrackEvent,
)
from tests.python.output_queues import output_queued

import allemande
from allemande import _core
from allemande.cli import main
from allemande.errors import BadInput, Failed
from allemande.progress_bar import ConsoleProgress, LateProgress
from allemande.simulation.case import JSON_KEYS, Result, make_case, run_case, simulate
from allemande.simulation.networks import find_cluster
from allemande.simulation.parallel import run_cases
from allemande.simulation.trace import RECORD, queue_lengths
from allemande.study.without_file import exchanges_on
from allemande.study.wrong_files import LIES
from allemande.topology import load_cluster, parse_cluster

# Each of five switches in a ring sends its packets two hops on, and holds what it cannot pass on.
RING = """
format = 1
name = "ring"
[[switch]]
name = "s[0-4]"
architecture = "input"
flow_control = "back-pressure"
[[host]]
name = "h[0-19]"
""" + "".join(
    f"""
[[link]]
from = "h[{4 * i}-{4 * i + 3}]"
to = "s{i}"
rate_mbit_s = 1000
queue_down_packets = 2
[[link]]
from = "s{i}"
to = "s{(i + 1) % 5}"
rate_mbit_s = 100
queue_up_packets = 2
queue_down_packets = 2
"""
    for i in range(5)
)


def without_cpu(result: Result) -> dict[str, Any]:
    entry = result.as_json()
    del entry["cpu_s"]
    return entry


@pytest.mark.parametrize("mode", ["packet", "flow"])
def test_json_is_an_array_with_every_key(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["tam-8x4-u412", "--algorithm", "sync-shuffle", "--size", "10000", "--mode", mode]
    assert main(["simulate", *arguments, "--json", "-"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert [key for key in JSON_KEYS if key not in entry] == []
    assert (entry["algorithm"], entry["hosts"], entry["size"]) == ("sync-shuffle", 32, 10_000)
    assert entry["fraction_of_limit"] == pytest.approx(entry["limit_s"] / entry["time_s"])
    assert 0.8 < entry["fraction_of_limit"] <= 1
    assert "core" in entry["bottleneck"]


def test_simulate_from_python_gives_a_result_or_says_what_is_unknown() -> None:
    result = allemande.simulate("tam-16x1", "pairwise", 3000, window_packets=8)
    assert (result.algorithm, result.hosts, result.dropped) == ("pairwise", 16, 0)
    assert len(result.rank_time_s) == 16
    with pytest.raises(BadInput, match="`colour` is unknown"):
        allemande.simulate("tam-16x1", colour="red")


def test_several_runs_are_rows_of_one_csv(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--algorithm", "pairwise,direct", "--size", "1KB,2KiB", "--csv", "-"]
    assert main(["simulate", "tam-16x1", *arguments]) == 0
    output = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(output.out)))
    assert [(row["algorithm"], row["size"]) for row in rows] == [
        ("pairwise", "1000"),
        ("direct", "1000"),
        ("pairwise", "2048"),
        ("direct", "2048"),
    ]
    assert "tam-16x1: 16 hosts, simulated" in output.err


def test_ranks_of_a_host_share_its_link_and_the_title_counts_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["simulate", "tam-8x1", "--size", "1000", "--ranks-per-host", "3"]
    assert main([*words, "--algorithm", "sync-shuffle,grid", "--csv", "-"]) == 0
    printed = capsys.readouterr()
    assert "8 hosts of 3 ranks" in printed.err
    shuffle, grid = csv.DictReader(io.StringIO(printed.out))
    assert shuffle["ranks_per_host"] == grid["ranks_per_host"] == "3"
    # Nine blocks for each of seven hosts, and what stays on a host does not count.
    assert float(shuffle["goodput_mb_s"]) * float(shuffle["time_s"]) == pytest.approx(0.063)


def test_a_matrix_of_ranks_counts_what_leaves_their_host() -> None:
    rows = np.full((16, 16), 500)
    result = simulate("tam-8x1", matrix=rows, ranks_per_host=2)
    assert result.host_bytes == 2 * 14 * 500
    generated = simulate("tam-8x1", size=500, matrix="uniform", ranks_per_host=2)
    assert generated.host_bytes == pytest.approx(result.host_bytes)


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    cases = [
        make_case("tam-8x2", algorithm, size, jitter_us=50.0, seed=seed)
        for algorithm in ("sync-shuffle", "pairwise")
        for size in (3000, 20_000)
        for seed in (1, 2)
    ]
    alone = [without_cpu(result) for result in run_cases(cases, workers=1)]
    assert [without_cpu(result) for result in run_cases(cases, workers=2)] == alone
    assert alone[0] != alone[1]  # another seed, another exchange


def test_progress_goes_up_to_all_of_it() -> None:
    told: list[float] = []
    run_case(make_case("tam-8x4-u412", "direct", 200_000), told.append)
    assert told == sorted(told)
    assert all(0 <= done <= 1 for done in told)


class Screen:
    """Stands in for the console's bar."""

    def __init__(self) -> None:
        self.shown: list[tuple[float, float]] = []

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.shown.append((-1, -1))

    def show(self, text: str, done_s: float, total_s: float) -> None:
        self.shown.append((done_s, total_s))


def test_a_bar_with_an_estimate_appears_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("allemande.progress_bar.time.monotonic", lambda: now)
    screen = Screen()
    with LateProgress("simulating", cast(ConsoleProgress, screen)) as progress:
        now = 101.0
        progress(0.4)
        assert screen.shown == []
        now = 103.0
        progress(0.5)
    assert screen.shown == [(3.0, 6.0), (-1, -1)]


def test_direct_loses_packets_and_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "tam-8x4-u412", "--algorithm", "direct", "--size", "20KB"]) == 0
    printed = capsys.readouterr().out
    assert "queues of direct, 20 KB" in printed
    assert "longest queue" in printed
    result = simulate("tam-8x4-u412", "direct", 20_000)
    assert result.dropped == sum(port.dropped for port in result.ports) > 0


def test_a_deadlock_names_the_cycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ring.toml"
    file.write_text(RING)
    assert main(["simulate", str(file), "--algorithm", "direct", "--size", "100KB"]) == 1
    printed = capsys.readouterr().err
    for i in range(5):
        assert f"s{i} -> s{(i + 1) % 5}" in printed
    with pytest.raises(Failed):
        simulate(parse_cluster(RING, "ring"), "direct", 100_000)


def test_faults_slow_an_exchange_down() -> None:
    healthy = simulate("tam-16x1", "sync-shuffle", 20_000)
    slow = simulate(
        "tam-16x1",
        "sync-shuffle",
        20_000,
        faults=[{"kind": "slow-host", "host": "h3", "factor": 4.0}],
    )
    assert slow.time_s > 2 * healthy.time_s


# ---- flow level ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "algorithm"),
    [
        ("fat-tree:16", "sync-shuffle"),
        ("fat-tree:16", "group-shuffle"),
        ("fat-tree:128", "sync-shuffle"),
        ("fat-tree:54", "group-shuffle"),
        ("tam-8x4", "sync-shuffle"),
        ("tam-8x4", "group-shuffle"),
        ("tam-8x4", "pairwise"),
        ("tam-8x4", "shift-exchange"),
    ],
)
def test_flows_agree_with_packets_where_nothing_is_lost(network: str, algorithm: str) -> None:
    if network == "tam-8x4":
        packets = simulate(output_queued(network), algorithm, 131_072)
    else:
        packets = simulate(network, algorithm, 131_072, window_packets=1 << 30)
    flows = simulate(network, algorithm, 131_072, mode="flow")
    assert packets.dropped == 0
    assert flows.time_s == pytest.approx(packets.time_s, rel=0.05)


@pytest.mark.parametrize("algorithm", ["pairwise", "shift-exchange"])
def test_flows_refuse_what_they_cannot_follow(algorithm: str) -> None:
    with pytest.raises(BadInput, match="does not follow rounds of one partner"):
        simulate("fat-tree:16", algorithm, 65536, mode="flow")
    assert simulate("fat-tree:16", algorithm, 65536, mode="flow", rounds="together").time_s > 0


def test_flows_name_the_bottleneck() -> None:
    result = simulate("tam-8x4-u412", "sync-shuffle", 200_000, mode="flow")
    assert result.bottleneck == "leaf0 -> core"
    assert max(port.busy for port in result.ports) == pytest.approx(1, abs=1e-3)
    assert min(port.bytes for port in result.ports) > 0


def test_flows_of_thousands_of_hosts_take_seconds() -> None:
    result = simulate("fat-tree:2000", "sync-shuffle", 65536, mode="flow")
    assert result.hosts == 2000
    assert 0.95 < result.fraction_of_limit <= 1


def test_a_generated_cluster_is_found_by_its_size() -> None:
    assert len(find_cluster("fat-tree:128").hosts) == 128
    with pytest.raises(BadInput, match="fat-tree:128"):
        find_cluster("fat-tree:many")


# ---- traces --------------------------------------------------------------------------------------


def read_trace(path: Path) -> Any:
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def test_a_written_trace_reads_back_with_every_packet(tmp_path: Path) -> None:
    path = tmp_path / "x.pftrace"
    arguments = ["--algorithm", "direct", "--size", "3KB", "--trace", str(path)]
    assert main(["simulate", "tam-8x4-u412", *arguments]) == 0
    result = simulate("tam-8x4-u412", "direct", 3000, trace=True)
    packets = read_trace(path).packet
    tracks = {
        p.track_descriptor.uuid: p.track_descriptor for p in packets if p.track_descriptor.name
    }
    events = [p for p in packets if p.HasField("track_event")]
    kinds = [p.track_event.type for p in events]
    assert kinds.count(TrackEvent.TYPE_SLICE_BEGIN) == kinds.count(TrackEvent.TYPE_SLICE_END)
    # What is still on a link when the last host is done has not made its hop.
    assert 0 <= kinds.count(TrackEvent.TYPE_SLICE_BEGIN) - result.packet_hops < 64
    assert kinds.count(TrackEvent.TYPE_INSTANT) == result.dropped
    # Every packet refers to tracks and names that are there.
    names = {entry.iid: entry.name for p in packets for entry in p.interned_data.event_names}
    for packet in events:
        event = packet.track_event
        assert event.track_uuid in tracks
        if event.type in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_INSTANT):
            assert " -> h" in names[event.name_iid]
    assert tracks[1].parent_uuid == 0
    # A port sends one packet at a time; a queue ends empty and is as long as was counted.
    highest: dict[str, int] = {}
    by_track: dict[int, list[Any]] = {uuid: [] for uuid in tracks}
    for packet in events:
        by_track[packet.track_event.track_uuid].append(packet)
    for uuid, track in tracks.items():
        mine = by_track[uuid]
        if track.HasField("counter"):
            values = [p.track_event.counter_value for p in mine]
            assert values[-1] == 0
            assert min(values) >= 0
            highest[track.name.removeprefix("queue ")] = max(values)
            continue
        times = [p.timestamp for p in mine if p.track_event.type != TrackEvent.TYPE_INSTANT]
        assert times == sorted(times)
    full = next(port for port in result.ports if port.dropped)
    assert highest[full.name] <= full.queue_high_water


def test_queue_lengths_count_who_waits() -> None:
    records = np.zeros(3, RECORD)
    records["queued"] = [0, 0, 5]
    records["start"] = [0, 10, 20]  # the first goes at once
    records["end"] = [10, 20, 30]
    times, lengths = queue_lengths(records)
    assert list(zip(times, lengths, strict=True)) == [(0, 1), (5, 2), (10, 1), (20, 0)]


def test_the_record_of_a_trace_is_what_the_simulator_writes() -> None:
    raw = _core.simulate(find_cluster("tam-16x1"), {"size": 1000, "trace": True}, None)
    records = np.frombuffer(raw["trace"], RECORD)
    assert 0 <= len(records) - raw["packet_hops"] < 16
    assert set(records["bytes"]) >= {1066}
    assert (records["end"] > records["start"]).all()
    assert (records["start"] >= records["queued"]).all()


def test_jobs_that_share_a_network_get_their_shares() -> None:
    options: dict[str, Any] = {"jitter_us": 20, "exchanges": 6, "jobs": 2}
    cluster = output_queued("oversubscribed-8x4")
    yielding = simulate(cluster, size=20_000, **options)
    shares = yielding.shares
    assert shares["fair_share_s"] == pytest.approx(2 * yielding.limit_s)
    assert len(shares["jobs"]) == 2
    assert all(len(job["exchange_s"]) == 6 for job in shares["jobs"])
    assert 0.8 < shares["together_fraction"] < 1.05
    assert yielding.raw["window_cuts"] > 0
    stubborn = simulate(cluster, size=20_000, congestion_control="off", **options)
    assert stubborn.raw["window_cuts"] == 0
    assert yielding.retransmitted < stubborn.retransmitted / 2


def test_jobs_on_split_hosts_share_uplinks_only() -> None:
    result = simulate("tam-8x4", size=5000, jobs=2, job_layout="split", exchanges=3)
    assert result.hosts == 16
    assert result.shares["fair_share_s"] < 1.1 * result.limit_s
    assert [job["time_s"] for job in result.shares["jobs"]] == pytest.approx(
        [result.shares["fair_share_s"]] * 2, rel=0.1
    )


def test_background_flows_are_those_of_the_lab(capsys: pytest.CaptureFixture[str]) -> None:
    words = "simulate oversubscribed-8x4 --size 5000 --exchanges 6 --background full --json -"
    assert main(words.split()) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [(flow["from"], flow["to"]) for flow in found["background"]] == [
        ("h0", "h15"),
        ("h8", "h23"),
        ("h16", "h31"),
        ("h24", "h7"),
    ]
    for flow in found["background"]:
        assert flow["fair_mbit_s"] == pytest.approx(50)
        assert flow["mbit_s"] > 20
    assert found["fair_share_s"] > found["limit_s"]


def test_a_job_may_be_told_another_network_than_it_has() -> None:
    true = load_cluster("oversubscribed-8x4")
    alone = simulate(true, size=20_000)
    assert simulate(true, size=20_000, told=true).time_s == alone.time_s
    text = true.to_toml().replace("_packets = 43\n", "_packets = 2\n")
    wrong = simulate(true, size=20_000, told=parse_cluster(text, "wrong.toml"))
    assert wrong.limit_s == alone.limit_s, "the network is what it is"
    assert wrong.time_s != alone.time_s


def test_a_file_with_a_tenth_of_the_rate_is_not_believed_for_long() -> None:
    """Queues that hold more than the links carry such packets faster than the file allows."""
    cluster = load_cluster("tam-8x4")
    options = {"algorithm": "sync-shuffle", "size": 50_000, "exchanges": 12, "jitter_us": 500}
    told = parse_cluster(LIES["rates-tenth"](cluster.to_toml()), "slow.toml")
    true = _core.simulate(cluster, options, None)
    lied = _core.simulate(cluster, options, None, told)
    assert true["files_distrusted"] == 0
    assert lied["files_distrusted"] == 32
    assert sum(lied["exchange_s"]) <= 1.05 * sum(true["exchange_s"])


@pytest.mark.parametrize(("seed", "lie"), [(15, "latencies-none"), (17, "latencies-tenth")])
def test_a_file_whose_latencies_are_too_small_is_not_believed_for_long(seed: int, lie: str) -> None:
    """Windows are made for ways that hold few packets: links idle until peers have been asked."""
    cluster, options = exchanges_on(seed, 20_000)
    told = parse_cluster(LIES[lie](cluster.to_toml()), "near.toml")
    true = _core.simulate(cluster, options, None)
    lied = _core.simulate(cluster, options, None, told)
    assert true["files_distrusted"] == 0
    assert lied["files_distrusted"] == len(cluster.hosts)
    assert lied["exchange_s"][1] >= 3 * true["exchange_s"][1], "it costs something at first"
    assert sum(lied["exchange_s"][10:]) <= 1.1 * sum(true["exchange_s"][10:])


@pytest.mark.parametrize("lateness_us", [0, 300, 3_000, 30_000])
@pytest.mark.parametrize("network", ["shallow-4x2", "oversubscribed-8x4", "leaf-spine-4x4"])
def test_a_true_file_is_believed_whoever_is_late(network: str, lateness_us: int) -> None:
    options = {"algorithm": "sync-shuffle", "exchanges": 20, "jitter_us": lateness_us}
    for size in (1_000, 20_000, 100_000):
        found = _core.simulate(load_cluster(network), {**options, "size": size}, None)
        assert found["files_distrusted"] == 0


def test_what_a_job_is_told_names_all_its_hosts() -> None:
    with pytest.raises(BadInput, match=r"`shallow-8x1`, which the job is told, has no host `h8`"):
        simulate("oversubscribed-8x4", told="shallow-8x1")
    with pytest.raises(BadInput, match="flow mode"):
        simulate("tam-8x4", mode="flow", told="tam-8x4")
