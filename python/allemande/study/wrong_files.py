"""What does a wrong file cost? Jobs with files that lie, beside jobs without a file.

Run as `python -m allemande.study.wrong_files` (`make bench-wrong`): in one lab, jobs of `--calls`
calls of each size, bring-up and trials included, take turns: without a file, with the true cluster
file, and with one for each lie. Decision files and profiles of another day say the reverse of what
was measured: the slowest way has the time of the fastest. Where one way alone was tried the library
is said to take a tenth of its time. A lie may cost 5 % of the calls together. Kernels answer
questions a few times at once, so that a job without a file comes before all others in each lab.
The figure of a candidate is the least of its jobs: a job that was disturbed is slower, none is
faster. The last line is the verdict; exit code 1 where a lie costs more.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.table import Table

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.entry import run_command
from allemande.errors import BadInput, Failed
from allemande.lab.timers import choose_timers
from allemande.model.fits import with_fits
from allemande.model.profile import Profile, Sample, save_profile
from allemande.model.samples import bench_samples, profile_of
from allemande.output_files import write_output
from allemande.quantities import format_seconds, format_size
from allemande.study.measured_choices import candidates_of
from allemande.study.measuring import conclude, measured, rows_text
from allemande.tables import right, ruled_table
from allemande.topology import compress_hostlist, expand_hostlist, load_cluster

COST_MAX = 1.05  # times the calls of a job without a file
LONGEST_S = 600.0  # of all calls of one size: all that are asked for are made
SEED = 7
NO_FILE = "no file"
SPENDS = "decisions=off"  # of the job that is asked for and not compared
PROFILED_CALLS = 3  # of each way
DECIDING_TIMES = 6  # as many calls, of the job whose decisions are reversed


def _times(text: str, key: str, factor: float, *, whole: bool = False) -> str:
    """Every value of the keys that match, times this; `whole`: rounded down, at least 1."""

    def changed(match: re.Match[str]) -> str:
        value = float(match[2]) * factor
        return f"{match[1]} = {max(1, int(value)) if whole else value:.12g}"

    return re.sub(rf"^({key}) = ([0-9.e+-]+)$", changed, text, flags=re.MULTILINE)


def _renamed(text: str, name_of: Callable[[str], str], key: str = "from") -> str:
    """With other names in place of the hosts' at `key`."""
    hosts = {
        name
        for listed in re.findall(r'^\[\[host\]\]\nname = "(.*)"$', text, flags=re.MULTILINE)
        for name in expand_hostlist(listed)
    }

    def changed(match: re.Match[str]) -> str:
        names = [name_of(name) if name in hosts else name for name in expand_hostlist(match[1])]
        return f'{key} = "{compress_hostlist(names)}"'

    return re.sub(rf'^{key} = "(.*)"$', changed, text, flags=re.MULTILINE)


def _shuffled(text: str, seed: int = SEED) -> str:
    """Hosts on leaves that are not theirs."""
    names = [
        name
        for listed in re.findall(r'^\[\[host\]\]\nname = "(.*)"$', text, flags=re.MULTILINE)
        for name in expand_hostlist(listed)
    ]
    others = list(names)
    random.Random(seed).shuffle(others)
    moved = dict(zip(names, others, strict=True))
    return _renamed(text, lambda name: moved[name])


def _all_renamed(text: str) -> str:
    return _renamed(_renamed(text, "old-{}".format), "old-{}".format, key="name")


def _one_renamed(text: str) -> str:
    def name_of(name: str) -> str:
        return "old" if name == "h1" else name

    return _renamed(_renamed(text, name_of), name_of, key="name")


def _without(text: str, key: str) -> str:
    return re.sub(rf"^{key} = .*\n", "", text, flags=re.MULTILINE)


def _of_one_kind(text: str) -> str:
    """All switches have queues at their outputs."""
    return re.sub(
        r"^architecture = .*$",
        'architecture = "output"',
        _without(text, "buffer_packets"),
        flags=re.MULTILINE,
    )


QUEUES = "queue_[a-z]+_packets|buffer_packets"
LIES: dict[str, Callable[[str], str]] = {
    "true": lambda text: text,
    "rates-tenth": lambda text: _times(text, "rate_mbit_s", 0.1),
    "rates-tenfold": lambda text: _times(text, "rate_mbit_s", 10),
    "queues-tenth": lambda text: _times(text, QUEUES, 0.1, whole=True),
    "queues-tenfold": lambda text: _times(text, QUEUES, 10),
    "queues-none": lambda text: _without(text, "queue_[a-z]+_packets"),
    "latencies-tenth": lambda text: _times(text, "latency_us", 0.1),
    "latencies-tenfold": lambda text: _times(text, "latency_us", 10),
    "latencies-none": lambda text: _without(text, "latency_us"),
    "architecture": _of_one_kind,
    "leaves-shuffled": _shuffled,
    "hosts-renamed": _all_renamed,
    "one-renamed": _one_renamed,
}
OTHER_DECISIONS = "decisions-reversed"
OTHER_PROFILE = "profile-reversed"
ALL_LIES = (*LIES, OTHER_DECISIONS, OTHER_PROFILE)


