"""Runs candidates in turns, so that every ratio comes from one run under the same conditions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Protocol

from allemande.bench.background_flows import RunningFlows
from allemande.bench.candidates import Candidate
from allemande.bench.figures import Figure, Shared, make_figure, with_ratios
from allemande.bench.job_plan import CLOCK, JobPlan
from allemande.bench.launches import JobFiles, follow_jobs
from allemande.bench.program import build_program
from allemande.bench.records import (
    RunRecord,
    SizeRecord,
    add_own_counters,
    join_jobs,
    join_records,
    left_out,
)
from allemande.bench.setting import REAL_TIMERS
from allemande.bench.workload import Workload
from allemande.lab.placement import Placement
from allemande.lab.stats import EmulatorStats
from allemande.lab.timers import Timers

REPEATS_OF_VOID_MAX = 2
FAILURES_MAX = 2  # after so many failed launches a candidate is left out of the later rounds
# No record for so long means a hang: the slowest stock call seen is 11 times the limit, or, where
# TCP's time-outs are longer than the limit, some of these.
SILENCE_S = 60.0
SILENCE_LIMITS = 40.0
INIT_TIMEOUT_S = "120"
MEETING_BYTES = 4096  # of the file in which jobs and cold ranks meet: bench/bench_meeting.h


@dataclass(frozen=True)
class Effort:
    """How much is measured: per round and size, at least `calls` calls and `seconds` of them."""

    rounds: int = 3
    warmup: int = 1
    calls: int = 2
    calls_max: int = 200
    seconds: float = 1.0
    seconds_max: float = 30.0
    idle_s: float = 0.0  # before each timed call; counts as its time

    def arguments(self) -> list[str]:
        return [
            *("--warmup", str(self.warmup)),
            *("--min-calls", str(self.calls)),
            *("--max-calls", str(self.calls_max)),
            *("--min-seconds", str(self.seconds)),
            *("--max-seconds", str(self.seconds_max + self.calls * self.idle_s)),
        ]

    def expected_s(self, call_s: float) -> float:
        """Time one size takes in one round when a call takes `call_s`."""
        timed_s = call_s + self.idle_s
        calls = max(self.calls, min(self.calls_max, self.seconds / timed_s if timed_s else 0))
        return timed_s * calls + call_s * self.warmup

    @property
    def one_cold_call(self) -> Effort:
        return replace(self, warmup=0, calls=1, calls_max=1, seconds=0.0)


class Bed(Protocol):
    """Where candidates run: an emulated cluster, or anything else that launches ranks."""

    def command(
        self,
        candidate: Candidate,
        program: Sequence[str],
        environment: Mapping[str, str],
        placement: Placement | None = None,
    ) -> list[str]:
        """The command that starts the ranks of `program` with `environment` added.

        `placement`: other than usual.
        """

    def emulator_stats(self) -> EmulatorStats | None:
        """The counters of the emulator, if there is one."""


class Progress(Protocol):
    """Told what is going on; `done_s` and `total_s` are in expected seconds."""

    def show(self, text: str, done_s: float, total_s: float) -> None: ...


@dataclass
class Outcome:
    """Everything measured so far."""

    records: dict[tuple[str, int], list[SizeRecord]] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    mpi_versions: dict[str, str] = field(default_factory=dict)
    repeated: int = 0

    def of(self, candidate: Candidate, size: int) -> list[SizeRecord]:
        return self.records.setdefault((candidate.name, size), [])


def misplaced(hosts: Sequence[str], expected: Sequence[str]) -> str | None:
    """What is wrong with where the launcher put the ranks, if anything is."""
    if not hosts or not expected or list(hosts) == list(expected):
        return None
    if len(hosts) != len(expected):
        return f"{len(hosts)} ranks ran; expected {len(expected)}"
    pairs = enumerate(zip(hosts, expected, strict=True))
    rank, (host, right) = next((rank, pair) for rank, pair in pairs if pair[0] != pair[1])
    return f"rank {rank} ran on {host}; expected {right}"


class Runner:
    """One comparison: candidates x sizes, in rounds."""

    def __init__(
        self,
        bed: Bed,
        candidates: Sequence[Candidate],
        plan: JobPlan,
        effort: Effort,
        progress: Progress,
        timers: Timers = REAL_TIMERS,
        flows: RunningFlows | None = None,
    ) -> None:
        self._bed = bed
        self._candidates = candidates
        self._plan = plan
        self._conditions = plan.conditions
        self._limits_s = plan.limits_s
        self._effort = effort
        self._progress = progress
        self._timers = timers
        self._flows = flows
        self.outcome = Outcome()
        self._launch_s: dict[str, float] = {}
        self._done_s = 0.0
        self._left: list[Candidate] = []

    def run(self) -> list[Figure]:
        programs = {
            library: build_program(library)
            for library in sorted({candidate.library for candidate in self._candidates})
        }
        self._left = [c for _ in range(self._effort.rounds) for c in self._candidates]
        for turn in range(self._effort.rounds):
            for candidate in self._candidates:
                if len(self.failures_of(candidate)) < FAILURES_MAX:
                    self._turn(candidate, programs[candidate.library], turn)
                self._left.pop(0)
        return self._figures()

    def failures_of(self, candidate: Candidate) -> list[str]:
        return self.outcome.failures.get(candidate.name, [])

    def _figures(self) -> list[Figure]:
        return with_ratios(
            [
                make_figure(
                    candidate,
                    size,
                    limit_s,
                    self.outcome.of(candidate, size),
                    (self.failures_of(candidate) or ["did not run"])[-1],
                    {**self._plan.labels(), "timers": self._timers.name},
                    self._shared(size),
                    self._plan.workloads[0].delivered_bytes(size),
                    self._plan.bounds_s.get(size),
                )
                for size, limit_s in sorted(self._limits_s.items())
                for candidate in self._candidates
            ]
        )

    def _shared(self, size: int) -> Shared:
        several = self._conditions.jobs > 1
        flows = self._flows.flows if self._flows else ()
        return Shared(
            self._plan.fair_share_s[size] if several else None,
            [flow.fair_mbit_s for flow in flows],
        )

    def _expected_call_s(self, candidate: Candidate, size: int) -> float:
        seen = [s for record in self.outcome.of(candidate, size) for s in record.seconds]
        if seen:
            return sum(seen) / len(seen)
        return self._plan.fair_share_s[size] * (4.0 if candidate.stock else 1.2)

    def _expected_s(self, candidate: Candidate) -> float:
        launch_s = self._launch_s.get(candidate.library, 4.0)
        each_s = [self._expected_call_s(candidate, size) for size in self._limits_s]
        if self._conditions.cold:
            return self._effort.calls * sum(launch_s + call_s for call_s in each_s)
        return launch_s + sum(self._effort.expected_s(call_s) for call_s in each_s)

    def _tell(self, text: str, since: float) -> None:
        elapsed = time.monotonic() - since
        first, *rest = self._left
        total = self._done_s + max(elapsed, self._expected_s(first))
        total += sum(self._expected_s(candidate) for candidate in rest)
        self._progress.show(text, self._done_s + elapsed, total)

    def _turn(self, candidate: Candidate, program: Path, turn: int) -> None:
        start = time.monotonic()
        label = f"round {turn + 1}/{self._effort.rounds}  {candidate.name}"
        if not self._conditions.cold:
            for record in self._measure(candidate, program, sorted(self._limits_s), turn, label):
                self.outcome.of(candidate, record.size).append(record)
        else:
            for size in sorted(self._limits_s):
                self._cold_turn(candidate, program, size, turn, label)
        self._done_s += time.monotonic() - start

    def _cold_turn(
        self, candidate: Candidate, program: Path, size: int, turn: int, label: str
    ) -> None:
        """A job for each call. Void ones are left out as long as there is any other."""
        found: list[SizeRecord] = []
        for call in range(self._effort.calls):
            if len(self.failures_of(candidate)) >= FAILURES_MAX:
                break
            seed = turn * self._effort.calls + call
            found += self._measure(candidate, program, [size], seed, label)
        found = [record for record in found if record.seconds]
        why = [record.why_void(not candidate.stock, candidate.with_trials) for record in found]
        valid = [record for record, reason in zip(found, why, strict=True) if reason is None]
        if found:
            wrong = sum(record.wrong_bytes for record in found)
            joined = join_records(valid or found)
            joined.wrong_bytes = wrong
            joined.void_calls = left_out(found, valid or found)
            self.outcome.of(candidate, size).append(joined)

    def _measure(
        self, candidate: Candidate, program: Path, sizes: Sequence[int], seed: int, label: str
    ) -> list[SizeRecord]:
        """One launch of a candidate; sizes that came out void are run again, a few times."""
        found: list[SizeRecord] = []
        for repeat in range(REPEATS_OF_VOID_MAX + 1):
            last = repeat == REPEATS_OF_VOID_MAX
            run = self._launch(candidate, program, sizes, seed * 10 + repeat, label)
            void: list[int] = []
            for record in run.sizes.values():
                if record.may_be_repeated and not last:
                    void.append(record.size)
                    self.outcome.repeated += 1
                else:
                    found.append(record)
            if not void:
                break
            sizes = void
        return found

    def _job_command(
        self,
        candidate: Candidate,
        program: Path,
        workload: Workload,
        sizes: Sequence[int],
        seed: int,
        folder: Path,
        files: JobFiles,
    ) -> list[str]:
        cold, jobs = self._conditions.cold, self._conditions.jobs
        effort = self._effort.one_cold_call if cold else self._effort
        arguments = [
            str(program),
            *workload.arguments(sizes, folder),
            *effort.arguments(),
            *self._conditions.arguments(self._timers),
            *("--seed", str(seed)),
            *("--output", str(files.records)),
        ]
        if cold or jobs > 1 or self._plan.start == CLOCK:
            arguments += ["--meet", str(folder / "meeting"), "--jobs", str(jobs)]
        if self._plan.start == CLOCK:
            arguments += ["--start", CLOCK]
        if cold:
            arguments += ["--cold", str(self._plan.ranks)]
        environment = dict(candidate.environment)
        if not candidate.stock:
            environment["ALLEMANDE_STATS"] = files.stats
            # All hosts are one machine: where it is busy, ranks start far apart.
            environment.setdefault("ALLEMANDE_INIT_TIMEOUT_S", INIT_TIMEOUT_S)
        if jobs > 1:
            return self._bed.command(candidate, arguments, environment, workload.placement)
        return self._bed.command(candidate, arguments, environment)

    def _silence_s(self) -> float:
        conditions = self._conditions
        late_s = max(conditions.late_s(self._timers).values(), default=0.0)
        waiting_s = self._timers.patience_s(SILENCE_S) + conditions.idle_s(self._timers) + late_s
        return waiting_s + SILENCE_LIMITS * max(self._plan.fair_share_s.values())

    def _launch(
        self, candidate: Candidate, program: Path, sizes: Sequence[int], seed: int, label: str
    ) -> RunRecord:
        with tempfile.TemporaryDirectory(prefix="allemande-bench-") as name:
            folder = Path(name)
            (folder / "meeting").write_bytes(bytes(MEETING_BYTES))
            workloads = self._plan.workloads
            files = [JobFiles.of(folder, job) for job in range(len(workloads))]
            commands = [
                self._job_command(candidate, program, workload, sizes, seed, folder, where)
                for workload, where in zip(workloads, files, strict=True)
            ]
            start = time.monotonic()
            before = self._bed.emulator_stats()

            def heard(run: RunRecord) -> None:
                if run.ranks and candidate.library not in self._launch_s:
                    self._launch_s[candidate.library] = time.monotonic() - start
                size = max(run.sizes, default=0)
                self._tell(f"{label}  {size} B" if size else label, start)

            self._tell(label, start)
            runs, failure = follow_jobs(commands, files, self._silence_s(), heard)
            for run, workload in zip(runs, workloads, strict=True):
                failure = failure or misplaced(run.hosts, workload.hosts)
            if failure:
                self.outcome.failures.setdefault(candidate.name, []).append(failure)
            for run, where in zip(runs, files, strict=True):
                add_own_counters(run, where.stats_texts(), candidate.by_messages)
            run = join_jobs(runs, self._plan.same_hosts)
            self._look_at_flows(run)
            self._look_at_emulator(run, before)
            if run.mpi_version:
                self.outcome.mpi_versions[candidate.library] = run.mpi_version
            return run

    def _look_at_emulator(self, run: RunRecord, before: EmulatorStats | None) -> None:
        """Losses and late frames of a launch count for all of its sizes."""
        after = self._bed.emulator_stats()
        if before is None or after is None:
            return
        passed = after.since(before)
        for record in run.sizes.values():
            record.count("emulator_losses", passed.lost_frames)
            if passed.is_late(median(record.seconds) if record.seconds else None):
                record.count("emulator_late", max(1, passed.late_frames))

    def _look_at_flows(self, run: RunRecord) -> None:
        if self._flows is None:
            return
        self._flows.check()
        for record in run.sizes.values():
            if record.spans:
                rates = self._flows.mbit_s(record.spans)
                record.background = [(sum(record.seconds), rates)]
