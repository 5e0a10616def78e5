"""The sweep: every size, every stock algorithm, and allemande with trials, as a program meets it.

    python -m allemande.study.sweep --clusters tam-16x1 --sizes 100,1000

The candidates take turns, so that every ratio comes from launches minutes apart. After each launch
all that was measured is written to OUT/CLUSTER.json; what is there already is not measured again.
The first calls under trials are timed too: trials cost what these took longer than later ones.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from allemande.bench.candidates import TRIALS, Candidate, every_candidate, parse_candidates
from allemande.bench.comparison import available_mebibytes, check_memory
from allemande.bench.job_plan import JobPlan
from allemande.bench.lab_bed import open_lab
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.records import SizeRecord
from allemande.bench.runner import FAILURES_MAX, Bed, Effort, Runner
from allemande.bench.setting import describe_setting
from allemande.bench.workload import Workload, make_workload
from allemande.cluster_files import find_cluster_file
from allemande.entry import run_command
from allemande.errors import BadInput
from allemande.lab.timers import Timers, choose_timers
from allemande.preload import library_path
from allemande.progress_bar import ConsoleProgress
from allemande.quantities import format_size
from allemande.study.sweep_store import (
    SCALES,
    SMALL,
    TRIAL_SIZE_MAX,
    Launch,
    Plan,
    Row,
    Store,
    scale_index,
)
from allemande.study.sweep_table import print_cluster, print_worst
from allemande.topology import load_cluster

CLUSTERS = "tam-16x1,tam-8x4,oversubscribed-8x4"
SIZES = (
    "1,2,3,4,8,16,32,64,100,128,200,256,300,400,512,1000,1024,1500,2048,3000,4096,8192,"
    "10000,16384,30000,32768,50000,65536"
)
# Calls of a size after which its trials have ended, or what they go on with is near to what they
# have: below SMALL, up to TRIAL_SIZE_MAX, above.
SETTLED_AFTER = (1000, 60, 12)
GROUPS_TEXT = f"one for sizes below {SMALL}, one up to {TRIAL_SIZE_MAX}, one above"
SCALES_TEXT = ",".join(f"{scale:g}" for scale in SCALES)
STOCK_WARMUP = 2
SECONDS_MAX = 30.0  # of timed calls per size and launch
STOCK_COST, OWN_COST, LAUNCH_S = 2.0, 1.3, 5.0  # a guess, in limits and seconds, for the bar


def _as_it_comes(candidate: Candidate) -> Candidate:
    """With trials. The name stays: a sweep has no other of ours."""
    if candidate.stock:
        return candidate
    if ":" in candidate.name:
        raise BadInput(f"candidate {candidate.name!r}: allemande takes no options in a sweep")
    return replace(candidate, environment={TRIALS: "on"})


def choose(against: Sequence[str]) -> list[Candidate]:
    chosen = parse_candidates(against)
    if not against:
        chosen = [
            candidate for candidate in every_candidate() if candidate.stock or candidate.usual
        ]
    return [_as_it_comes(candidate) for candidate in chosen]


def _build_of(candidate: Candidate) -> str:
    """What tells one build of allemande from another."""
    if candidate.stock:
        return ""
    return f"{zlib.crc32(library_path(candidate.library).read_bytes()):08x}"


def group(sizes: Sequence[int]) -> list[list[int]]:
    parts = [[size for size in sizes if scale_index(size) == index] for index in range(len(SCALES))]
    return [part for part in parts if part]


def effort_of(plan: Plan, candidate: Candidate, turn: int, sizes: Sequence[int]) -> Effort:
    warmup = STOCK_WARMUP
    if not candidate.stock:
        largest = max(sizes)
        warmup = SETTLED_AFTER[scale_index(largest)]
        if turn == 0 and largest <= TRIAL_SIZE_MAX:
            warmup = max(plan.trial_calls, warmup)
    calls = plan.calls_of(min(sizes))
    return Effort(1, warmup, calls, calls, 0.0, SECONDS_MAX)


class Job:
    """One launch to come: a candidate's turn at the sizes of a group that are not there yet."""

    def __init__(self, plan: Plan, turn: int, candidate: Candidate, workload: Workload) -> None:
        self.turn = turn
        self.candidate = candidate
        self.workload = workload
        self.effort = effort_of(plan, candidate, turn, list(workload.limits_s))
        cost = STOCK_COST if candidate.stock else OWN_COST
        calls = self.effort.warmup + self.effort.calls
        self.guess_s = LAUNCH_S + calls * cost * sum(workload.limits_s.values())


class Part:
    """The progress of one launch as a part of that of all."""

    def __init__(self, bar: ConsoleProgress, name: str) -> None:
        self._bar = bar
        self._name = name
        self.before_s, self.after_s = 0.0, 0.0

    def show(self, text: str, done_s: float, total_s: float) -> None:
        rest = max(0.0, total_s - done_s) + self.after_s
        done_s += self.before_s
        what = text.partition("  ")[2]
        self._bar.show(f"{self._name}  {what}", done_s, done_s + rest)