def reversed_times(times: Mapping[str, float]) -> dict[str, float]:
    """The fastest has the time of the slowest, and so on."""
    ranked = sorted(times, key=lambda name: times[name])
    return {name: times[other] for name, other in zip(ranked, reversed(ranked), strict=True)}


def reversed_decisions(text: str) -> str:
    """A decision file in which the ways tried have each other's times."""
    head, *tables = text.split("[[decision]]\n")
    way = re.compile(r'key = "([^"]*)"(.*?)time_us = ([0-9.]+), seen = ([0-9]+)')
    for at, table in enumerate(tables):
        tried = {key: float(us) for key, _, us, _ in way.findall(table) if float(us) > 0}
        told = reversed_times(tried)
        if len(tried) == 1:
            told["library"] = min(tried.values()) / 10
        chosen = min(told, key=lambda key: told[key])

        def changed(match: re.Match[str], told: Mapping[str, float] = told) -> str:
            us = told.get(match[1], 0.0)
            seen = max(int(match[4]), 1 if us > 0 else 0)
            return f'key = "{match[1]}"{match[2]}time_us = {us:.3f}, seen = {seen}'

        tables[at] = re.sub(r'^chosen = ".*"$', f'chosen = "{chosen}"', table, flags=re.MULTILINE)
        tables[at] = way.sub(changed, tables[at])
    return "[[decision]]\n".join([head, *tables])


def _reversed_profile(profile: Profile) -> Profile:
    """A profile in which the ways have each other's times, size by size."""
    samples: list[Sample] = []
    for size in sorted({one.bytes for one in profile.samples}):
        of_size = [one for one in profile.samples if one.bytes == size]
        told = reversed_times({one.candidate: median(one.times_s) for one in of_size})
        samples += [replace(one, times_s=(told[one.candidate],) * 3) for one in of_size]
    return with_fits(replace(profile, samples=tuple(samples), fits=()))


@dataclass(frozen=True)
class Cost:
    """One lie at one size."""

    cluster: str
    library: str
    size: int
    lie: str
    seconds: float  # all calls of a job
    without_s: float  # of a job without a file
    times_s: list[float]  # of the calls of all jobs

    @property
    def ratio(self) -> float:
        return self.seconds / self.without_s


def job_seconds(times_s: Sequence[float], calls: int) -> float:
    """Of the least of the jobs whose calls follow each other here."""
    jobs = [sum(times_s[at : at + calls]) for at in range(0, len(times_s) - calls + 1, calls)]
    if not jobs:
        raise Failed(f"{len(times_s)} calls; expected at least {calls}")
    return min(jobs)


def verdict(costs: Sequence[Cost]) -> tuple[bool, str]:
    """Whether no lie costs too much, and the line that says so."""
    worst = max(costs, key=lambda cost: cost.ratio)
    good = worst.ratio <= COST_MAX
    return good, (
        f"{len(costs)} wrong files: at most {worst.ratio:.3f} times a job without a file "
        f"({worst.cluster}, {worst.library}, {format_size(worst.size)}, {worst.lie}); "
        f"{COST_MAX:g} asked: {'met' if good else 'missed'}"
    )


@dataclass(frozen=True)
class Lab:
    """Where jobs run, and how many calls they make."""

    cluster: str
    library: str
    scale: float
    calls: int

    def compared(self, names: Sequence[str], sizes: Sequence[int], calls: int) -> Comparison:
        effort = Effort(
            rounds=1, warmup=0, calls=calls, calls_max=calls, seconds=0, seconds_max=LONGEST_S
        )
        candidates = parse_candidates([",".join(names)])
        return measured(Request(self.cluster, sizes, candidates, effort, scale=self.scale))

    def candidate(self, options: str) -> str:
        return f"allemande+{self.library}:trials=on,{options}"


def _decisions_of(lab: Lab, size: int, path: Path) -> str:
    """What a job of this size writes, without a cluster file."""
    path.unlink(missing_ok=True)
    calls = DECIDING_TIMES * lab.calls
    lab.compared([lab.candidate(f"cluster=off,decisions={path}")], [size], calls)
    if not path.is_file():
        raise Failed(f"{lab.cluster}, {lab.library}: {calls} calls decide nothing; take more")
    return path.read_text(encoding="utf-8")


