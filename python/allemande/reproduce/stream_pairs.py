"""Who sends to whom in experiments with streams, and on which host each rank is."""

from __future__ import annotations

import random
from typing import Any

from allemande.errors import BadInput
from allemande.topology import Cluster

Pairs = list[tuple[str, str]]


def _numbers(data: dict[str, Any], ranks: int) -> list[tuple[int, int]]:
    """`pairs`: "distance:8" (rank i to i + 8, the lower half), "shuffle", or [[from, to], ..]."""
    pairs = data["pairs"]
    if pairs == "shuffle":  # the binary digits of i, rotated left
        bits = (ranks - 1).bit_length()
        top = 1 << (bits - 1)
        return [(i, 2 * i % ranks + i // top) for i in range(ranks) if i not in (0, ranks - 1)]
    if isinstance(pairs, str) and pairs.startswith("distance:"):
        distance = int(pairs.removeprefix("distance:"))
        return [(i, i + distance) for i in range(ranks // 2)]
    if isinstance(pairs, list):
        return [(int(a), int(b)) for a, b in pairs]
    raise BadInput(f"pairs {pairs!r} are unknown; expected distance:D, shuffle or a list")


def mappings(data: dict[str, Any]) -> list[int | None]:
    """Seeds of random mappings; None is the order of the file."""
    return list(range(data.get("mappings", 0))) or [None]


def stream_pairs(cluster: Cluster, data: dict[str, Any], mapping: int | None) -> Pairs:
    """Names of the hosts of each pair."""
    names = [host.name for host in cluster.hosts]
    if mapping is not None:
        random.Random(mapping).shuffle(names)
    return [(names[a], names[b]) for a, b in _numbers(data, len(names))]
