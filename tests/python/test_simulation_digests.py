"""Simulated runs give the same bytes as when their digests were recorded.

The digests cover algorithms, permutations, clusters, matrices, losses and seeds. A change that is
meant to alter simulated runs records them anew and says so in its commit:

    ALLEMANDE_UPDATE_DIGESTS=1 .venv/bin/python -m pytest tests/python/test_simulation_digests.py
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allemande import _core
from allemande.simulation.networks import find_cluster

DIGESTS = Path(__file__).parents[1] / "fixtures" / "simulation" / "digests.json"
CLUSTERS = ("tam-8x2-u412", "tam-8x4", "oversubscribed-8x4", "fat-tree:16")
ALGORITHMS = ("sync-shuffle", "group-shuffle", "pairwise", "shift-exchange", "direct")
PERMUTATIONS = ("shift", "xor", "edge-colouring", "balanced")
# What a run reports beside the network's behaviour.
# With one path the figures of paths follow from the others.
NOT_BEHAVIOUR = {
    *("memory_bytes", "ranks", "host_order", "combines", "warnings"),
    *("path_loads", "path_silences", "out_of_order"),
    "parities",  # newer than the record; without losses between sites there are none
    "recovered",
    "cuts_alone",  # newer than the record, and part of window_cuts
    "files_distrusted",  # newer than the record; a true file is believed, or windows differ
}


def leaf_down(cluster: str, start_us: float) -> dict[str, Any]:
    ends = ("edge0", "agg0") if cluster == "fat-tree:16" else ("leaf0", "core")
    names = {"from": ends[0], "to": ends[1]}
    return {"kind": "link-down", **names, "start_us": start_us, "duration_us": 3000}


def skewed(hosts: int, seed: int) -> list[list[int]]:
    """Bytes per pair, some of them none, one receiver asked for ten times as much."""
    return [
        [
            (seed * 7919 + sender * 131 + receiver * 17) % 9 * 700 * (10 if receiver == 3 else 1)
            for receiver in range(hosts)
        ]
        for sender in range(hosts)
    ]


def cases() -> Iterator[dict[str, Any]]:
    for cluster in CLUSTERS:
        for algorithm in ALGORITHMS:
            for seed in (1, 2, 3):
                yield {
                    "cluster": cluster,
                    "algorithm": algorithm,
                    "size": 3000 * seed + seed,
                    "jitter_us": 40 * (seed - 1),
                    "seed": seed,
                    "exchanges": seed,
                }
                yield {
                    "cluster": cluster,
                    "algorithm": algorithm,
                    "size": 6000,
                    "seed": seed,
                    "exchanges": 2,
                    "faults": [leaf_down(cluster, 700.0 * seed)],
                    "reliability": "go-back-n" if seed == 3 else "selective-repeat",
                }
        for permutation in PERMUTATIONS:
            yield {"cluster": cluster, "permutation": permutation, "size": 5000}
            yield {
                "cluster": cluster,
                "permutation": permutation,
                "size": 5000,
                "contention_aware": False,
                "window_packets": 6,
                "grain_packets": 2,
            }
        for seed in (1, 2, 3):
            hosts = 32 if cluster.endswith("8x4") else 16
            matrix = skewed(hosts, seed)
            yield {"cluster": cluster, "matrix": matrix, "exchanges": 2}
            yield {"cluster": cluster, "matrix": matrix, "uneven_steps": False, "jitter_us": 30}
            yield {"cluster": cluster, "size": 1000, "mapping": "random", "seed": seed}
            yield {
                "cluster": cluster,
                "size": 4000,
                "algorithm": "group-shuffle",
                "omega": seed + 1,
                "trace": True,
            }


def name_of(case: dict[str, Any]) -> str:
    short = {key: value for key, value in case.items() if key != "matrix"}
    text = json.dumps(case, sort_keys=True).encode()
    return f"{json.dumps(short, sort_keys=True)} #{hashlib.sha256(text).hexdigest()[:8]}"


def digest(case: dict[str, Any]) -> str:
    options = {key: value for key, value in case.items() if key != "cluster"}
    result = _core.simulate(find_cluster(case["cluster"]), options, None)
    trace = hashlib.sha256(result.pop("trace", b"")).hexdigest()
    behaviour = {key: value for key, value in result.items() if key not in NOT_BEHAVIOUR}
    text = json.dumps([behaviour, trace], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_simulated_runs_are_those_recorded() -> None:
    found = {name_of(case): digest(case) for case in cases()}
    assert len(found) >= 200
    if os.environ.get("ALLEMANDE_UPDATE_DIGESTS"):
        DIGESTS.parent.mkdir(parents=True, exist_ok=True)
        DIGESTS.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    recorded = json.loads(DIGESTS.read_text())
    different = [name for name, value in found.items() if recorded.get(name) != value]
    assert not different, f"{len(different)} of {len(found)} runs differ, first {different[0]}"
    assert set(recorded) == set(found)
