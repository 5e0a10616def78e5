"""Times of candidates on several networks, measured in the lab and kept in a file.

An experiment that names such a file (`lab`) has `[in_lab]` (scale) and a list of `[[in_lab.run]]`:
part, cluster (a file beside the experiment or a ready-made name), candidate (of `allemande bench`),
sizes, calls and warmup. `allemande reproduce ID --lab` measures again. It writes the file after
each run, and an interrupted one goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from allemande.bench.runner import Effort
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Watcher
from allemande.reproduce.kept_measurement import KeptMeasurement, read_kept
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases

LONGEST_S = 1200.0  # of the calls of one size: all that an experiment asks for are made


@dataclass(frozen=True)
class SitePoint:
    """One candidate at one size; all times are those of full speed."""

    part: str
    cluster: str
    candidate: str
    size: int
    times_s: tuple[float, ...]  # of the timed calls
    limit_s: float
    latency_s: float
    tcp_timeouts: int
    tcp_retransmitted: int
    wrong_bytes: int
    cpu_idle: float | None
    void_reason: str | None

    @property
    def mean_s(self) -> float:
        return sum(self.times_s) / len(self.times_s)

    @property
    def least_s(self) -> float:
        return min(self.times_s)

    @property
    def of_bound(self) -> float:
        return (self.limit_s + self.latency_s) / self.mean_s


@dataclass(frozen=True)
class KeptSites:
    """What a file of such times holds."""

    measured: str
    points: Sequence[SitePoint]

    def of(self, part: str, candidate: str) -> dict[int, SitePoint]:
        """By size, the smallest first."""
        found = {
            point.size: point
            for point in self.points
            if (point.part, point.candidate) == (part, candidate)
        }
        return dict(sorted(found.items()))

    @property
    def void(self) -> float:
        """Part of the points that `allemande bench` calls void."""
        return sum(point.void_reason is not None for point in self.points) / len(self.points)


def _point(entry: Mapping[str, Any]) -> SitePoint:
    return SitePoint(**{**entry, "times_s": tuple(entry["times_s"])})


def read_sites(path: Path) -> KeptSites:
    """Raises BadInput where the file is not there or holds nothing."""
    data = read_kept(path)
    return KeptSites(data["measured"], [_point(entry) for entry in data["points"]])


def simulate_sites(experiment: Experiment, workers: int, watcher: Watcher) -> KeptSites:
    """The same of [[run]], simulated: a call of each."""
    runs = [(run, int(size)) for run in experiment.data["run"] for size in run["sizes"]]
    clusters = [find_experiment_cluster(experiment, run["cluster"]) for run, _ in runs]
    cases = [
        Case(cluster, run["candidate"], size, "packet", dict(run.get("options", {})))
        for cluster, (run, size) in zip(clusters, runs, strict=True)
    ]
    points = [
        SitePoint(
            part=run["part"],
            cluster=case.cluster.name,
            candidate=run["candidate"],
            size=size,
            times_s=(result.time_s,),
            limit_s=result.limit_s,
            latency_s=0.0,
            tcp_timeouts=0,
            tcp_retransmitted=0,
            wrong_bytes=0,
            cpu_idle=None,
            void_reason=None,
        )
        for (run, size), case, result in zip(
            runs, cases, run_cases(cases, workers, watcher), strict=True
        )
    ]
    return KeptSites("simulated", points)


def _measure_run(experiment: Experiment, run: Mapping[str, Any], kept: KeptMeasurement) -> None:
    cluster = find_experiment_cluster(experiment, run["cluster"])
    effort = Effort(
        rounds=1,
        warmup=int(run["warmup"]),
        calls=int(run["calls"]),
        seconds=0,
        seconds_max=LONGEST_S,
    )
    sizes = [int(size) for size in run["sizes"]]
    what = f"{run['part']}, {run['candidate']}"
    compared = kept.measure(what, cluster, sizes, run["candidate"], effort)
    points = [
        SitePoint(
            part=run["part"],
            cluster=cluster.name,
            candidate=run["candidate"],
            size=figure.size,
            times_s=tuple(round(seconds * kept.scale, 7) for seconds in figure.times_s),
            limit_s=figure.limit_s * kept.scale,
            latency_s=figure.latency_s * kept.scale,
            tcp_timeouts=figure.tcp_timeouts,
            tcp_retransmitted=figure.tcp_retransmitted,
            wrong_bytes=figure.wrong_bytes,
            cpu_idle=figure.cpu_idle,
            void_reason=figure.void_reason,
        )
        for figure in compared.figures
    ]
    kept.add(compared, map(asdict, points))


def measure_sites(
    experiment: Experiment, path: Path, scale: float | None, timers: str | None
) -> KeptSites:
    """Needs root. `scale` and `timers` outrank the experiment's; what `path` holds is kept.

    Raises BadInput if `path` was measured otherwise, Failed if a run cannot be measured.
    """
    kept = KeptMeasurement(experiment, path, scale, timers)
    for run in experiment.data["in_lab"]["run"]:
        done = {
            point["size"]
            for point in kept.points
            if (point["part"], point["candidate"]) == (run["part"], run["candidate"])
        }
        if not done.issuperset(run["sizes"]):
            _measure_run(experiment, run, kept)
    return read_sites(path)
