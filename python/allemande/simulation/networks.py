"""The networks that can be named: cluster files, ready-made, generated and imported ones."""

from __future__ import annotations

import os
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

IMPORTED = ("slurm", "ibnetdiscover")  # what stands before the colon of FORMAT:FILE


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
    made = (colon and kind in IMPORTED) or _core.is_generated(name)
    if Path(name).is_file() or not made:
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
    if _core.is_generated(text) and not Path(text).is_file():
        made: Cluster = _core.generate(text)
        return made
    try:
        path = find_cluster_file(text)
    except BadInput:
        if Path(text).suffix == ".toml" or len(Path(text).parts) > 1:
            raise
        names = ready_made()
        close = get_close_matches(text, names, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise BadInput(
            f"no cluster is called {text!r}; expected a cluster file, "
            f"{_core.generated_forms()}, slurm:FILE, ibnetdiscover:FILE or one of the ready-made "
            f"clusters {', '.join(names)}{hint}"
        ) from None
    return _core.load_cluster(str(path))
