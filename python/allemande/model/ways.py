"""Candidates as `allemande bench` names them, and the ways of allemande behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from allemande import _core
from allemande.errors import BadInput
from allemande.model.profile import Profile
from allemande.topology import Cluster

OUR_PREFIX = "allemande+"
LIBRARY_WAY = "library"
COMBINING = "combine"  # the option's name for phases that combine blocks
SEVERAL_WAYS = (COMBINING, "multi-site", "auto", "native")  # values that do not name one way


@dataclass(frozen=True)
class OwnCandidate:
    """A way that allemande carries out itself, as `bench` would name it."""

    candidate: str  # allemande+openmpi:algorithm=pairwise
    algorithm: str  # as `allemande simulate` takes it: grid:8x4
    key: str  # as decision files have it: udp grid:8x4
    shape: _core.ExchangeShape
    takes: Callable[[int], bool]  # whether the algorithm goes this way for blocks of so many bytes


def our_candidate(library: str, algorithm: str) -> str:
    """What `bench` calls allemande over this library with this value of the option `algorithm`."""
    return f"{OUR_PREFIX}{library}:algorithm={algorithm}"


def library_of(profile: Profile) -> str:
    """openmpi or mpich, as candidates name it."""
    return "mpich" if profile.network.mpi.lower().startswith("mpich") else "openmpi"


def _option_of(algorithm: str) -> str:
    """The value of the option `algorithm` that makes allemande take it."""
    name = algorithm.partition(":")[0]
    return COMBINING if name in ("grid", "bruck") else name


def own_candidates(
    cluster: Cluster, members: Sequence[str], library: str
) -> tuple[OwnCandidate, ...]:
    """All that allemande may take among these hosts, one rank each."""
    return tuple(
        OwnCandidate(
            candidate=our_candidate(library, _option_of(way.algorithm)),
            algorithm=way.algorithm,
            key=way.key,
            shape=way.shape,
            takes=way.takes,
        )
        for way in _core.own_ways(cluster, list(members))
    )


def way_of(candidate: str) -> str:
    """What decision files call the way of a candidate; empty: it has none, or the size decides.

    Rounds have the same name on all ranks; which permutation they follow is left out.
    """
    name, _, options = candidate.partition(":")
    if not name.startswith(OUR_PREFIX):
        return LIBRARY_WAY if not options else ""
    words = options.split(",")
    chosen = [word.partition("=")[2] for word in words if word.startswith("algorithm=")]
    if len(words) != 1 or len(chosen) != 1 or chosen[0] in SEVERAL_WAYS:
        return ""
    return f"{_core.OVER_UDP}{chosen[0]}"


def check_members(profile: Profile, members: Sequence[str]) -> None:
    """Raises BadInput for hosts that the profile does not know."""
    unknown = [name for name in members if name not in profile.network.hosts]
    if unknown:
        raise BadInput(f"host {unknown[0]!r} is not in the profile; expected names of its hosts")
