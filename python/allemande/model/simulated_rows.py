"""Predictions of the best candidates, replaced by what the simulator says of them.

The models behind predictions have no queues that overflow (ADR 45): where an exchange loses
packets they are far off. Those of MPI libraries' algorithms are held against simulated TCP first
(simulated_libraries.py). So the first of a ranking are simulated on the network of the profile,
where that takes seconds, and all whose interval begins before the fastest of these has ended. A
table of all candidates (`predict --simulate`) has the others simulated too.

Ranks enter together. The best three, in a table all, run five times more, with ranks apart by the
profile's jitter. The median is the time then; where no jitter was measured, it is the run together,
because how far apart ranks enter is a guess. Where the runs differ, losses are a matter of chance,
and the interval holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from allemande.errors import Failed
from allemande.model.predict import Row, ranked
from allemande.model.profile import MEASURED, Profile
from allemande.model.simulated_libraries import WORK_PARTS, Calls, simulate_libraries
from allemande.model.ways import library_of, own_candidates
from allemande.simulation.case import Case, make_case, run_case
from allemande.topology import Cluster

SIMULATED = "simulated"
FIRST = 3  # of a ranking that are simulated in any case, and with jitter
# Of runs with jitter, beside one without: with two, the intervals of exchanges that lose packets
# held eight in ten (docs/adr/0097).
SEEDS = (1, 2, 3, 4, 5)
# Packets times links that one run may take: ten of them are simulated in some 5 s.
WORK_MAX = 5e5
LINKS_USUAL = 3  # on the way of a packet and of what answers it
WIDTH = 0.03  # to either side of a time that does not depend on chance
JITTER_PACKETS = 4  # packet times by which ranks enter apart, where no jitter was measured


def simulate_best(
    profile: Profile,
    members: Sequence[str],
    rows: Sequence[Row],
    run: Callable[[Case], float] | None = None,
    run_calls: Callable[[Case], Calls] | None = None,
    every_way: bool = False,
) -> list[Row]:
    """The ranking of one size again, its best simulated where that takes seconds.

    Rows that were measured stay. `run`: what simulates a case of ours and gives its time;
    `run_calls`: the same of an MPI library's. `every_way`: those too that cannot be the fastest.
    """
    cluster = profile.cluster
    if cluster is None:
        return list(rows)
    work = _work(cluster, len(members), rows[0].size)
    if work > WORK_MAX:
        return list(rows)
    ways = own_candidates(cluster, members, library_of(profile))
    algorithms = {one.key: one.algorithm for one in ways}
    jitter_us = _jitter_us(profile)
    found = list(rows)
    if work * WORK_PARTS <= WORK_MAX:
        apart_us = jitter_us or _usual_jitter_us(cluster)
        found = ranked(simulate_libraries(cluster, members, found, apart_us, SIMULATED, run_calls))
    tried: set[str] = set()

    def times(row: Row, apart: bool) -> list[float]:
        asked = _options(apart, jitter_us or _usual_jitter_us(cluster))
        cases = [
            make_case(cluster, algorithms[row.way], row.size, hosts=list(members), **own)
            for own in asked
        ]
        return _run_all(cases, run or _seconds)

    def replace_way(row: Row, seen: Sequence[float], time_s: float) -> None:
        by = _simulated(row, seen, time_s)
        found[:] = ranked([_replaced(one, by) if one.way == by.way else one for one in found])

    while (wanted := _next(found, algorithms, tried, every_way)) is not None:
        tried.add(wanted.way)
        if seen := times(wanted, apart=False):
            replace_way(wanted, seen, seen[0])
    best = {row.way: row for row in found if row.way in tried and row.basis == SIMULATED}
    for row in list(best.values())[: None if every_way else FIRST]:
        seen = [row.time_s, *times(row, apart=True)]
        replace_way(row, seen, median(seen) if jitter_us is not None else row.time_s)
    return found


def _next(
    found: Sequence[Row], algorithms: dict[str, str], tried: set[str], every_way: bool
) -> Row | None:
    """The next that is to be simulated: of the first, or where it may be the fastest of all."""
    known = [row.time_s for row in found if row.basis in (SIMULATED, MEASURED)]
    fastest = min(known, default=float("inf"))
    for place, row in enumerate(found):
        if row.way not in algorithms or row.way in tried or row.basis == MEASURED:
            continue
        if every_way or place < FIRST or row.low_s < fastest:
            return row
    return None


def _work(cluster: Cluster, ranks: int, size: int) -> float:
    packets = ranks * (ranks - 1) * max(1, -(-size // cluster.mtu_bytes))
    return float(packets * LINKS_USUAL)


def _seconds(case: Case) -> float:
    return run_case(case).time_s


def _jitter_us(profile: Profile) -> float | None:
    found = [one.value for one in profile.parameters if one.name == "jitter"]
    return found[0] * 1e6 if found else None


def _usual_jitter_us(cluster: Cluster) -> float:
    slowest = min(link.rate_up_mbit_s for link in cluster.links)
    return JITTER_PACKETS * cluster.mtu_bytes * 8 / slowest


def _options(apart: bool, jitter_us: float) -> list[dict[str, Any]]:
    return [{"seed": seed, "jitter_us": jitter_us} for seed in SEEDS] if apart else [{}]


def _run_all(cases: Sequence[Case], run: Callable[[Case], float]) -> list[float]:
    """Nothing where the simulator refuses the network, as where it may deadlock."""
    try:
        return [run(case) for case in cases]
    except Failed:
        return []


def _simulated(row: Row, seen: Sequence[float], time_s: float) -> Row:
    return replace(
        row,
        time_s=time_s,
        low_s=min(seen) * (1 - WIDTH),
        high_s=max(seen) * (1 + WIDTH),
        basis=SIMULATED,
    )


def _replaced(row: Row, by: Row) -> Row:
    """What goes the same way takes the same time, whatever the candidate is called."""
    return row if row.basis == MEASURED else replace(by, candidate=row.candidate)
