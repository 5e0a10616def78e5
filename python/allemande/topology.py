"""Clusters: hosts, switches and links, read from a cluster file or by the name of a ready-made one.

>>> cluster = load_cluster("tam-8x4")
>>> cluster.scaled(0.1).limit_seconds(None, 50_000)
"""

from __future__ import annotations

import os
from pathlib import Path

from allemande import _core
from allemande._core import (
    Bisection,
    Cluster,
    Host,
    LevelLimit,
    Link,
    Switch,
    Tuning,
    compress_hostlist,
    parse_cluster,
    tune,
)
from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput
from allemande.text_files import shown

__all__ = [
    "Bisection",
    "Cluster",
    "Host",
    "LevelLimit",
    "Link",
    "Switch",
    "Tuning",
    "compress_hostlist",
    "expand_hostlist",
    "load_cluster",
    "parse_cluster",
    "tune",
]

NAME_CHARACTERS_MAX = 63  # of a host or switch


def expand_hostlist(text: str, option: str = "") -> list[str]:
    """The names of a list in Slurm's syntax, `h[0-3,7],x`; at most 131072.

    Raises BadInput for anything else, before a long list of long names is made. The message begins
    with `option`, if one gave the list.
    """
    place = f"{option}: " if option else ""
    odd = next((letter for letter in text if not letter.isprintable()), None)
    if odd is not None:  # some of these cannot even be passed on
        raise BadInput(
            f"{place}hostlist `{shown(text[:60])}`: has the character U+{ord(odd):04X}; "
            "expected names of ASCII letters, digits and signs, separated by commas alone"
        )
    try:
        return list(_core.expand_hostlist(text))
    except BadInput as error:
        raise BadInput(f"{place}{error}") from None


def load_cluster(cluster: str | os.PathLike[str] | Path) -> Cluster:
    """Reads a cluster file, given its path or the name of a ready-made one.

    Raises allemande.errors.BadInput with file, line, key and what was expected.
    """
    return _core.load_cluster(str(find_cluster_file(os.fspath(cluster))))
