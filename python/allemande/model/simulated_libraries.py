"""Predictions of MPI libraries' algorithms where simulated TCP loses packets.

Samples among few hosts, or of other sizes, say nothing of queues that overflow (docs/adr/0045). So
an algorithm of which there is no sample at this size is simulated over TCP, where that takes
seconds, with ranks apart by chance. What loses nothing keeps its prediction: samples know what
processors cost, the simulator does not. What loses packets takes the longer one of both times, and
the interval holds the prediction and all calls, because which call meets a time-out is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from allemande.errors import Failed
from allemande.model.predict import Row
from allemande.model.profile import MEASURED
from allemande.simulation.case import Case, make_case, run_case
from allemande.stock_algorithms import parse_stock
from allemande.topology import Cluster

SEEDS = (1, 2, 3)
# Of each seed; the first, in which connections are new, does not count. Calls that lose packets
# vary: medians of six, of the same exchange, lay 30 % apart.
EXCHANGES = 9
WORK_PARTS = 4  # a run may take this part of what one of ours may
TRANSPORT = "tcp"


@dataclass(frozen=True)
class Calls:
    """What one run saw."""

    times_s: tuple[float, ...]
    dropped: int


def _run_calls(case: Case) -> Calls:
    result = run_case(case)
    return Calls(tuple(result.raw["exchange_s"][1:]), result.dropped)


def simulate_libraries(
    cluster: Cluster,
    members: Sequence[str],
    rows: Sequence[Row],
    jitter_us: float,
    basis: str,
    run: Callable[[Case], Calls] | None = None,
) -> list[Row]:
    """The rows of one size again, in no order. `basis`: what simulated rows say."""
    return [
        _simulated(cluster, members, row, jitter_us, basis, run or _run_calls)
        if _is_open(row)
        else row
        for row in rows
    ]


def _is_open(row: Row) -> bool:
    """An algorithm that is known by name, and was not measured."""
    if row.way or row.basis == MEASURED:
        return False
    stock = parse_stock(row.candidate)
    return stock is not None and not stock.is_default


def _simulated(
    cluster: Cluster,
    members: Sequence[str],
    row: Row,
    jitter_us: float,
    basis: str,
    run: Callable[[Case], Calls],
) -> Row:
    seen: list[Calls] = []
    try:
        for seed in SEEDS:
            asked: dict[str, Any] = {
                "hosts": list(members),
                "transport": TRANSPORT,
                "exchanges": EXCHANGES,
                "seed": seed,
                "jitter_us": jitter_us,
            }
            seen.append(run(make_case(cluster, row.candidate, row.size, **asked)))
    except Failed:  # the simulator refuses the network
        return row
    if not any(calls.dropped for calls in seen):
        return row
    times = [time_s for calls in seen for time_s in calls.times_s]
    return replace(
        row,
        time_s=max(row.time_s, median(times)),
        low_s=min(row.low_s, *times),
        high_s=max(row.high_s, *times),
        basis=basis,
    )