def _profile_of(lab: Lab, sizes: Sequence[int]) -> Profile:
    """Of every way, a few calls each."""
    compared = lab.compared(candidates_of(lab.library), sizes, PROFILED_CALLS)
    known = load_cluster(lab.cluster).scaled(lab.scale)
    text = json.dumps([figure.as_json() for figure in compared.figures])
    samples = bench_samples(text, lab.cluster, [host.name for host in known.hosts])
    profile = profile_of(known, samples, mpi=compared.setting.versions[-1])
    factor = choose_timers(None, lab.scale).factor
    return replace(profile, network=replace(profile.network, time_scale=factor))


def _measure(
    lab: Lab, sizes: Sequence[int], lies: Sequence[str], jobs: int, folder: Path
) -> list[Cost]:
    text = load_cluster(lab.cluster).scaled(lab.scale).to_toml()
    names = {NO_FILE: lab.candidate("cluster=off")}
    for lie in lies:
        path = folder / f"{lab.cluster}-{lab.library}-{lie}.toml"
        if lie in LIES:
            write_output(str(path), LIES[lie](text))
            names[lie] = lab.candidate(f"cluster={path}")
        elif lie == OTHER_PROFILE:
            save_profile(_reversed_profile(_profile_of(lab, sizes)), path)
            names[lie] = lab.candidate(f"cluster=off,profile={path}")
    costs = []
    for size in sizes:
        other_day = folder / f"{lab.cluster}-{lab.library}-{size}-decisions.toml"
        decided = ""
        if OTHER_DECISIONS in lies:
            decided = reversed_decisions(_decisions_of(lab, size, other_day))
            names[OTHER_DECISIONS] = lab.candidate(f"cluster=off,decisions={other_day}")
        times_s: dict[str, list[float]] = {name: [] for name in names.values()}
        for _ in range(jobs):
            if decided:  # the job before has corrected it
                other_day.write_text(decided, encoding="utf-8")
            spends = lab.candidate(f"cluster=off,{SPENDS}")
            for one in lab.compared([spends, *names.values()], [size], lab.calls).figures:
                if one.candidate != spends:
                    times_s[one.candidate] += one.times_s
        without_s = job_seconds(times_s[names[NO_FILE]], lab.calls)
        costs += [
            Cost(
                lab.cluster,
                lab.library,
                size,
                lie,
                job_seconds(times_s[name], lab.calls),
                without_s,
                times_s[name],
            )
            for lie, name in names.items()
        ]
    return costs


def _table(costs: Sequence[Cost], calls: int) -> Table:
    figures = right(f"{calls} calls", "to no file")
    table = ruled_table(None, "cluster", "library", "size", "file", *figures)
    for cost in costs:
        table.add_row(
            cost.cluster,
            cost.library,
            format_size(cost.size),
            cost.lie,
            format_seconds(cost.seconds),
            f"{cost.ratio:.3f}",
        )
    return table


def _command(
    clusters: Annotated[str, typer.Option(help="Separated by commas.")] = "shallow-4x2,tam-8x2",
    libraries: Annotated[str, typer.Option(help="openmpi, mpich.")] = "openmpi",
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = "1K,10K,50K",
    scale: Annotated[float, typer.Option(help="Every link rate times this.")] = 0.1,
    calls: Annotated[int, typer.Option(help="Of a job.", min=1)] = 50,
    jobs: Annotated[int, typer.Option(help="Jobs with each file.", min=1)] = 2,
    output: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write every time as JSON.")
    ] = None,
    lies: Annotated[str, typer.Option(help=f"Some of {', '.join(ALL_LIES)}.")] = ",".join(ALL_LIES),
) -> None:
    """Compare jobs with wrong files with jobs without one."""
    wanted = lies.split(",")
    unknown = [lie for lie in wanted if lie not in ALL_LIES]
    if unknown or set(wanted) <= {"true"}:
        raise BadInput(f"--lies {lies}: expected some of {', '.join(ALL_LIES)}, not true alone")
    costs = []
    with tempfile.TemporaryDirectory(prefix="allemande-wrong-") as folder:
        for cluster in clusters.split(","):
            for library in libraries.split(","):
                lab = Lab(cluster, library, scale, calls)
                costs += _measure(lab, parse_sizes(sizes), wanted, jobs, Path(folder))
    write_output(output, rows_text(costs))
    lying = [cost for cost in costs if cost.lie not in (NO_FILE, "true")]
    conclude(_table(costs, calls), verdict(lying))


if __name__ == "__main__":
    sys.exit(run_command("bench-wrong", _command))
