"""What one run of the benchmark program wrote: JSON lines, read while it runs or afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

# A measurement with any of these says nothing about the network: the machine was too slow.
VOIDING_COUNTERS = {
    "softnet_drops": "packets dropped by the machine's softnet queue",
    "receive_buffer_drops": "packets dropped at a full socket buffer",
    "emulator_losses": "frames lost by the lab's emulator",
    "emulator_late": "frames of the lab's emulator too late",
    # Its hello was late: what was measured is the MPI library's own messages.
    "allemande_fallbacks": "ranks of allemande without UDP",
}
# As void, but it would be the same again: these calls are not for allemande.
PASSED_THROUGH = "allemande_passed_through"
NATIVE = "allemande_native"
EXCHANGES = "allemande_exchanges"
# Without the warm-up.
TIMED_TIMEOUTS = "timed_tcp_timeouts"
TIMED_RETRANSMITTED = "timed_tcp_retransmitted"


@dataclass
class SizeRecord:
    """One size in one run: the timed calls, and the counters of all calls, warm-up included."""

    size: int
    seconds: list[float] = field(default_factory=list)
    warmup_seconds: list[float] = field(default_factory=list)
    wrong_bytes: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    cpu_idle_s: float = 0.0
    cpu_total_s: float = 0.0
    complete: bool = False
    process_s: float | None = None  # processor time of the ranks in the timed calls
    begins_s: list[float] = field(default_factory=list)  # of the timed calls, on CLOCK_MONOTONIC
    job_seconds: list[list[float]] = field(
        default_factory=list
    )  # `seconds`, where jobs ran at once
    # For each timed call the seconds of its steps, if it has several.
    step_seconds: list[list[float]] = field(default_factory=list)
    # Data packets by path number, warm-up included, where allemande sent them.
    path_loads: list[int] = field(default_factory=list)
    # The timed seconds, and what each background flow carried in them; one entry per launch.
    background: list[tuple[float, list[float]]] = field(default_factory=list)
    void_calls: int = 0  # timed calls of void launches that were left out, beside `seconds`

    def count(self, name: str, more: int) -> None:
        self.counters[name] = self.counters.get(name, 0) + more

    def add_path_loads(self, more: Sequence[int]) -> None:
        both = zip_longest(self.path_loads, more, fillvalue=0)
        self.path_loads = [mine + theirs for mine, theirs in both]

    def why_void(self, ours: bool = False, trials: bool = False) -> str | None:
        """`ours`: allemande was to carry the calls; with trials the library may have done so."""
        reasons = [
            f"{self.counters[name]} {meaning}"
            for name, meaning in VOIDING_COUNTERS.items()
            if self.counters.get(name, 0) > 0
        ]
        if ours:
            passed = self.counters.get(PASSED_THROUGH, 0)
            native = self.counters.get(NATIVE, 0)
            own = self.counters.get(EXCHANGES, 0)
            if passed > 0 or (own == 0 and native == 0):
                number = f"{passed} " if passed > 0 else "the "
                reasons.append(f"allemande passed {number}calls through to the MPI library")
            elif native > 0 and not trials:
                reasons.append(f"the MPI library itself carried {native} calls, with trials off")
            elif own == 0 and not trials:
                reasons.append("allemande carried none of the calls")
        return ", ".join(reasons) or None

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Begin and end of the timed calls, where the program told."""
        return [
            (begin, begin + seconds)
            for begin, seconds in zip(self.begins_s, self.seconds, strict=False)
        ]

    @property
    def may_be_repeated(self) -> bool:
        """Void by bad luck. Wrong bytes are never repeated away."""
        by_chance = any(self.counters.get(name, 0) > 0 for name in VOIDING_COUNTERS)
        certain = self.counters.get(PASSED_THROUGH, 0) > 0 or self.wrong_bytes > 0
        return self.complete and by_chance and not certain


@dataclass
class RunRecord:
    """One launch of one candidate: every size that it got through."""

    mpi_version: str = ""
    ranks: int = 0
    hosts: list[str] = field(default_factory=list)  # of each rank
    sizes: dict[int, SizeRecord] = field(default_factory=dict)
    finished: bool = False

    def size(self, size: int) -> SizeRecord:
        return self.sizes.setdefault(size, SizeRecord(size))

    def take(self, line: str) -> dict[str, Any] | None:
        """Adds one line; returns it decoded, or None when it is not a record."""
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            return None
        if not isinstance(entry, dict):
            return None
        match entry.get("type"):
            case "start":
                self.mpi_version = str(entry["mpi"])
                self.ranks = int(entry["ranks"])
                self.hosts = [str(host) for host in entry.get("hosts", [])]
            case "call":
                record = self.size(int(entry["size"]))
                times = record.warmup_seconds if entry["warmup"] else record.seconds
                times.append(float(entry["seconds"]))
                if not entry["warmup"] and "step_s" in entry:
                    record.step_seconds.append([float(value) for value in entry["step_s"]])
                if not entry["warmup"] and "begin_s" in entry:
                    record.begins_s.append(float(entry["begin_s"]))
                record.wrong_bytes += int(entry["wrong_bytes"])
            case "size":
                record = self.size(int(entry["size"]))
                record.cpu_idle_s = float(entry["cpu_idle_s"])
                record.cpu_total_s = float(entry["cpu_total_s"])
                if "process_s" in entry:
                    record.process_s = float(entry["process_s"])
                record.counters = {
                    name: value
                    for name, value in entry.items()
                    if isinstance(value, int) and name not in ("size", "calls")
                }
                record.complete = True
            case "end":
                self.finished = True
            case _:
                return None
        return entry