def find_jobs(
    plan: Plan, candidates: Sequence[Candidate], workload: Workload, store: Store
) -> list[Job]:
    """`workload`: the sizes of one group."""
    jobs = []
    for turn in range(plan.rounds):
        for candidate in candidates:
            limits_s = {
                size: limit_s
                for size, limit_s in sorted(workload.limits_s.items())
                if not store.has(candidate, turn, size)
            }
            if limits_s:
                jobs.append(Job(plan, turn, candidate, replace(workload, limits_s=limits_s)))
    return jobs


def _launch_of(job: Job, record: SizeRecord, ranks: int, opens: bool) -> Launch:
    calls = (len(record.seconds) + len(record.warmup_seconds)) * ranks
    return Launch(
        candidate=job.candidate.name,
        size=record.size,
        turn=job.turn,
        seconds=record.seconds,
        first=record.warmup_seconds,
        opens=opens,
        own_part=record.counters.get("allemande_exchanges", 0) / calls if calls else 0.0,
        wrong_bytes=record.wrong_bytes,
        cpu_idle=record.cpu_idle_s / record.cpu_total_s if record.cpu_total_s else None,
        build=_build_of(job.candidate),
        void_reason=record.why_void(not job.candidate.stock, job.candidate.with_trials),
    )


def _run_job(
    bed: Bed, job: Job, progress: Part, timers: Timers
) -> tuple[list[Launch], list[str], str]:
    """What one launch gave, what failed, and the library's version."""
    runner = Runner(bed, [job.candidate], JobPlan.of(job.workload), job.effort, progress, timers)
    runner.run()
    launches = []
    first = min(job.workload.limits_s)
    for (_, size), records in runner.outcome.records.items():
        good = [record for record in records if record.seconds and record.complete]
        ranks = job.workload.placement.ranks
        launches += [_launch_of(job, record, ranks, size == first) for record in good]
    version = runner.outcome.mpi_versions.get(job.candidate.library, "")
    return launches, runner.failures_of(job.candidate), version


def _limits_of(workloads: Iterable[Workload]) -> dict[int, float]:
    return {size: limit_s for each in workloads for size, limit_s in each.limits_s.items()}


class ClusterSweep:
    """One cluster, in one lab for each group of sizes."""

    def __init__(
        self,
        name: str,
        sizes: Sequence[int],
        candidates: Sequence[Candidate],
        plan: Plan,
        out: Path,
    ) -> None:
        self._name = name
        self._plan = plan
        self._cluster = load_cluster(name)
        self._workloads = self._workloads_of(sizes)
        for workload in self._workloads:
            check_memory(workload, available_mebibytes())
        out.mkdir(parents=True, exist_ok=True)
        builds = {candidate.name: _build_of(candidate) for candidate in candidates}
        path = out / f"{self._cluster.name}.json"
        self.store = Store(path, plan, self._cluster.to_toml(), builds)
        self._candidates = candidates
        self.failures: list[str] = []

    def _workloads_of(self, sizes: Iterable[int]) -> list[Workload]:
        """One per group, its limits at the group's scale."""
        return [
            make_workload(self._cluster.scaled(self._plan.scale_of(part[0])), part)
            for part in group(sorted(sizes))
        ]

    def rows(self) -> list[Row]:
        """The rows for the sizes asked for."""
        return self.store.rows(_limits_of(self._workloads))

    def run(self, console: Console) -> None:
        parts = [
            jobs
            for workload in self._workloads
            if (jobs := find_jobs(self._plan, self._candidates, workload, self.store))
        ]
        count = sum(len(jobs) for jobs in parts)
        done = 0
        with ConsoleProgress() as bar:
            progress = Part(bar, self._cluster.name)
            progress.after_s = sum(job.guess_s for jobs in parts for job in jobs)
            for jobs in parts:
                failed: Counter[str] = Counter()
                with self._open_lab(jobs[0].workload) as bed:
                    for job in jobs:
                        done += 1
                        progress.after_s -= job.guess_s
                        if failed[job.candidate.name] < FAILURES_MAX:
                            failed[job.candidate.name] += self._launch(bed, job, progress)
                            where = f"{self._cluster.name}, {job.candidate.name}"
                            if not console.is_terminal:
                                print(f"{where}: {done} of {count} launches", file=sys.stderr)
                        progress.before_s += job.guess_s

    def _open_lab(self, workload: Workload) -> AbstractContextManager[Bed]:
        return open_lab(
            find_cluster_file(self._name),
            self._plan.scale_of(min(workload.limits_s)),
            self._candidates,
            self._plan.congestion_control,
            workload.placement,
            self._timers_of(min(workload.limits_s)),
        )

    def _timers_of(self, size: int) -> Timers:
        return choose_timers(self._plan.timers, self._plan.scale_of(size))

    def _launch(self, bed: Bed, job: Job, progress: Part) -> bool:
        """Whether anything failed."""
        launches, reasons, version = _run_job(
            bed, job, progress, self._timers_of(min(job.workload.limits_s))
        )
        self._keep(job, launches, version)
        self.failures += [
            f"{self._cluster.name}, {job.candidate.name}: {reason}" for reason in reasons
        ]
        return bool(reasons)

    def _keep(self, job: Job, launches: Sequence[Launch], version: str) -> None:
        store = self.store
        store.add(launches)
        if version:
            store.versions[job.candidate.library] = version
        measured = sorted({each.size for each in store.launches})
        store.setting = self._describe(measured)
        store.write(self._cluster.name, _limits_of(self._workloads_of(measured)))

    def _describe(self, sizes: Sequence[int]) -> list[str]:
        """A line for each scale, then the machine and the versions."""
        versions = [self.store.versions[library] for library in sorted(self.store.versions)]
        control = self._plan.congestion_control
        lines: list[str] = []
        rest: list[str] = []
        for part in group(sizes):
            scale = self._plan.scale_of(part[0])
            timers = self._timers_of(part[0])
            setting = describe_setting(self._cluster, scale, control, versions, None, timers)
            first, *rest = setting.lines()
            span = format_size(part[0])
            if len(part) > 1:
                span += f" to {format_size(part[-1])}"
            lines.append(f"{first}: {span}")
        return [*lines, *rest]


