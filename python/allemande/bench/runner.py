"""Runs candidates in turns, so that every ratio comes from one run under the same conditions."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from allemande.bench.candidates import Candidate
from allemande.bench.figures import Figure, make_figure, with_ratios
from allemande.bench.program import build_program
from allemande.bench.records import RunRecord, SizeRecord, add_own_counters
from allemande.bench.setting import REAL_TIMERS
from allemande.bench.workload import Workload
from allemande.lab.timers import Timers

POLL_S = 0.05
STOP_S = 5.0
REPEATS_OF_VOID_MAX = 2
FAILURES_MAX = 2  # after so many failed launches a candidate is left out of the later rounds
# No record for so long means a hang: the slowest stock call seen is 11 times the limit, or, where
# TCP's time-outs are longer than the limit, some of these.
SILENCE_S = 60.0
SILENCE_LIMITS = 40.0
STDERR_LINES_SHOWN = 6
INIT_TIMEOUT_S = "120"


@dataclass(frozen=True)
class Effort:
    """How much is measured: per round and size, at least `calls` calls and `seconds` of them."""

    rounds: int = 3
    warmup: int = 1
    calls: int = 2
    calls_max: int = 200
    seconds: float = 1.0
    seconds_max: float = 30.0

    def arguments(self) -> list[str]:
        return [
            *("--warmup", str(self.warmup)),
            *("--min-calls", str(self.calls)),
            *("--max-calls", str(self.calls_max)),
            *("--min-seconds", str(self.seconds)),
            *("--max-seconds", str(self.seconds_max)),
        ]

    def expected_s(self, call_s: float) -> float:
        """Time one size takes in one round when a call takes `call_s`."""
        calls = max(self.calls, min(self.calls_max, self.seconds / call_s if call_s else 0))
        return call_s * (calls + self.warmup)


class Bed(Protocol):
    """Where candidates run: an emulated cluster, or anything else that launches ranks."""

    def command(
        self, candidate: Candidate, program: Sequence[str], environment: Mapping[str, str]
    ) -> list[str]:
        """The command that starts the ranks of `program` with `environment` added."""


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


def _stop_process(process: subprocess.Popen[bytes]) -> None:
    """Asks the launcher to end its ranks, then insists; it leads a process group of its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(STOP_S)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


def _follow(
    process: subprocess.Popen[bytes],
    path: Path,
    silence_s: float,
    heard: Callable[[RunRecord], None],
) -> tuple[RunRecord, str | None]:
    """Reads the records as they are written, until the process ends or falls silent."""
    run = RunRecord()
    pending = ""
    last = time.monotonic()
    with path.open(encoding="utf-8") as file:
        while True:
            ended = process.poll() is not None
            text = file.read()
            if text:
                last = time.monotonic()
                *lines, pending = (pending + text).split("\n")
                for line in lines:
                    run.take(line)
                heard(run)
            elif ended:
                return run, None
            elif time.monotonic() - last > silence_s:
                _stop_process(process)
                return run, f"no call completed for {silence_s:.0f} s"
            else:
                time.sleep(POLL_S)


def misplaced(hosts: Sequence[str], expected: Sequence[str]) -> str | None:
    """What is wrong with where the launcher put the ranks, if anything is."""
    if not hosts or not expected or list(hosts) == list(expected):
        return None
    if len(hosts) != len(expected):
        return f"{len(hosts)} ranks ran; expected {len(expected)}"
    pairs = enumerate(zip(hosts, expected, strict=True))
    rank, (host, right) = next((rank, pair) for rank, pair in pairs if pair[0] != pair[1])
    return f"rank {rank} ran on {host}; expected {right}"


