"""What the preloaded library writes of a job's exchanges: who was called, how often, how long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from allemande.errors import Failed


@dataclass(frozen=True)
class SizeClass:
    """Calls of one MPI function with blocks of one size class."""

    function: str  # "MPI_Alltoall"
    least: int  # bytes to each rank
    most: int

    @property
    def sort_key(self) -> tuple[str, int]:
        return self.function, self.least


@dataclass
class ClassTimes:
    """Of a rank, on average over all ranks."""

    calls: float = 0.0
    seconds: float = 0.0
    ways: dict[str, float] = field(default_factory=dict)  # calls by way

    @property
    def way(self) -> str:
        """The one that most calls took."""
        return max(self.ways, key=self.ways.__getitem__, default="")


@dataclass(frozen=True)
class JobTimes:
    """The exchanges of one job."""

    classes: Mapping[SizeClass, ClassTimes]
    accelerated: int  # calls that allemande carried, over all ranks

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.classes.values())

    @property
    def calls(self) -> float:
        return sum(one.calls for one in self.classes.values())


def parse_job_times(text: str, where: str) -> JobTimes:
    """From the file that ALLEMANDE_STATS names. Raises Failed for what is no such file."""
    try:
        counters: dict[str, Any] = json.loads(text)
        ranks = int(counters["ranks"])
        classes: dict[SizeClass, ClassTimes] = {}
        for line in counters["calls"]:
            one = SizeClass(
                str(line["function"]), int(line["bytes_least"]), int(line["bytes_most"])
            )
            times = classes.setdefault(one, ClassTimes())
            calls = int(line["calls"]) / ranks
            times.calls += calls
            times.seconds += float(line["seconds"]) / ranks
            way = str(line["way"])
            times.ways[way] = times.ways.get(way, 0.0) + calls
        return JobTimes(classes, int(counters["exchanges"]))
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise Failed(
            f"{where}: the counters cannot be read ({error!r}); expected what this version's "
            "library writes: build it again, `make build` or `allemande build-preload`"
        ) from error


def read_job_times(path: Path) -> JobTimes | None:
    """None: the job left no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return parse_job_times(text, str(path))
