"""What one run of the benchmark program wrote: JSON lines, read while it runs or afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# A measurement with any of these says nothing about the network: the machine was too slow.
VOIDING_COUNTERS = {
    "softnet_drops": "packets dropped by the machine's softnet queue",
    "receive_buffer_drops": "packets dropped at a full socket buffer",
    # Its hello was late: what was measured is the MPI library's own messages.
    "allemande_fallbacks": "ranks of allemande without UDP",
}


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

    def count(self, name: str, more: int) -> None:
        self.counters[name] = self.counters.get(name, 0) + more

    @property
    def void_reason(self) -> str | None:
        reasons = [
            f"{self.counters[name]} {meaning}"
            for name, meaning in VOIDING_COUNTERS.items()
            if self.counters.get(name, 0) > 0
        ]
        return ", ".join(reasons) or None


@dataclass
class RunRecord:
    """One launch of one candidate: every size that it got through."""

    mpi_version: str = ""
    ranks: int = 0
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
            case "call":
                record = self.size(int(entry["size"]))
                times = record.warmup_seconds if entry["warmup"] else record.seconds
                times.append(float(entry["seconds"]))
                record.wrong_bytes += int(entry["wrong_bytes"])
            case "size":
                record = self.size(int(entry["size"]))
                record.cpu_idle_s = float(entry["cpu_idle_s"])
                record.cpu_total_s = float(entry["cpu_total_s"])
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


def add_own_counters(run: RunRecord, stats: Iterable[str]) -> None:
    """Adds up what allemande counted in each rank: the texts of its ALLEMANDE_STATS files."""
    for text in stats:
        counted = json.loads(text)
        fallbacks = int(counted.get("communicators_mpi", 0))
        for record in run.sizes.values():
            record.count("allemande_fallbacks", fallbacks)
        for line in counted["sizes"]:
            if line["bytes"] not in run.sizes:
                continue
            for name in ("exchanges", "packets", "retransmitted"):
                run.sizes[line["bytes"]].count(f"allemande_{name}", int(line[name]))


def read_run(text: str) -> RunRecord:
    run = RunRecord()
    for line in text.splitlines():
        run.take(line)
    return run
