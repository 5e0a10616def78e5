"""Clusters as their files have them, with switches that have a queue for each port and nothing
else: behind input buffers hosts cannot see whose port is full."""

from __future__ import annotations

from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster, parse_cluster

OTHER_KINDS = ("architecture", "switching", "flow_control", "buffer_", "backplane_")


def output_queued(name: str) -> Cluster:
    """Store-and-forward, drop-tail, and no backplane that could be too slow."""
    lines = find_cluster(name).to_toml().splitlines()
    kept = [line for line in lines if not line.startswith(OTHER_KINDS)]
    return parse_cluster("\n".join(kept) + "\n", name)
