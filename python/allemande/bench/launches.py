"""Starts the jobs of one launch, reads their records as they are written, and ends what hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

from allemande.bench.records import RunRecord
from allemande.entry import end_deferred

POLL_S = 0.05
STOP_S = 5.0
STDERR_LINES_SHOWN = 6


@dataclass(frozen=True)
class JobFiles:
    """Where one job of a launch writes."""

    records: Path
    errors: Path
    stats: str  # of allemande, for each rank: ALLEMANDE_STATS

    @staticmethod
    def of(folder: Path, job: int) -> JobFiles:
        return JobFiles(
            folder / f"records.{job}.jsonl",
            folder / f"stderr.{job}",
            str(folder / f"stats.{job}.%r.json"),
        )

    def stats_texts(self) -> list[str]:
        pattern = Path(self.stats.replace("%r", "*"))
        found = sorted(pattern.parent.glob(pattern.name))
        return [path.read_text(encoding="utf-8") for path in found]

    def last_errors(self) -> str:
        lines = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return "\n".join(lines[-STDERR_LINES_SHOWN:])


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


class _Job:
    """A job that runs."""

    def __init__(self, command: Sequence[str], files: JobFiles) -> None:
        files.records.touch()
        self.run = RunRecord()
        self.failure: str | None = None
        self._pending = ""
        self._last = time.monotonic()
        self._files = files
        with files.errors.open("wb") as stderr:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                start_new_session=True,
            )
        self._file: TextIOWrapper = files.records.open(encoding="utf-8")
        self.ended = False

    def read(self, silence_s: float) -> bool:
        """Takes what has been written since; whether there was anything."""
        over = self._process.poll() is not None
        text = self._file.read()
        if text:
            self._last = time.monotonic()
            *lines, self._pending = (self._pending + text).split("\n")
            for line in lines:
                self.run.take(line)
            return True
        if over:
            self.ended = True
            if self._process.returncode != 0 or not self.run.finished:
                self.failure = f"ended with status {self._process.returncode}"
        elif time.monotonic() - self._last > silence_s:
            self.stop()
            self.ended = True
            self.failure = f"no call completed for {silence_s:.0f} s"
        if self.failure:
            self.failure = f"{self.failure}: {self._files.last_errors()}"
        return False

    def stop(self) -> None:
        if self._process.poll() is None:
            _stop_process(self._process)

    def close(self) -> None:
        self.stop()
        self._file.close()


def follow_jobs(
    commands: Sequence[Sequence[str]],
    files: Sequence[JobFiles],
    silence_s: float,
    heard: Callable[[RunRecord], None],
) -> tuple[list[RunRecord], str | None]:
    """What each job wrote until all had ended, and why the launch failed, if it did.

    When one job fails the others are ended: they would wait for it.
    """
    jobs: list[_Job] = []
    try:
        for command, where in zip(commands, files, strict=True):
            with end_deferred():
                jobs.append(_Job(command, where))
        failure: str | None = None
        while failure is None and not all(job.ended for job in jobs):
            active = False
            for job in jobs:
                if not job.ended and job.read(silence_s):
                    active = True
                    heard(job.run)
            failure = next((job.failure for job in jobs if job.failure), None)
            if not active and failure is None:
                time.sleep(POLL_S)
        return [job.run for job in jobs], failure
    finally:
        for job in jobs:
            job.close()
