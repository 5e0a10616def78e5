"""What does a wrong cluster file cost? Jobs with files that lie, beside jobs without a file.

Run as `python -m allemande.study.wrong_files` (`make bench-wrong`): in one lab, jobs of `--calls`
calls of each size, bring-up and trials included, take turns: without a cluster file, with the true
one, and with one for each lie. A lie may cost 5 % of the calls together. The figure of a candidate
is the least of its jobs: a job that was disturbed is slower, none is faster. The last line is the
verdict; exit code 1 where a lie costs more.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.entry import run_command
from allemande.errors import Failed
from allemande.output_files import write_output
from allemande.quantities import format_seconds, format_size
from allemande.topology import compress_hostlist, expand_hostlist, load_cluster

COST_MAX = 1.05  # times the calls of a job without a file
LONGEST_S = 600.0  # of all calls of one size: all that are asked for are made
SEED = 7
NO_FILE = "no file"


def _times(text: str, key: str, factor: float) -> str:
    """Every value of the keys that match, times this."""

    def changed(match: re.Match[str]) -> str:
        return f"{match[1]} = {float(match[2]) * factor:.12g}"

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


LIES: dict[str, Callable[[str], str]] = {
    "true": lambda text: text,
    "rates-tenth": lambda text: _times(text, "rate_mbit_s", 0.1),
    "rates-tenfold": lambda text: _times(text, "rate_mbit_s", 10),
    "queues-tenfold": lambda text: _times(text, "queue_[a-z]+_packets|buffer_packets", 10),
    "leaves-shuffled": _shuffled,
    "hosts-renamed": _all_renamed,
    "one-renamed": _one_renamed,
}


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


def _measure(
    cluster: str,
    library: str,
    scale: float,
    sizes: Sequence[int],
    lies: Sequence[str],
    jobs: int,
    calls: int,
    folder: Path,
) -> list[Cost]:
    text = load_cluster(cluster).scaled(scale).to_toml()
    names = {NO_FILE: f"allemande+{library}:trials=on,cluster=off"}
    for lie in lies:
        path = folder / f"{cluster}-{lie}.toml"
        write_output(str(path), LIES[lie](text))
        names[lie] = f"allemande+{library}:trials=on,cluster={path}"
    effort = Effort(
        rounds=jobs, warmup=0, calls=calls, calls_max=calls, seconds=0, seconds_max=LONGEST_S
    )
    costs = []
    for size in sizes:
        candidates = parse_candidates([",".join(names.values())])
        compared = compare(Request(cluster, [size], candidates, effort, scale=scale))
        if compared.failed:
            raise Failed(f"{cluster}, {library}: {'; '.join(compared.warnings) or 'not measured'}")
        times_s = {one.candidate: one.times_s for one in compared.figures}
        without_s = job_seconds(times_s[names[NO_FILE]], calls)
        costs += [
            Cost(
                cluster,
                library,
                size,
                lie,
                job_seconds(times_s[name], calls),
                without_s,
                times_s[name],
            )
            for lie, name in names.items()
        ]
    return costs


def _table(costs: Sequence[Cost], calls: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("cluster", "library", "size", "file"):
        table.add_column(name)
    for name in (f"{calls} calls", "to no file"):
        table.add_column(name, justify="right")
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
    lies: Annotated[str, typer.Option(help=f"Some of {', '.join(LIES)}.")] = ",".join(LIES),
) -> None:
    """Compare jobs with wrong cluster files with jobs without one."""
    costs = []
    with tempfile.TemporaryDirectory(prefix="allemande-wrong-") as folder:
        for cluster in clusters.split(","):
            for library in libraries.split(","):
                costs += _measure(
                    cluster,
                    library,
                    scale,
                    parse_sizes(sizes),
                    lies.split(","),
                    jobs,
                    calls,
                    Path(folder),
                )
    write_output(output, json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")
    Console(width=120).print(_table(costs, calls))
    good, line = verdict([cost for cost in costs if cost.lie not in (NO_FILE, "true")])
    print(line)
    if not good:
        raise typer.Exit(1)


if __name__ == "__main__":
    sys.exit(run_command("bench-wrong", _command))
