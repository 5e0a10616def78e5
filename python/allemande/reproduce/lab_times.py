"""Times of one candidate over numbers of hosts and sizes, measured in the lab and kept in a file.

An experiment that names such a file (`lab`) has an `[in_lab]` table: candidate (of `allemande
bench`), scale, rounds, and calls and seconds of each (at least). `allemande reproduce ID --lab`
measures again. It writes the file after each number of hosts, and an interrupted run goes on where
it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allemande.bench.comparison import Comparison
from allemande.bench.runner import Effort
from allemande.cluster_part import first_hosts
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment
from allemande.reproduce.kept_measurement import KeptMeasurement, read_kept

PAIR = 2  # hosts; their exchange is one message each way
Times = dict[tuple[int, int], float]  # (hosts, bytes per pair) -> seconds at full speed, the mean


@dataclass(frozen=True)
class KeptTimes:
    """What a file of measured times holds."""

    measured: str
    points: Sequence[dict[str, Any]]  # hosts, size, calls, times_s (at full speed), tcp_timeouts

    @property
    def times(self) -> Times:
        return {
            (point["hosts"], point["size"]): sum(point["times_s"]) / len(point["times_s"])
            for point in self.points
        }

    @property
    def with_timeouts(self) -> float:
        """Part of the points in which TCP met a time-out."""
        late = [bool(point["tcp_timeouts"]) for point in self.points]
        return sum(late) / len(late)


def read_times(path: Path) -> KeptTimes:
    """Raises BadInput where the file is not there or holds nothing."""
    data = read_kept(path)
    return KeptTimes(data["measured"], data["points"])


def _points(compared: Comparison, hosts: int, scale: float) -> list[dict[str, Any]]:
    return [
        {
            "hosts": hosts,
            "size": figure.size,
            "times_s": [round(seconds * scale, 7) for seconds in figure.times_s],
            "tcp_timeouts": figure.tcp_timeouts,
            "cpu_idle": figure.cpu_idle,
        }
        for figure in compared.figures
    ]


def measure_times(
    experiment: Experiment, path: Path, scale: float | None, timers: str | None
) -> KeptTimes:
    """Needs root. `scale` and `timers` outrank the experiment's; what `path` holds is kept.

    Raises BadInput if `path` was measured otherwise, Failed if a number of hosts cannot be.
    """
    data = experiment.data["in_lab"]
    sizes = [int(size) for size in experiment.data["sizes"]]
    effort = Effort(
        rounds=int(data["rounds"]), calls=int(data["calls"]), seconds=float(data["seconds"])
    )
    kept = KeptMeasurement(
        experiment,
        path,
        scale,
        timers,
        candidate=data["candidate"],
        sizes=sizes,
        rounds=effort.rounds,
        calls=effort.calls,
        seconds=effort.seconds,
    )
    whole = find_experiment_cluster(experiment, experiment.data["cluster"])
    done = {point["hosts"] for point in kept.points}
    for hosts in (PAIR, *experiment.data["hosts"]):
        if hosts in done:
            continue
        part = first_hosts(whole, hosts)
        compared = kept.measure(f"{hosts} hosts", part, sizes, data["candidate"], effort)
        kept.add(compared, _points(compared, hosts, kept.scale))
    return read_times(path)
