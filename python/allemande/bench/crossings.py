"""How often blocks cross from one part of a network to another, where the route is known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from allemande.bench.candidates import Candidate
from allemande.bench.figures import Figure
from allemande.simulation.case import make_case, run_case
from allemande.topology import Cluster

ALGORITHM = "ALLEMANDE_ALGORITHM"
UNKNOWN = ("auto", "combine", "native")  # what they take depends on more than their name
SIZE_MAX = 128  # larger blocks go as these do


def _crossings_of(
    candidate: Candidate, cluster: Cluster, hosts: Sequence[str], size: int
) -> dict[str, float] | None:
    """By level, as `allemande simulate` has it; None where it does not, and for stock libraries.

    `hosts`: of each rank, one each.
    """
    algorithm = candidate.environment.get(ALGORITHM)
    if candidate.stock or algorithm is None or algorithm in UNKNOWN:
        return None
    case = make_case(cluster, algorithm, min(size, SIZE_MAX), hosts=list(hosts))
    return run_case(case).crossings or None


def with_crossings(
    figures: Sequence[Figure],
    candidates: Sequence[Candidate],
    cluster: Cluster,
    hosts: Sequence[str],
) -> list[Figure]:
    """Adds crossings to figures of MPI_Alltoall, one rank per host, hosts at several sites."""
    sites = dict(zip((host.name for host in cluster.hosts), cluster.sites(), strict=False))
    if len({sites.get(host) for host in hosts}) < 2 or len(set(hosts)) < len(hosts):
        return list(figures)
    by_name = {candidate.name: candidate for candidate in candidates}
    return [
        replace(
            figure, crossings=_crossings_of(by_name[figure.candidate], cluster, hosts, figure.size)
        )
        if figure.collective == "alltoall"
        else figure
        for figure in figures
    ]