def _last_lines(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n".join(lines[-STDERR_LINES_SHOWN:])


class Runner:
    """One comparison: candidates x sizes, in rounds."""

    def __init__(
        self,
        bed: Bed,
        candidates: Sequence[Candidate],
        workload: Workload,
        effort: Effort,
        progress: Progress,
        timers: Timers = REAL_TIMERS,
    ) -> None:
        self._bed = bed
        self._candidates = candidates
        self._workload = workload
        self._limits_s = workload.limits_s
        self._effort = effort
        self._progress = progress
        self._timers = timers
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
                    {**self._workload.labels(), "timers": self._timers.name},
                )
                for size, limit_s in sorted(self._limits_s.items())
                for candidate in self._candidates
            ]
        )

    def _expected_call_s(self, candidate: Candidate, size: int) -> float:
        seen = [s for record in self.outcome.of(candidate, size) for s in record.seconds]
        if seen:
            return sum(seen) / len(seen)
        return self._limits_s[size] * (4.0 if candidate.stock else 1.2)

    def _expected_s(self, candidate: Candidate) -> float:
        calls = (
            self._effort.expected_s(self._expected_call_s(candidate, size))
            for size in self._limits_s
        )
        return self._launch_s.get(candidate.library, 4.0) + sum(calls)

    def _tell(self, text: str, since: float) -> None:
        elapsed = time.monotonic() - since
        first, *rest = self._left
        total = self._done_s + max(elapsed, self._expected_s(first))
        total += sum(self._expected_s(candidate) for candidate in rest)
        self._progress.show(text, self._done_s + elapsed, total)

    def _turn(self, candidate: Candidate, program: Path, turn: int) -> None:
        """One launch of a candidate; sizes that came out void are run again, a few times."""
        start = time.monotonic()
        sizes = sorted(self._limits_s)
        for repeat in range(REPEATS_OF_VOID_MAX + 1):
            last = repeat == REPEATS_OF_VOID_MAX
            label = f"round {turn + 1}/{self._effort.rounds}  {candidate.name}"
            run = self._launch(candidate, program, sizes, turn * 10 + repeat, label)
            void: list[int] = []
            for record in run.sizes.values():
                if record.may_be_repeated and not last:
                    void.append(record.size)
                    self.outcome.repeated += 1
                else:
                    self.outcome.of(candidate, record.size).append(record)
            if not void:
                break
            sizes = void
        self._done_s += time.monotonic() - start

    def _launch(
        self, candidate: Candidate, program: Path, sizes: Sequence[int], seed: int, label: str
    ) -> RunRecord:
        with tempfile.TemporaryDirectory(prefix="allemande-bench-") as folder:
            records = Path(folder) / "records.jsonl"
            errors = Path(folder) / "stderr"
            records.touch()
            arguments = [
                str(program),
                *self._workload.arguments(sizes, Path(folder)),
                *self._effort.arguments(),
                *("--seed", str(seed)),
                *("--output", str(records)),
            ]
            environment = dict(candidate.environment)
            if not candidate.stock:
                environment["ALLEMANDE_STATS"] = str(Path(folder) / "stats.%r.json")
                # All hosts are one machine: where it is busy, ranks start far apart.
                environment.setdefault("ALLEMANDE_INIT_TIMEOUT_S", INIT_TIMEOUT_S)
            command = self._bed.command(candidate, arguments, environment)
            start = time.monotonic()

            def heard(run: RunRecord) -> None:
                if run.ranks and candidate.library not in self._launch_s:
                    self._launch_s[candidate.library] = time.monotonic() - start
                size = max(run.sizes, default=0)
                self._tell(f"{label}  {size} B" if size else label, start)

            self._tell(label, start)
            silence_s = self._timers.patience_s(SILENCE_S)
            silence_s += SILENCE_LIMITS * max(self._limits_s.values())
            with errors.open("wb") as stderr:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=stderr,
                    stderr=stderr,
                    start_new_session=True,
                )
                try:
                    run, failure = _follow(process, records, silence_s, heard)
                finally:
                    if process.poll() is None:
                        _stop_process(process)
            if failure is None and (process.returncode != 0 or not run.finished):
                failure = f"ended with status {process.returncode}"
            if failure:
                failure = f"{failure}: {_last_lines(errors)}"
            else:
                failure = misplaced(run.hosts, self._workload.hosts)
            if failure:
                self.outcome.failures.setdefault(candidate.name, []).append(failure)
            stats = sorted(Path(folder).glob("stats.*.json"))
            texts = (path.read_text(encoding="utf-8") for path in stats)
            add_own_counters(run, texts, candidate.by_messages)
            if run.mpi_version:
                self.outcome.mpi_versions[candidate.library] = run.mpi_version
            return run