def add_own_counters(run: RunRecord, stats: Iterable[str], by_messages: bool = False) -> None:
    """Adds up what allemande counted in each rank: the texts of its ALLEMANDE_STATS files.

    `by_messages`: to send none but MPI messages is what it was told.
    """
    for text in stats:
        counted = json.loads(text)
        fallbacks = 0 if by_messages else int(counted.get("communicators_mpi", 0))
        for record in run.sizes.values():
            record.count("allemande_fallbacks", fallbacks)
            record.count(PASSED_THROUGH, int(counted.get("passed_through", 0)))
            record.count(NATIVE, int(counted.get("native", 0)))
            if len(run.sizes) == 1:
                record.add_path_loads([int(load) for load in counted.get("path_loads", [])])
        if not counted["sizes"]:
            # Blocks of many sizes are counted for the whole run alone.
            for record in run.sizes.values():
                record.count(EXCHANGES, int(counted.get("exchanges", 0)))
                if len(run.sizes) == 1:
                    record.count("allemande_packets", int(counted.get("packets", 0)))
                    record.count("allemande_retransmitted", int(counted.get("retransmitted", 0)))
        for line in counted["sizes"]:
            if line["bytes"] not in run.sizes:
                continue
            for name in ("exchanges", "packets", "retransmitted"):
                run.sizes[line["bytes"]].count(f"allemande_{name}", int(line[name]))


def _of_allemande(counter: str) -> bool:
    return counter.startswith("allemande_")


def left_out(every: Sequence[SizeRecord], used: Sequence[SizeRecord]) -> int:
    """Timed calls of `every` that are not among those of `used`."""
    calls = sum(len(record.seconds) + record.void_calls for record in every)
    return calls - sum(len(record.seconds) for record in used)


def join_records(
    records: Sequence[SizeRecord], jobs: bool = False, same_hosts: bool = False
) -> SizeRecord:
    """One record of a size from several: of jobs that ran at once, or of one job after another.

    Jobs on the same hosts have counted the same packets, each of them: the largest count stands.
    """
    joined = SizeRecord(records[0].size, complete=all(record.complete for record in records))
    for record in records:
        joined.seconds += record.seconds
        joined.begins_s += record.begins_s
        joined.step_seconds += record.step_seconds
        joined.warmup_seconds += record.warmup_seconds
        joined.wrong_bytes += record.wrong_bytes
        joined.void_calls += record.void_calls
        joined.cpu_idle_s += record.cpu_idle_s
        joined.cpu_total_s += record.cpu_total_s
        joined.background += record.background
        joined.add_path_loads(record.path_loads)
        if record.process_s is not None:
            joined.process_s = (joined.process_s or 0.0) + record.process_s
        for name, value in record.counters.items():
            if jobs and same_hosts and not _of_allemande(name):
                joined.counters[name] = max(value, joined.counters.get(name, 0))
            else:
                joined.count(name, value)
    if jobs:
        joined.job_seconds = [list(record.seconds) for record in records]
    else:
        counts = {len(record.job_seconds) for record in records}
        for job in range(min(counts)):
            of_job = [value for record in records for value in record.job_seconds[job]]
            joined.job_seconds.append(of_job)
    return joined


def join_jobs(runs: Sequence[RunRecord], same_hosts: bool) -> RunRecord:
    """What the jobs of one launch wrote, as one."""
    if len(runs) == 1:
        return runs[0]
    first = runs[0]
    hosts = [host for run in runs for host in run.hosts]
    finished = all(run.finished for run in runs)
    joined = RunRecord(first.mpi_version, sum(run.ranks for run in runs), hosts, {}, finished)
    for size in sorted(set.intersection(*(set(run.sizes) for run in runs))):
        of_jobs = [run.sizes[size] for run in runs]
        joined.sizes[size] = join_records(of_jobs, jobs=True, same_hosts=same_hosts)
    return joined
