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
FAT_TREE_HOSTS_MAX = 65_536


def _build_fat_tree(text: str) -> Cluster:
    """`fat-tree:128`: three levels of switches, as much bandwidth up as down."""
    match = re.fullmatch(rf"{FAT_TREE}:(\d{{1,6}})", text)
    hosts = int(match[1]) if match else 0
    if not 2 <= hosts <= FAT_TREE_HOSTS_MAX:
        raise BadInput(
            f"{text!r} is no fat tree; expected {FAT_TREE}:HOSTS with 2 to {FAT_TREE_HOSTS_MAX} "
            f"hosts, for example {FAT_TREE}:128"
        )
    cluster: Cluster = _core.fat_tree(hosts)
    return cluster


def find_cluster(name: str | os.PathLike[str] | Cluster) -> Cluster:
    """A cluster by its file, the name of a ready-made one, or `fat-tree:HOSTS`."""
    if isinstance(name, Cluster):
        return name
    text = os.fspath(name)
    if text.startswith(FAT_TREE) and not Path(text).is_file():
        return _build_fat_tree(text)
    try:
        path = find_cluster_file(text)
    except BadInput:
        if Path(text).suffix == ".toml" or len(Path(text).parts) > 1:
            raise
        raise BadInput(
            f"no cluster is called {text!r}; expected a cluster file, {FAT_TREE}:HOSTS or one of "
            f"the ready-made clusters {', '.join(ready_made())}"
        ) from None
    return _core.load_cluster(str(path))
