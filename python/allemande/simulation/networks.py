"""The networks a simulation takes: cluster files, ready-made ones, and generated fat trees."""

from __future__ import annotations

import os
import re
from pathlib import Path

from allemande import _core
from allemande.cluster_files import find_cluster_file, ready_made
from allemande.errors import BadInput
from allemande.topology import Cluster

FAT_TREE = "fat-tree"
LOSSLESS_FAT_TREE = "lossless-fat-tree"
LOSSLESS_QUEUE_PACKETS = 32  # in each input buffer
IB_144 = "ib-144"
FAT_TREE_HOSTS_MAX = 65_536


def _build_fat_tree(text: str) -> Cluster:
    """`fat-tree:128`: three levels of switches, as much bandwidth up as down."""
    kind, _, size = text.partition(":")
    hosts = int(size) if re.fullmatch(r"\d{1,6}", size) else 0
    if kind not in (FAT_TREE, LOSSLESS_FAT_TREE) or not 2 <= hosts <= FAT_TREE_HOSTS_MAX:
        raise BadInput(
            f"{text!r} is no fat tree; expected {FAT_TREE}:HOSTS or {LOSSLESS_FAT_TREE}:HOSTS with "
            f"2 to {FAT_TREE_HOSTS_MAX} hosts, for example {FAT_TREE}:128"
        )
    lossless = kind == LOSSLESS_FAT_TREE
    cluster: Cluster = _core.fat_tree(
        hosts, queue_packets=LOSSLESS_QUEUE_PACKETS if lossless else 100, lossless=lossless
    )
    return cluster


def find_cluster(name: str | os.PathLike[str] | Cluster) -> Cluster:
    """A cluster by its file, the name of a ready-made one, or of a generated network."""
    if isinstance(name, Cluster):
        return name
    text = os.fspath(name)
    if text.startswith((FAT_TREE, LOSSLESS_FAT_TREE)) and not Path(text).is_file():
        return _build_fat_tree(text)
    if text == IB_144:
        switch: Cluster = _core.ib_144()
        return switch
    try:
        path = find_cluster_file(text)
    except BadInput:
        if Path(text).suffix == ".toml" or len(Path(text).parts) > 1:
            raise
        raise BadInput(
            f"no cluster is called {text!r}; expected a cluster file, {FAT_TREE}:HOSTS, "
            f"{LOSSLESS_FAT_TREE}:HOSTS, {IB_144} or one of the ready-made clusters "
            f"{', '.join(ready_made())}"
        ) from None
    return _core.load_cluster(str(path))
