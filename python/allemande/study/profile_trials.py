"""Do trials begin well with a profile? The first calls of jobs, and the way they settle on.

Run as `python -m allemande.study.profile_trials`: on each cluster every way is timed and a
profile is made of that. Then jobs with trials and this profile make `--calls` calls of each size,
each with a decision file of its own. What the first `FIRST` calls took is compared with the last
`SETTLED` calls of the same job. The last line is the verdict; exit code 1 where a figure is missed.
What lies in the folder of --output is not measured again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import typer
from rich.table import Table

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.decisions import Decision, load_decisions
from allemande.entry import run_command
from allemande.errors import Failed
from allemande.lab.timers import choose_timers
from allemande.model.fits import with_fits
from allemande.model.profile import save_profile
from allemande.model.samples import bench_samples, profile_of
from allemande.quantities import format_seconds, format_size
from allemande.study.measured_choices import candidates_of
from allemande.study.measuring import conclude, kept_rows, measured
from allemande.tables import right, ruled_table
from allemande.topology import load_cluster

FIRST = 20
SETTLED = 20
LONGEST_S = 600.0  # of all calls of one size: all that are asked for are made
FIRST_MAX = 1.05  # times the settled way
SAME_MIN = 0.85  # part of the classes whose first way is the one they settle on


@dataclass(frozen=True)
class TrialRow:
    """One size class of one job."""

    cluster: str
    library: str
    size: int
    job: int
    first: str  # the way that was taken first
    settled: str
    first_calls_s: float  # mean of the first calls
    settled_s: float  # median of the last calls of the same job

    @property
    def cost(self) -> float:
        """First calls, times as long as settled ones."""
        return self.first_calls_s / self.settled_s


def row_of(
    cluster: str, library: str, job: int, decision: Decision, size: int, times_s: Sequence[float]
) -> TrialRow:
    """Raises Failed where there are too few calls to tell the first from the settled ones."""
    if len(times_s) < FIRST + SETTLED:
        raise Failed(f"{len(times_s)} calls of {size} bytes; expected at least {FIRST + SETTLED}")
    return TrialRow(
        cluster,
        library,
        size,
        job,
        decision.ways[0].name,
        decision.chosen,
        fmean(times_s[:FIRST]),
        median(times_s[-SETTLED:]),
    )


def verdict(rows: Sequence[TrialRow]) -> tuple[bool, str]:
    """Whether every figure is reached, and the line that says so."""
    same = fmean(row.first == row.settled for row in rows)
    costs = [row.cost for row in rows]
    good = same >= SAME_MIN and median(costs) <= FIRST_MAX
    return good, (
        f"{len(rows)} classes: the first way is the settled one in {same:.0%} ({SAME_MIN:.0%} "
        f"asked); first {FIRST} calls: median {median(costs):.3f} times settled ones "
        f"({FIRST_MAX:g} asked), worst {max(costs):.3f}: {'met' if good else 'missed'}"
    )


def _compare(
    cluster: str, scale: float, sizes: Sequence[int], names: str, effort: Effort
) -> Comparison:
    return measured(Request(cluster, sizes, parse_candidates([names]), effort, scale=scale))


def _profile(
    cluster: str, library: str, scale: float, sizes: Sequence[int], effort: Effort, path: Path
) -> None:
    """Writes a profile of the cluster as the lab builds it, with samples of every way."""
    compared = _compare(cluster, scale, sizes, ",".join(candidates_of(library)), effort)
    known = load_cluster(cluster).scaled(scale)
    text = json.dumps([figure.as_json() for figure in compared.figures])
    samples = bench_samples(text, cluster, [host.name for host in known.hosts])
    profile = profile_of(known, samples, mpi=compared.setting.versions[-1])
    network = replace(profile.network, time_scale=choose_timers(None, scale).factor)
    save_profile(with_fits(replace(profile, network=network)), path)


def _trial_rows(
    cluster: str, library: str, scale: float, sizes: Sequence[int], calls: int, job: int, stem: Path
) -> Iterable[TrialRow]:
    decisions = stem.with_name(f"{stem.name}-decisions-{job}.toml")
    decisions.unlink(missing_ok=True)
    profile = stem.with_name(f"{stem.name}-profile.toml")
    name = f"allemande+{library}:trials=on,profile={profile},decisions={decisions}"
    effort = Effort(rounds=1, calls=calls, calls_max=calls, seconds=0, seconds_max=LONGEST_S)
    compared = _compare(cluster, scale, sizes, name, effort)
    known = load_decisions(str(decisions))
    for figure in compared.figures:
        decision = next(one for one in known if one.least_bytes <= figure.size <= one.most_bytes)
        if decision.profile is None:
            raise Failed(f"{profile} was not used: what the job printed says why")
        yield row_of(cluster, library, job, decision, figure.size, figure.times_s)


def _table(rows: Sequence[TrialRow]) -> Table:
    names = ("cluster", "library", "size", "job", "first way", "settled on")
    table = ruled_table(None, *names, *right(f"first {FIRST} calls", "settled", "ratio"))
    for row in rows:
        table.add_row(
            row.cluster,
            row.library,
            format_size(row.size),
            str(row.job),
            row.first,
            row.settled,
            format_seconds(row.first_calls_s),
            format_seconds(row.settled_s),
            f"{row.cost:.3f}",
        )
    return table


def _command(
    clusters: Annotated[str, typer.Option(help="Separated by commas.")] = "oversubscribed-8x4",
    libraries: Annotated[str, typer.Option(help="openmpi, mpich.")] = "openmpi",
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = "1K,5K,20K,50K",
    scale: Annotated[float, typer.Option(help="Every link rate times this.")] = 0.1,
    calls: Annotated[int, typer.Option(help="Timed calls per size.", min=FIRST + SETTLED)] = 60,
    jobs: Annotated[int, typer.Option(help="Jobs per cluster and library.", min=1)] = 2,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Profiles, decisions and rows.")
    ] = Path("out/profile-trials"),
) -> None:
    """Compare the first calls of jobs that know a profile with those after the trials."""
    output.mkdir(parents=True, exist_ok=True)
    parsed = parse_sizes(sizes)
    survey = Effort(rounds=2, calls=2, calls_max=20, seconds=0.3)
    rows: list[TrialRow] = []
    for cluster in clusters.split(","):
        for library in libraries.split(","):
            stem = output.absolute() / f"{cluster}-{library}-{scale:g}"
            profile = stem.with_name(f"{stem.name}-profile.toml")
            if not profile.is_file():
                _profile(cluster, library, scale, parsed, survey, profile)
            for job in range(jobs):
                measure = partial(_trial_rows, cluster, library, scale, parsed, calls, job, stem)
                kept = stem.with_name(f"{stem.name}-rows-{job}.json")
                rows += kept_rows(kept, TrialRow, measure)
    conclude(_table(rows), verdict(rows))


if __name__ == "__main__":
    sys.exit(run_command("bench-trials", _command))
