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
from allemande.control_characters import told
from allemande.errors import BadInput
from allemande.formats.cluster_imports import hint_at_kind, is_import, read_import
from allemande.formats.recognise import IMPORT_FORMS
from allemande.text_files import exists, is_file
from allemande.topology import Cluster


def _import_cluster(text: str) -> Cluster:
    """KIND:FILE; what it leaves open is told on stderr."""
    cluster, notes = read_import(text)
    for note in notes:
        print(f"allemande: {told(note)}", file=sys.stderr)
    return cluster


def _is_generated(name: str) -> bool:
    return name.isprintable() and _core.is_generated(name)


@contextmanager
def as_cluster_file(name: str) -> Iterator[str]:
    """The name, where a file is behind it; else that of a file made for as long as it is used."""
    if is_file(name) or not (is_import(name) or _is_generated(name)):
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
    if is_import(text):
        return _import_cluster(text)
    if _is_generated(text) and not is_file(text):
        made: Cluster = _core.generate(text)
        return made
    try:
        path = find_cluster_file(text)
    except BadInput:
        if Path(text).suffix == ".toml" or len(Path(text).parts) > 1 or exists(text):
            raise
        names = ready_made()
        close = get_close_matches(text, names, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise BadInput(
            f"no cluster is called {text!r}; expected a cluster file, "
            f"{_core.generated_forms()}, {IMPORT_FORMS}, or one of the ready-made clusters "
            f"{', '.join(names)}{hint}"
        ) from None
    return _load(str(path))


def _load(path: str) -> Cluster:
    try:
        loaded: Cluster = _core.load_cluster(path)
    except BadInput:
        hint = hint_at_kind(path)
        if hint is None:
            raise
        raise hint from None
    return loaded