def _parse_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        find_cluster_file(name)
    if len(set(names)) < len(names):
        raise BadInput(f"--clusters {text!r} names one twice; expected each once")
    return names


def _parse_scales(text: str) -> tuple[float, ...]:
    words = text.split(",")
    try:
        scales = [float(word) for word in words]
    except ValueError:
        scales = []
    good = all(1e-4 <= scale <= 1000 for scale in scales)
    if len(scales) not in (1, len(SCALES)) or not good:
        raise BadInput(
            f"--scale {text!r} is not valid; expected one number of 0.0001 to 1000, or "
            f"{len(SCALES)} of them separated by commas: {GROUPS_TEXT}"
        )
    return tuple(scales * len(SCALES) if len(scales) == 1 else scales)


def _sweep(
    clusters: Sequence[str],
    sizes: Sequence[int],
    candidates: Sequence[Candidate],
    plan: Plan,
    out: Path,
    console: Console,
) -> bool:
    """Prints the tables, the worst last; false when a byte was wrong or a candidate failed."""
    found: dict[str, list[Row]] = {}
    failures: list[str] = []
    for name in clusters:
        one = ClusterSweep(name, sizes, candidates, plan, out)
        one.run(console)
        found[name] = one.rows()
        failures += one.failures
        print_cluster(console, name, found[name])
        for line in one.store.setting:
            console.print(line, highlight=False, soft_wrap=True)
    for line in failures:
        console.print(f"warning: {line}", style="yellow", highlight=False, soft_wrap=True)
    print_worst(console, found)
    return not failures and not any(row.wrong_bytes for rows in found.values() for row in rows)


def command(
    clusters: Annotated[
        str, typer.Option(help="Cluster files or ready-made clusters, separated by commas.")
    ] = CLUSTERS,
    sizes: Annotated[str, typer.Option(help="Bytes per pair, separated by commas.")] = SIZES,
    against: Annotated[
        list[str] | None, typer.Option(help="Candidates; default: every one there is.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("out/bench-mpi"),
    scale: Annotated[
        str, typer.Option(help=f"Every link rate times this: one number, or {GROUPS_TEXT}.")
    ] = SCALES_TEXT,
    timers: Annotated[
        str | None, typer.Option(help="scaled or real. Default: scaled below scale 1.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Turns of each candidate.", min=1)] = Plan.rounds,
    calls: Annotated[
        int, typer.Option(help=f"Timed calls per turn above {TRIAL_SIZE_MAX} bytes.", min=1)
    ] = Plan.calls,
    medium_calls: Annotated[
        int, typer.Option(help=f"Timed calls per turn from {SMALL} bytes on.", min=1)
    ] = Plan.medium_calls,
    trial_calls: Annotated[
        int, typer.Option(help="First calls that are timed to see what trials cost.", min=0)
    ] = Plan.trial_calls,
) -> None:
    """Best stock, default stock and allemande with trials, size by size. Takes hours; resumable."""
    scales = _parse_scales(scale)
    choose_timers(timers, min(scales))
    plan = Plan(scales, rounds, calls, medium_calls, trial_calls, timers=timers)
    names, size_list = _parse_names(clusters), parse_sizes(sizes)
    good = _sweep(names, size_list, choose(against or []), plan, out, Console())
    raise typer.Exit(0 if good else 1)


if __name__ == "__main__":
    sys.exit(run_command("bench-mpi", command))
