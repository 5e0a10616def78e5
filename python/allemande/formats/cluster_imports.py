"""The names that make a cluster of what others describe: KIND:FILE, one module for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allemande.errors import BadInput
from allemande.formats.recognise import READ, REFUSED, kind_of, refusal
from allemande.text_files import exists, is_file, read_text, shown
from allemande.topology import Cluster

_LOOK_BYTES_MAX = 64 * 2**20


def _readers() -> Mapping[str, Callable[[str], tuple[Cluster, list[str]]]]:
    """What reads each kind; commands that need none do not wait for them."""
    from allemande.formats import htsim_topology, ibnetdiscover, simgrid, slurm

    return {
        "slurm": slurm.read_cluster,
        "ibnetdiscover": ibnetdiscover.read_cluster,
        "simgrid": simgrid.read_cluster,
        "htsim": htsim_topology.read_cluster,
    }


def is_import(text: str) -> bool:
    """Whether it is KIND:FILE; a file that is called so comes first."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and (kind in READ or kind in REFUSED) and not is_file(text)


def read_import(text: str) -> tuple[Cluster, list[str]]:
    """The cluster of KIND:FILE[,key=value...], and what the reader should know of it.

    Raises BadInput for what the file or the options do not say, and for kinds that are known and
    say nothing of a network.
    """
    kind, _, rest = text.partition(":")
    if kind in REFUSED:
        if not exists(rest):
            raise BadInput(f"{shown(rest)}: no such file; {kind}: is known, and is no network")
        raise refusal(kind, shown(rest))
    return _readers()[kind](text)


def hint_at_kind(path: str) -> BadInput | None:
    """For a file that is no cluster file: what it is, if it is one of those that others write."""
    try:
        kind = kind_of(read_text(path, "text", _LOOK_BYTES_MAX))
    except BadInput:
        return None
    if kind is None:
        return None
    if kind in REFUSED:
        return refusal(kind, shown(path))
    return BadInput(f"{shown(path)}: is {READ[kind]}; say {kind}:{shown(path)}")
