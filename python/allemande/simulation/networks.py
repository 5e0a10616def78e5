"""The networks that can be named: cluster files, ready-made, generated and imported ones."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
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
IMPORTED = ("slurm", "ibnetdiscover")  # what stands before the colon of FORMAT:FILE


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


def _import_cluster(text: str) -> Cluster:
    """`slurm:FILE` or `ibnetdiscover:FILE`; what it leaves open is told on stderr."""
    from allemande.formats import ibnetdiscover, slurm

    if text.startswith("slurm:"):
        cluster, notes = slurm.read_cluster(text)
    else:
        cluster, notes = ibnetdiscover.read_cluster(text)
    for note in notes:
        print(f"allemande: {note}", file=sys.stderr)
    return cluster


@contextmanager
def as_cluster_file(name: str) -> Iterator[str]:
    """The name, where a file is behind it; else that of a file made for as long as it is used."""
    kind, colon, _ = name.partition(":")
    made = colon and kind in (*IMPORTED, FAT_TREE, LOSSLESS_FAT_TREE)
    if Path(name).is_file() or not (made or name == IB_144):
        yield name
        return
    with tempfile.TemporaryDirectory(prefix="allemande-cluster-") as folder:
        cluster = find_cluster(name)
        path = Path(folder) / f"{cluster.name}.toml"
        path.write_text(cluster.to_toml(), encoding="utf-8")
        yield str(path)


def find_cluster(name: str | os.PathLike[str] | Cluster) -> Cluster:
    """A cluster by its file, the name of a ready-made one, of a generated network or an import."""
    if isinstance(name, Cluster):
        return name
    text = os.fspath(name)
    if text.partition(":")[0] in IMPORTED and ":" in text and not Path(text).is_file():
        return _import_cluster(text)
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
        names = ready_made()
        close = get_close_matches(text, names, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise BadInput(
            f"no cluster is called {text!r}; expected a cluster file, {FAT_TREE}:HOSTS, "
            f"{LOSSLESS_FAT_TREE}:HOSTS, {IB_144}, slurm:FILE, ibnetdiscover:FILE or one of the "
            f"ready-made clusters {', '.join(names)}{hint}"
        ) from None
    return _core.load_cluster(str(path))
