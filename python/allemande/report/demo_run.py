"""The demo: three comparisons on emulated clusters with a report, then real programs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from allemande.bench import figure_output
from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison, compare
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.bench.timeline import TimelineRequest
from allemande.examples.catalog import PROGRAMS
from allemande.examples.program_runs import compare_in_lab
from allemande.examples.row_table import print_rows
from allemande.lab.timers import choose_timers
from allemande.quantities import format_size
from allemande.report.demo_page import build_demo_page
from allemande.report.demo_summary import print_summary, summarise_demo, to_markdown
from allemande.report.figure_plot import render
from allemande.row_text import json_rows

ALONE = ("allemande+openmpi:by-itself", "allemande+mpich:by-itself")
OURS = ",".join((*ALONE, "allemande+openmpi"))


@dataclass(frozen=True)
class Part:
    """One comparison. `picked`: the algorithms of which the best stands in the table."""

    cluster: str
    scale: float
    sizes: tuple[int, ...]
    picked: str
    effort: Effort
    timeline: TimelineRequest | None = None

    @property
    def candidates(self) -> str:
        return f"openmpi,mpich,{self.picked},{OURS}"


# Which algorithms can be the best was measured once with all of them (`allemande bench`): on
# oversubscribed-8x4 pairwise ones at all three sizes, by a factor of four and more. Open MPI's
# linear is not among them: it takes as long as what that library chooses by itself.
SHALLOW = Part(
    "shallow-4x2",
    0.25,
    (20_000, 100_000),
    "openmpi:linear-sync,mpich:pairwise,mpich:scattered",
    Effort(rounds=2, warmup=1, calls=2, seconds=1.0),
    TimelineRequest(100_000, ("openmpi", "mpich", *ALONE)),
)
# One call of the slowest takes 7 s at 10 KB and 11 s at 50 KB: as few calls as tell.
LARGE = (
    Part(
        "oversubscribed-8x4",
        0.1,
        (1_000, 10_000, 50_000),
        "openmpi:pairwise,mpich:pairwise",
        Effort(rounds=1, warmup=1, calls=2, seconds=1.0),
        TimelineRequest(10_000, ("openmpi", ALONE[0])),
    ),
    Part(
        "tam-8x4",
        0.1,
        (1_000, 10_000),
        "mpich:pairwise",
        Effort(rounds=1, warmup=1, calls=2, seconds=1.0),
    ),
)
PROGRAMS_ON = "tam-8x4"
PROGRAMS_SCALE = 0.1
PROGRAM_MPIS = ("openmpi", "openmpi-debian")  # one for each program
PROGRAM_REPEATS = 1
BUSY_LOOK_S = 2.0


def _busy_part() -> float:
    """The busy part of all processors, in a moment in which we do nothing ourselves."""
    before = _ticks()
    time.sleep(BUSY_LOOK_S)
    total, idle = (now - then for now, then in zip(_ticks(), before, strict=True))
    return max(0.0, 1 - idle / total) if total else 0.0


def _ticks() -> tuple[int, int]:
    """All and idle ones, of all processors together."""
    values = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(values), values[3] + values[4]


def _title(parts: Sequence[Part]) -> str:
    names = " and ".join(part.cluster for part in parts)
    scale = parts[0].scale
    return f"{names}, {'at full speed' if scale == 1 else f'at scale {scale:g}'}"


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _write_parts(results: Sequence[Comparison], folder: Path) -> None:
    """Plots and figures of each comparison, for programs and for other documents."""
    for result in results:
        cluster = result.setting.cluster
        for kind in ("svg", "png"):
            (folder / f"{cluster}.{kind}").write_bytes(render(result.figures, kind))
        _write(folder, f"{cluster}.json", json_rows(result.figures))
        _write(folder, f"{cluster}.md", figure_output.markdown(result.figures, result.setting))
        if result.timelines:
            rows = [timeline.as_json() for timeline in result.timelines]
            _write(folder, f"{cluster}.timelines.json", json.dumps(rows) + "\n")


def run_demo(folder: Path, timers: str | None) -> bool:
    """False where a byte was wrong or a candidate could not be measured."""
    began_s = time.monotonic()
    busy = _busy_part()
    console = Console()
    groups = [(SHALLOW,), LARGE]
    done: dict[str, Comparison] = {}
    for part in (part for group in groups for part in group):
        times = choose_timers(timers, part.scale)
        console.print(
            f"MPI_Alltoall on {part.cluster} at scale {part.scale:g}, "
            f"{', '.join(map(format_size, part.sizes))}: {part.candidates}",
            highlight=False,
            soft_wrap=True,
        )
        done[part.cluster] = compare(
            Request(
                part.cluster,
                part.sizes,
                parse_candidates([part.candidates]),
                part.effort,
                scale=part.scale,
                timers=times.name,
                timeline=part.timeline,
            )
        )
    results = list(done.values())
    summary = summarise_demo(
        [(_title(group), [done[part.cluster] for part in group]) for group in groups],
        max(busy, _busy_part()),
    )
    console.print()
    print_summary(console, summary)
    for result in results:
        for note in result.warnings:
            line = f"warning: {result.setting.cluster}: {note}"
            console.print(Text(line, style="yellow"), soft_wrap=True)
    folder.mkdir(parents=True, exist_ok=True)
    line = "allemande demo" if timers is None else f"allemande demo --timers {timers}"
    page = _write(folder, "report.html", build_demo_page(summary, results, line))
    block = _write(folder, "readme.md", to_markdown(summary))
    _write_parts(results, folder)
    console.print("\nReal programs (examples/), the same results checked:", highlight=False)
    rows, _ = compare_in_lab(
        PROGRAMS_ON,
        PROGRAMS_SCALE,
        list(PROGRAMS),
        choose_timers(timers, PROGRAMS_SCALE),
        mpis=PROGRAM_MPIS,
        repeats=PROGRAM_REPEATS,
    )
    print_rows(console, rows)
    minutes, seconds = divmod(round(time.monotonic() - began_s), 60)
    console.print(f"It took {minutes} min {seconds:02d} s.", highlight=False)
    console.print(f"Report with plots: {page}", highlight=False, soft_wrap=True)
    console.print(f"The tables for a document: {block}", highlight=False, soft_wrap=True)
    return not any(result.failed for result in results)
