"""Our simulator beside ns-3: the same frames at the same times over the same drop-tail queues.

Hosts are ours in both: what they put on their links is taken from our trace and replayed, frame by
frame. What is compared is the network. `make oracles` installs ns-3; without it this is left out.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allemande.simulation.case import simulate
from allemande.simulation.networks import find_cluster
from allemande.simulation.trace import DROPPED, SENT, Records, read_records
from allemande.topology import Cluster, parse_cluster

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "oracles" / "venv" / "bin" / "python"
HOST_QUEUE = 100_000  # a frame is handed over when the link is free: it never waits there

ROUNDING_PS = 40  # rates are whole bits per second: a picosecond or so per hop

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="ns-3 is not installed: make oracles"),
]


def drop_tail(name: str) -> Cluster:
    """The cluster with a queue per port and nothing else, as ns-3 has it."""
    text = find_cluster(name).to_toml()
    for word, plain in (
        ('architecture = "input"', 'architecture = "output"'),
        ('architecture = "shared"', 'architecture = "output"'),
        ('switching = "cut-through"', 'switching = "store-and-forward"'),
    ):
        text = text.replace(word, plain)
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("buffer_packets", "backplane_mbit_s"))
    ]
    return parse_cluster("\n".join(lines), name)


def links_of(cluster: Cluster) -> list[list[int]]:
    names = [host.name for host in cluster.hosts] + [node.name for node in cluster.switches]
    number = {name: index for index, name in enumerate(names)}
    hosts = {host.name for host in cluster.hosts}
    return [
        [
            number[link.from_],
            number[link.to],
            round(link.rate_up_mbit_s * 1e6),
            round(link.rate_down_mbit_s * 1e6),
            round(link.latency_us * 1e6),
            HOST_QUEUE if link.from_ in hosts else link.queue_up_packets,
            HOST_QUEUE if link.to in hosts else link.queue_down_packets,
        ]
        for link in cluster.links
    ]


def ask_ns3(cluster: Cluster, frames: Records) -> dict[str, Any]:
    question = {
        "hosts": len(cluster.hosts),
        "nodes": len(cluster.hosts) + len(cluster.switches),
        "links": links_of(cluster),
        "frames": [
            [int(f["start"]), int(f["source"]), int(f["destination"]), int(f["bytes"])]
            for f in frames
        ],
    }
    process = subprocess.run(
        [str(PYTHON), str(Path(__file__).parent / "ns3_fifo.py")],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    answer: dict[str, Any] = json.loads(process.stdout[process.stdout.index("{") :])
    return answer


def split(cluster: Cluster, records: Records) -> tuple[Records, Records]:
    """Frames on the links out of hosts, by time, and frames on the links into hosts."""
    hosts = {host.name for host in cluster.hosts}
    out_of, into = [], []
    for index, link in enumerate(cluster.links):
        for port, sender, receiver in (
            (2 * index, link.from_, link.to),
            (2 * index + 1, link.to, link.from_),
        ):
            if sender in hosts:
                out_of.append(port)
            if receiver in hosts:
                into.append(port)
    sent = records[records["kind"] == SENT]
    first = sent[np.isin(sent["port"], out_of)]
    return np.sort(first, order=["start", "source"]), sent[np.isin(sent["port"], into)]


@pytest.mark.parametrize(
    ("name", "algorithm", "size", "loses"),
    [
        ("tam-16x1", "sync-shuffle", 20_000, False),
        ("tam-8x4-u412", "sync-shuffle", 10_000, False),
        ("tam-8x3-u412", "pairwise", 20_000, False),
        ("tam-8x2-u412", "direct", 10_000, True),
        ("tam-16x1", "direct", 60_000, True),
    ],
)
def test_the_same_frames_meet_the_same_fate(
    name: str, algorithm: str, size: int, loses: bool
) -> None:
    cluster = drop_tail(name)
    # Hosts that start at times of their own leave few frames at one queue in the same picosecond,
    # where the order would be anybody's choice.
    result = simulate(cluster, algorithm, size, trace=True, jitter_us=200.0, seed=7)
    records = read_records(result.raw["trace"])
    frames, delivered = split(cluster, records)
    answer = ask_ns3(cluster, frames)

    dropped = Counter(int(r["port"]) for r in records if r["kind"] == DROPPED)
    theirs = {port: count for port, count in enumerate(answer["drops"]) if count}
    assert dropped == theirs
    assert bool(dropped) == loses

    # The end within 2 %. Frames to the picosecond, but for those that met another at the very same
    # time: who goes first is each simulator's own choice, and whoever waits behind is late as well.
    arrived: dict[tuple[int, int], list[int]] = {}
    for frame, time in zip(frames, answer["arrivals"], strict=True):
        if time >= 0:
            arrived.setdefault((int(frame["source"]), int(frame["destination"])), []).append(time)
    ours: dict[tuple[int, int], list[int]] = {}
    for frame in delivered:
        ours.setdefault((int(frame["source"]), int(frame["destination"])), []).append(
            int(frame["end"])
        )
    last_ours = max(max(times) for times in ours.values())
    last_theirs = max(max(times) for times in arrived.values())
    assert last_ours == pytest.approx(last_theirs, rel=0.02)
    off = [
        abs(a - b)
        for pair, times in ours.items()
        for a, b in zip(sorted(times), sorted(arrived[pair]), strict=False)
    ]
    assert np.mean(np.array(off) <= ROUNDING_PS) > 0.9
