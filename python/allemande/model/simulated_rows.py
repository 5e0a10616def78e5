"""Predictions of the best candidates, replaced by what the simulator says of them.

The models behind predictions have no queues that overflow (ADR 45): where an exchange loses
packets they are far off. So the first of a ranking are simulated on the network of the profile,
where that takes seconds, until the first of all is one that was simulated or measured.

Each is run with ranks that enter together, and twice more apart by the profile's jitter. The
median is the time; where no jitter was measured, it is the run together, because how far apart
ranks enter is a guess. Where the runs differ, losses are a matter of chance, and the interval holds
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from allemande.errors import Failed
from allemande.model.predict import Row, ranked
from allemande.model.profile import Profile
from allemande.model.ways import library_of, own_candidates
from allemande.simulation.case import Case, make_case, run_case
from allemande.topology import Cluster

SIMULATED = "simulated"
FIRST = 3  # of a ranking that are simulated
MOST = 6  # until the first of all is simulated
SEEDS = (1, 2)  # of runs with jitter, beside one without
# Packets times links that all runs of one size may take; about as many are simulated in 5 s.
WORK_MAX = 5e6
LINKS_USUAL = 3  # on the way of a packet and of what answers it
WIDTH = 0.03  # to either side of a time that does not depend on chance
JITTER_PACKETS = 4  # packet times by which ranks enter apart, where no jitter was measured


def simulate_best(
    profile: Profile,
    members: Sequence[str],
    rows: Sequence[Row],
    run: Callable[[Case], float] | None = None,
) -> list[Row]:
    """The ranking of one size again, its best simulated where that takes seconds.

    Rows that were measured stay, as do those of MPI libraries. `run`: what simulates a case and
    gives its time.
    """
    cluster = profile.cluster
    if cluster is None or _work(cluster, len(members), rows[0].size) > WORK_MAX:
        return list(rows)
    ways = own_candidates(cluster, members, library_of(profile))
    algorithms = {one.key: one.algorithm for one in ways}
    found = list(rows)
    done: dict[str, Row | None] = {}
    while len(done) < MOST:
        ahead = found[: FIRST if len(done) < FIRST else 1]
        wanted = next((row for row in ahead if _can(row, algorithms, done)), None)
        if wanted is None:
            break
        times = _times(profile, cluster, members, wanted, algorithms[wanted.way], run or _seconds)
        known = _jitter_us(profile) is not None
        done[wanted.way] = _simulated(wanted, times, known) if times else None
        found = ranked([_replaced(row, done.get(row.way)) for row in found])
    return found


def _can(row: Row, algorithms: dict[str, str], done: dict[str, Row | None]) -> bool:
    return row.basis != "measured" and row.way in algorithms and row.way not in done


def _work(cluster: Cluster, ranks: int, size: int) -> float:
    packets = ranks * (ranks - 1) * max(1, -(-size // cluster.mtu_bytes))
    return float(packets * LINKS_USUAL * (1 + len(SEEDS)) * FIRST)


def _seconds(case: Case) -> float:
    return run_case(case).time_s


def _jitter_us(profile: Profile) -> float | None:
    found = [one.value for one in profile.parameters if one.name == "jitter"]
    return found[0] * 1e6 if found else None


def _usual_jitter_us(cluster: Cluster) -> float:
    slowest = min(link.rate_up_mbit_s for link in cluster.links)
    return JITTER_PACKETS * cluster.mtu_bytes * 8 / slowest


def _times(
    profile: Profile,
    cluster: Cluster,
    members: Sequence[str],
    row: Row,
    algorithm: str,
    run: Callable[[Case], float],
) -> list[float]:
    """None of them where the simulator refuses the network, as where it may deadlock."""
    jitter_us = _jitter_us(profile) or _usual_jitter_us(cluster)
    options: dict[str, Any] = {"hosts": list(members)}
    apart: list[dict[str, Any]] = [{"seed": seed, "jitter_us": jitter_us} for seed in SEEDS]
    try:
        return [
            run(make_case(cluster, algorithm, row.size, **options, **own)) for own in ({}, *apart)
        ]
    except Failed:
        return []


def _simulated(row: Row, times: Sequence[float], jitter_known: bool) -> Row:
    return replace(
        row,
        time_s=median(times) if jitter_known else times[0],
        low_s=min(times) * (1 - WIDTH),
        high_s=max(times) * (1 + WIDTH),
        basis=SIMULATED,
    )


def _replaced(row: Row, by: Row | None) -> Row:
    """What goes the same way takes the same time, whatever the candidate is called."""
    if by is None or row.basis == "measured":
        return row
    return replace(by, candidate=row.candidate)
