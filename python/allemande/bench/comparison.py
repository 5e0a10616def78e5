"""A whole comparison: cluster, limits, lab, rounds, figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allemande.bench.candidates import Candidate
from allemande.bench.defaults import CONGESTION_CONTROL
from allemande.bench.figures import Figure, warnings
from allemande.bench.lab_bed import open_lab
from allemande.bench.runner import Effort, Runner
from allemande.bench.setting import Setting, describe_setting
from allemande.bench.workload import Workload, make_workload
from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput
from allemande.lab.placement import parse_placement
from allemande.lab.timers import choose_timers
from allemande.matrix import MatrixSpec
from allemande.progress_bar import ConsoleProgress
from allemande.topology import load_cluster

MEBIBYTE = 1024 * 1024
LIBRARY_MEBIBYTES = 40  # what one rank of either library keeps for itself


@dataclass(frozen=True)
class Comparison:
    figures: list[Figure]
    setting: Setting
    warnings: list[str]
    failed: bool  # wrong bytes, or a candidate that could not be measured


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


def compare(
    cluster_name: str,
    scale: float,
    sizes: Sequence[int],
    candidates: Sequence[Candidate],
    effort: Effort,
    congestion_control: str = CONGESTION_CONTROL,
    collective: str = "alltoall",
    matrix: MatrixSpec | None = None,
    seed: int = 1,
    ranks_per_host: str = "1",
    rank_order: str = "block",
    timers: str | None = None,
) -> Comparison:
    """`cluster_name`: a cluster file or the name of a ready-made cluster. `timers`: as Lab.boot."""
    times = choose_timers(timers, scale)
    cluster = load_cluster(cluster_name)
    placement = parse_placement(ranks_per_host, len(cluster.hosts), rank_order)
    workload = make_workload(cluster.scaled(scale), sizes, collective, matrix, seed, placement)
    check_memory(workload, available_mebibytes())
    bed_context = open_lab(
        find_cluster_file(cluster_name), scale, candidates, congestion_control, placement, times
    )
    with ConsoleProgress() as progress, bed_context as bed:
        runner = Runner(bed, candidates, workload, effort, progress, times)
        figures = runner.run()
    outcome = runner.outcome
    versions = [outcome.mpi_versions[library] for library in sorted(outcome.mpi_versions)]
    lines = warnings(figures)
    for name, reasons in outcome.failures.items():
        lines += [f"{name}: a run failed: {reason}" for reason in reasons]
    unmeasured = any(figure.median_s is None for figure in figures)
    wrong = any(figure.wrong_bytes for figure in figures)
    return Comparison(
        figures,
        describe_setting(cluster, scale, congestion_control, versions, workload.describe(), times),
        lines,
        failed=wrong or unmeasured or bool(outcome.failures),
    )
