"""A pattern as a workload: a call is all of its steps, each a collective with its own matrix."""

from __future__ import annotations

from collections.abc import Sequence

from allemande.bench.workload import Workload
from allemande.errors import BadInput
from allemande.flow_limit import flow_limit
from allemande.lab.placement import Placement
from allemande.matrix import Matrix, of_sends
from allemande.patterns import BENCH_KINDS, PatternSpec, make_steps
from allemande.topology import Cluster

STEPS_MAX = 1024  # of the benchmark program


def check_pattern(spec: PatternSpec, collective: str) -> None:
    if spec.kind not in BENCH_KINDS:
        raise BadInput(
            f"--pattern {spec.text} is the simulator's alone; expected {', '.join(BENCH_KINDS)}"
        )
    if collective[-1] not in "vw":
        raise BadInput(f"--pattern {spec.text} needs --collective {collective}v or {collective}w")


def make_pattern_workload(
    cluster: Cluster,
    sizes: Sequence[int],
    spec: PatternSpec,
    collective: str,
    placement: Placement,
) -> Workload:
    """`cluster`: at the scale it is emulated with. The limit is the sum of those of the steps."""
    check_pattern(spec, collective)
    names = [host.name for host in cluster.hosts]
    of_ranks = [names[host] for host in placement.of_ranks()]
    ranks = placement.ranks
    made: dict[int, list[Matrix]] = {}
    limits_s: dict[int, float] = {}
    for size in sizes:
        steps = make_steps(spec, ranks, size)
        if len(steps) > STEPS_MAX:
            raise BadInput(f"--pattern {spec.text} has {len(steps)} steps; at most {STEPS_MAX}")
        made[size] = [of_sends(ranks, step) for step in steps]
        limits_s[size] = sum(
            flow_limit(cluster, of_ranks, matrix.tolist()).seconds for matrix in made[size]
        )
    return Workload(
        limits_s,
        collective,
        placement,
        hosts=tuple(of_ranks),
        pattern=spec.text,
        steps=made,
    )
