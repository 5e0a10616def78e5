"""Which jobs run at once, where their ranks go, and the least time the links allow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from allemande.bench.conditions import QUIET, Conditions
from allemande.bench.pattern_workload import make_pattern_workload
from allemande.bench.workload import Workload, make_workload
from allemande.errors import BadInput
from allemande.flow_limit import bound_s, flow_limit
from allemande.lab.placement import Placement, one_per_host
from allemande.lab.timers import Timers
from allemande.matrix import Matrix, MatrixSpec
from allemande.patterns import PatternSpec
from allemande.topology import Cluster

# What the ranks of a call begin by.
STARTS = (BARRIER, CLOCK) = ("barrier", "clock")


def choose_start(
    name: str | None, latency_s: float, conditions: Conditions, pattern: PatternSpec | None
) -> str:
    """By the clock where links have a latency, unless `name` says: a barrier ends as much later on
    some ranks as a message takes. Several jobs, cold calls and steps have starts of their own.
    """
    alone = conditions.jobs == 1 and not conditions.cold and pattern is None
    if name is None:
        return CLOCK if latency_s > 0 and alone else BARRIER
    if name not in STARTS:
        raise BadInput(f"start {name!r} is unknown; expected one of: {', '.join(STARTS)}")
    if name == CLOCK and not alone:
        raise BadInput("--start clock is for one job; leave out --jobs, --cold and --pattern")
    return name


@dataclass(frozen=True)
class JobPlan:
    """One workload per job, alike but for the hosts; their limits are those of a job alone."""

    workloads: tuple[Workload, ...]
    fair_share_s: Mapping[int, float]  # by size: the limit when all jobs share the links
    conditions: Conditions = QUIET
    asked: Workload | None = None  # as if all hosts were of one job
    latency_s: float = 0.0  # of the longest route, in the lab
    start: str = BARRIER  # what the ranks of a call begin by
    bounds_s: Mapping[int, float] = field(default_factory=dict)  # by size; not of patterns

    @staticmethod
    def of(workload: Workload) -> JobPlan:
        """One job under no conditions."""
        return JobPlan((workload,), workload.limits_s)

    @property
    def limits_s(self) -> Mapping[int, float]:
        return self.workloads[0].limits_s

    @property
    def ranks(self) -> int:
        """The ranks of all jobs."""
        return sum(workload.placement.ranks for workload in self.workloads)

    @property
    def same_hosts(self) -> bool:
        """Counters of a host are then those of all jobs."""
        return self.conditions.job_layout != "split"

    def describe(self) -> str | None:
        return (self.asked or self.workloads[0]).describe()

    def labels(self) -> dict[str, Any]:
        return {
            **(self.asked or self.workloads[0]).labels(),
            "ranks": self.workloads[0].placement.ranks,
            "latency_s": self.latency_s,
            "start": self.start,
            **self.conditions.labels(),
        }


def bounds_of(cluster: Cluster, workload: Workload, scale: float) -> dict[int, float]:
    """By size, in a lab that is so much slower. `cluster`: at full speed. Latencies grow there as
    frame times do, and so does the bound. Late ranks are in the limit alone."""
    if workload.pattern is not None:
        return {}
    bounds = {}
    for size, limit_s in workload.limits_s.items():
        rows = _rows(workload, size).tolist()
        bounds[size] = max(limit_s, bound_s(cluster, list(workload.hosts), rows, 0.0) / scale)
    return bounds


def split_placement(placement: Placement, job: int, jobs: int) -> Placement:
    """Every `jobs`-th host: each leaf's hosts are shared out, so that the jobs meet on uplinks."""
    slots = (count if index % jobs == job else 0 for index, count in enumerate(placement.slots))
    return Placement(tuple(slots), placement.order)


def _rows(workload: Workload, size: int) -> Matrix:
    found = workload.matrices.get(size)
    ranks = workload.placement.ranks
    return np.full((ranks, ranks), size) if found is None else np.asarray(found)


def _late_limit_s(
    cluster: Cluster,
    hosts: Sequence[str],
    rows: Matrix,
    links_s: float,
    late_s: Mapping[str, float],
    times: int = 1,
) -> float:
    """What late ranks send leaves them late; the rest may be done before."""
    found = links_s
    for lateness in {late_s[host] for host in hosts if host in late_s}:
        sent = rows.copy()
        sent[[late_s.get(host, 0.0) < lateness for host in hosts]] = 0
        rest = flow_limit(cluster, list(hosts), sent.tolist()).seconds
        found = max(found, lateness + times * rest)
    return found


def _fair_share_s(
    cluster: Cluster,
    workloads: Sequence[Workload],
    size: int,
    late_s: Mapping[str, float],
    same_hosts: bool,
) -> float:
    first = workloads[0]
    if same_hosts:
        jobs = len(workloads)
        links_s = jobs * first.limits_s[size]
        return _late_limit_s(cluster, first.hosts, _rows(first, size), links_s, late_s, jobs)
    hosts = [host for workload in workloads for host in workload.hosts]
    rows = np.zeros((len(hosts), len(hosts)), dtype=np.int64)
    begin = 0
    for workload in workloads:
        end = begin + workload.placement.ranks
        rows[begin:end, begin:end] = _rows(workload, size)
        begin = end
    links_s = flow_limit(cluster, hosts, rows.tolist()).seconds
    return _late_limit_s(cluster, hosts, rows, links_s, late_s)


def make_jobs(
    cluster: Cluster,
    sizes: Sequence[int],
    collective: str = "alltoall",
    matrix: MatrixSpec | None = None,
    seed: int = 1,
    placement: Placement | None = None,
    conditions: Conditions = QUIET,
    timers: Timers | None = None,
    pattern: PatternSpec | None = None,
) -> JobPlan:
    """`cluster`: as emulated, with the scale and with halved links."""
    where = placement or one_per_host(len(cluster.hosts))
    if pattern is not None:
        if conditions != replace(QUIET, half_rate_hosts=conditions.half_rate_hosts):
            raise BadInput(f"--pattern {pattern.text} is measured alone; leave out the conditions")
        return JobPlan.of(make_pattern_workload(cluster, sizes, pattern, collective, where))
    asked = make_workload(cluster, sizes, collective, matrix, seed, where)
    workloads = [asked] * conditions.jobs
    same_hosts = conditions.job_layout != "split" or conditions.jobs == 1
    if not same_hosts:
        workloads = [
            make_workload(
                cluster,
                sizes,
                collective,
                matrix,
                seed,
                split_placement(where, job, conditions.jobs),
            )
            for job in range(conditions.jobs)
        ]
    late_s = conditions.late_s(timers or Timers())
    shares = {
        size: _fair_share_s(cluster, workloads, size, late_s, same_hosts) for size in asked.limits_s
    }
    if late_s:
        workloads = [
            replace(
                workload,
                limits_s={
                    size: _late_limit_s(
                        cluster, workload.hosts, _rows(workload, size), limit_s, late_s
                    )
                    for size, limit_s in workload.limits_s.items()
                },
            )
            for workload in workloads
        ]
    return JobPlan(tuple(workloads), shares, conditions, asked)
