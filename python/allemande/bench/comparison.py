"""A whole comparison: cluster, limits, lab, rounds, figures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from allemande.bench.background_flows import Flow, describe_flows, find_flows, run_flows
from allemande.bench.candidates import parse_candidates
from allemande.bench.conditions import Conditions
from allemande.bench.crossings import with_crossings
from allemande.bench.figures import Figure, warnings
from allemande.bench.job_plan import CLOCK, bounds_of, choose_start, make_jobs
from allemande.bench.lab_bed import open_lab
from allemande.bench.request import Request
from allemande.bench.runner import Effort, Runner
from allemande.bench.setting import Setting, describe_setting
from allemande.bench.timeline import Timeline, record_timelines
from allemande.bench.workload import Workload
from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput, Failed
from allemande.lab.booting import choose_scale
from allemande.lab.network import load_network
from allemande.lab.placement import parse_placement
from allemande.lab.timers import choose_timers
from allemande.progress_bar import ConsoleProgress
from allemande.topology import Cluster, load_cluster

MEBIBYTE = 1024 * 1024
LIBRARY_MEBIBYTES = 40  # what one rank of either library keeps for itself


@dataclass(frozen=True)
class Comparison:
    figures: list[Figure]
    setting: Setting
    warnings: list[str]
    failed: bool  # wrong bytes, or a candidate that could not be measured
    timelines: list[Timeline] = field(default_factory=list)

    def or_fail(self, what: str) -> Comparison:
        """This one; raises Failed, with `what` it was, where something could not be measured."""
        if self.failed:
            raise Failed(f"{what}: {'; '.join(self.warnings) or 'not measured'}")
        return self


def check_memory(workload: Workload, available_mebibytes: float) -> None:
    """Each rank holds a send and a receive buffer."""
    ranks = workload.placement.ranks
    needed, size = max(
        (workload.bytes_max(size) / MEBIBYTE + ranks * LIBRARY_MEBIBYTES, size)
        for size in workload.limits_s
    )
    if needed > available_mebibytes:
        raise BadInput(
            f"{ranks} ranks with {size} bytes per pair need about {needed:.0f} MiB of memory "
            f"and {available_mebibytes:.0f} MiB are free; use smaller --sizes, fewer "
            "--ranks-per-host or a smaller cluster"
        )


def available_mebibytes() -> float:
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return float(value.split()[0]) / 1024
    return float("inf")


@contextmanager
def _effective_file(cluster_name: str, conditions: Conditions) -> Iterator[Path]:
    """The cluster file the lab is booted from."""
    found = find_cluster_file(cluster_name)
    if not conditions.half_rate_hosts:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="allemande-cluster-") as folder:
        path = Path(folder) / found.name
        halved = conditions.cluster(load_cluster(cluster_name))
        path.write_text(halved.to_toml(), encoding="utf-8")
        yield path


def compare(request: Request) -> Comparison:
    """Needs root."""
    lines: list[str] = []
    whole = load_cluster(request.cluster)
    scale = request.scale
    if scale is None:
        scale, lines = choose_scale(whole)
    times = choose_timers(request.timers, scale)
    conditions = request.conditions.read([host.name for host in whole.hosts])
    cluster = conditions.cluster(whole)
    placement = parse_placement(request.ranks_per_host, len(cluster.hosts), request.rank_order)
    plan = make_jobs(
        cluster.scaled(scale),
        request.sizes,
        request.collective,
        request.matrix,
        request.seed,
        placement,
        conditions,
        times,
        request.pattern,
    )
    latency_s = cluster.latency_seconds(list(dict.fromkeys(plan.workloads[0].hosts))) / scale
    how = choose_start(request.start, latency_s, conditions, request.pattern)
    bounds_s = bounds_of(cluster, plan.workloads[0], scale)
    plan = replace(plan, latency_s=latency_s, start=how, bounds_s=bounds_s)
    for workload in plan.workloads:
        check_memory(workload, available_mebibytes() / len(plan.workloads))
    candidates = request.candidates
    effort = replace(request.effort, idle_s=conditions.idle_s(times))
    lines += [text] if (text := conditions.describe()) else []
    if how == CLOCK:
        lines.append("the ranks of a call start by the clock")
    flows: list[Flow] = []
    with ExitStack() as stack:
        file = stack.enter_context(_effective_file(request.cluster, conditions))
        if conditions.background:
            network = load_network(file)
            flows = find_flows(conditions.background, network, scale, conditions.jobs)
            lines.append(describe_flows(flows))
        progress = stack.enter_context(ConsoleProgress())
        bed = stack.enter_context(
            open_lab(
                file,
                scale,
                candidates,
                request.congestion_control,
                placement,
                times,
                request.forwarding,
                request.output_frames,
            )
        )
        if bed.lab.routed:
            lines.append("switches are routers: equal paths by a hash of addresses and ports")
        elif bed.lab.network.has_several_ways():
            lines.append("switches are bridges: of equal paths one per destination")
        running = stack.enter_context(run_flows(bed.lab, flows)) if flows else None
        runner = Runner(bed, candidates, plan, effort, progress, times, running)
        figures = with_crossings(runner.run(), candidates, cluster, plan.workloads[0].hosts)
        timelines: list[Timeline] = []
        untold: list[str] = []
        if request.timeline is not None:
            scaled = cluster.scaled(scale)
            timelines += record_timelines(
                bed, scaled, plan, request.timeline, candidates, progress, times, untold.append
            )
    outcome = runner.outcome
    versions = [outcome.mpi_versions[library] for library in sorted(outcome.mpi_versions)]
    notes = warnings(figures)
    for name, reasons in outcome.failures.items():
        notes += [f"{name}: a run failed: {reason}" for reason in reasons]
    notes += untold
    unmeasured = any(figure.median_s is None for figure in figures)
    wrong = any(figure.wrong_bytes for figure in figures)
    return Comparison(
        figures,
        describe_setting(
            cluster, scale, request.congestion_control, versions, plan.describe(), times, lines
        ),
        notes,
        failed=wrong or unmeasured or bool(outcome.failures),
        timelines=timelines,
    )


def compare_on(
    cluster: Cluster,
    scale: float,
    sizes: Sequence[int],
    against: str,
    effort: Effort,
    timers: str | None = None,
    output_frames: int | None = None,
) -> Comparison:
    """Candidates of MPI_Alltoall, separated by commas, on a network that need not be a file. Needs
    root."""
    with tempfile.TemporaryDirectory(prefix="allemande-cluster-") as folder:
        file = Path(folder) / f"{cluster.name}.toml"
        file.write_text(cluster.to_toml(), encoding="utf-8")
        candidates = parse_candidates([against])
        return compare(
            Request(
                str(file),
                list(sizes),
                candidates,
                effort,
                scale=scale,
                timers=timers,
                output_frames=output_frames,
            )
        )
