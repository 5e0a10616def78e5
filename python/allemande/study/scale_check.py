"""Does a slowed-down lab tell the truth? The same clusters at full speed and at smaller scales.

Run as `python -m allemande.study.scale_check` (`make bench-scale`): every cluster at scale 1, then
at smaller scales with scaled and with real timers. Times at a smaller scale are multiplied by it,
so that all stand beside those at scale 1. What has been measured is kept and not measured again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from rich.console import Console
from rich.table import Table
from rich.text import Text

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.entry import run_command
from allemande.lab.timers import TCP_RTO_MIN_MS
from allemande.output_files import write_output
from allemande.plot_look import COLOURS, MARKERS, save, share_legend, styled_canvas
from allemande.quantities import MISSING, format_seconds, format_size
from allemande.tables import left, right, ruled_table

CLUSTERS = "shallow-4x2,shallow-8x1,tam-8x1"
SIZES = "3000,20000,100000"
CANDIDATES = "openmpi,openmpi:pairwise,mpich,allemande+openmpi"
SCALES = (1.0, 0.3, 0.1)
SHOWN_MIN = 0.05  # a smaller part of the calls is left out of the plot
STOCK_OFF_MAX = 0.20
OUR_OFF_MAX = 0.05


@dataclass(frozen=True)
class Run:
    """One bench: a cluster at a scale, with timers."""

    cluster: str
    scale: float
    timers: str

    @property
    def name(self) -> str:
        return f"{self.cluster}-{self.scale:g}-{self.timers}"


@dataclass(frozen=True)
class Point:
    """A candidate's median in one run, in seconds at full speed."""

    run: Run
    candidate: str
    stock: bool
    size: int
    limit_s: float
    seconds: float | None
    times_s: Sequence[float]  # of every call
    rto_min_s: float

    @property
    def late(self) -> list[float]:
        """Calls that took the limit and a minimum time-out of TCP."""
        return [one for one in self.times_s if one >= self.limit_s + self.rto_min_s]

    @property
    def prompt(self) -> list[float]:
        """The others."""
        return [one for one in self.times_s if one < self.limit_s + self.rto_min_s]

    def off(self, full: Point | None) -> float | None:
        """How much longer it seems to take than at scale 1."""
        if full is None or full.seconds is None or self.seconds is None:
            return None
        return self.seconds / full.seconds - 1


def runs_of(clusters: Sequence[str]) -> Iterator[Run]:
    for cluster in clusters:
        for scale in SCALES:
            for timers in ("real",) if scale == 1 else ("scaled", "real"):
                yield Run(cluster, scale, timers)


def points_of(run: Run, entries: Sequence[dict[str, Any]]) -> list[Point]:
    return [
        Point(
            run=run,
            candidate=entry["candidate"],
            stock=entry["stock"],
            size=entry["size"],
            limit_s=entry["limit_s"] * run.scale,
            seconds=None if entry["median_s"] is None else entry["median_s"] * run.scale,
            times_s=[seconds * run.scale for seconds in entry["times_s"]],
            rto_min_s=TCP_RTO_MIN_MS / 1000 * (run.scale if run.timers == "real" else 1),
        )
        for entry in entries
    ]


def at_full_speed(points: Sequence[Point], point: Point) -> Point | None:
    same = (
        other
        for other in points
        if other.run.scale == 1
        and (other.run.cluster, other.candidate, other.size)
        == (point.run.cluster, point.candidate, point.size)
    )
    return next(same, None)


def _measure(run: Run, sizes: Sequence[int], candidates: str, effort: Effort, folder: Path) -> Path:
    """The file with what `bench --json` prints; measured unless it is there."""
    path = folder / f"{run.name}.json"
    if not path.exists():
        result = compare(
            Request(
                run.cluster,
                sizes,
                parse_candidates([candidates]),
                effort,
                scale=run.scale,
                timers=run.timers,
            )
        )
        path.write_text(json.dumps([figure.as_json() for figure in result.figures], indent=2))
    return path


def tables(points: Sequence[Point]) -> Iterator[Table]:
    """Two per cluster: a row for each size and candidate, a column for each run."""
    clusters = list(dict.fromkeys(point.run.cluster for point in points))
    for cluster in clusters:
        here = [point for point in points if point.run.cluster == cluster]
        runs = list(dict.fromkeys(point.run for point in here))
        medians = _table(f"{cluster}: medians times the scale, and how far from scale 1", runs)
        parts = _table(
            f"{cluster}: calls with a time-out, their median / the median of the others", runs
        )
        rows = dict.fromkeys((point.size, point.candidate) for point in here)
        for size, candidate in rows:
            of_row = {p.run: p for p in here if (p.size, p.candidate) == (size, candidate)}
            mine = [of_row.get(run) for run in runs]
            cells = [_cell(p, at_full_speed(here, p)) if p else Text(MISSING) for p in mine]
            medians.add_row(format_size(size), candidate, *cells)
            parts.add_row(format_size(size), candidate, *(_parts(p) if p else "" for p in mine))
        yield medians
        yield parts


def _table(title: str, runs: Sequence[Run]) -> Table:
    scales = ["scale 1" if run.scale == 1 else f"{run.scale:g}, {run.timers}" for run in runs]
    return ruled_table(title, *right("size"), *left("candidate"), *right(*scales))


def _parts(point: Point) -> str:
    """`25% 219 ms / 14 ms`."""
    if not point.times_s:
        return MISSING
    medians = [
        format_seconds(median(times) if times else None) for times in (point.late, point.prompt)
    ]
    return f"{len(point.late) / len(point.times_s):.0%} {medians[0]} / {medians[1]}"


def _cell(point: Point, full: Point | None) -> Text:
    text = format_seconds(point.seconds)
    off = point.off(full)
    if off is None or point.run.scale == 1:
        return Text(text)
    bound = STOCK_OFF_MAX if point.stock else OUR_OFF_MAX
    wrong = point.run.timers == "scaled" and abs(off) > bound
    return Text(f"{text} {off:+.0%}", style="red" if wrong else "")


def draw(points: Sequence[Point]) -> Canvas:
    """A panel for each cluster and size: time against scale, scaled timers solid, real dashed.

    Calls with a time-out and those without are two populations: each has a line of its medians,
    and the larger a marker, the more of the calls it stands for.
    """
    clusters = list(dict.fromkeys(point.run.cluster for point in points))
    sizes = sorted({point.size for point in points})
    candidates = list(dict.fromkeys(point.candidate for point in points))
    with styled_canvas(10, 2.6 * len(clusters) + 0.9) as canvas:
        panels = canvas.subplots(len(clusters), len(sizes), squeeze=False, sharex=True, sharey=True)
        for row, cluster in zip(panels, clusters, strict=True):
            for axes, size in zip(row, sizes, strict=True):
                here = [p for p in points if (p.run.cluster, p.size) == (cluster, size)]
                axes.set_title(f"{cluster}, {format_size(size)}", fontsize=9)
                axes.set_xscale("log")
                axes.set_yscale("log")
                axes.set_xticks(SCALES, [f"{scale:g}" for scale in SCALES])
                axes.minorticks_off()
                for number, candidate in enumerate(candidates):
                    mine = [p for p in here if p.candidate == candidate]
                    for timers in ("scaled", "real"):
                        shown = [p for p in mine if p.run.scale == 1 or p.run.timers == timers]
                        _draw_medians(axes, shown, number, timers)
                axes.axhline(1e3 * here[0].limit_s, color="#1c2330", linewidth=1.2, label="limit")
        for axes in panels[-1]:
            axes.set_xlabel("scale")
        for row in panels:
            row[0].set_ylabel("ms, times scale")
    share_legend(
        canvas,
        "Calls with a TCP time-out and calls without: medians at smaller scales, times the scale",
        columns=4,
    )
    return canvas


def _draw_medians(axes: Axes, points: Sequence[Point], number: int, timers: str) -> None:
    colour, marker = COLOURS[number], MARKERS[number]
    label = points[0].candidate if points else ""
    axes.plot(
        [],
        "-" if timers == "scaled" else "--",
        color=colour,
        marker=marker,
        markersize=5,
        label=label if timers == "scaled" else f"{label}, real timers",
    )
    for late in (True, False):
        shown = [(p, p.late if late else p.prompt) for p in points]
        shown = [(p, times) for p, times in shown if len(times) >= SHOWN_MIN * len(p.times_s) > 0]
        scales = [p.run.scale * 1.04 ** (number - 1.5) for p, _ in shown]
        medians = [1e3 * median(times) for _, times in shown]
        axes.plot(scales, medians, "-" if timers == "scaled" else "--", color=colour, linewidth=1)
        axes.scatter(
            scales,
            medians,
            [4 + 40 * len(times) / len(p.times_s) for p, times in shown],
            color=colour if timers == "scaled" else "white",
            edgecolors=colour,
            marker=marker,
            zorder=3,
        )


def _command(
    clusters: Annotated[str, typer.Option(help="Separated by commas.")] = CLUSTERS,
    sizes: Annotated[str, typer.Option(help="Bytes, separated by commas.")] = SIZES,
    against: Annotated[str, typer.Option(help="Candidates of `allemande bench`.")] = CANDIDATES,
    rounds: Annotated[int, typer.Option(min=1)] = 2,
    calls: Annotated[int, typer.Option(help="Timed calls per size and round.", min=1)] = 4,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="What was measured, and the plot.")
    ] = Path("out/scale-check"),
) -> None:
    """Compare scaled and real timers at smaller scales with full speed."""
    output.mkdir(parents=True, exist_ok=True)
    effort = Effort(rounds=rounds, calls=calls, seconds=0.5)
    points: list[Point] = []
    for run in runs_of(clusters.split(",")):
        path = _measure(run, parse_sizes(sizes), against, effort, output)
        points += points_of(run, json.loads(path.read_text()))
    console = Console(width=150)
    for table in tables(points):
        console.print(table)
    plot = output / "scale-check.svg"
    write_output(str(plot), save(draw(points), "svg").decode())
    (output / "scale-check.png").write_bytes(save(draw(points), "png"))
    console.print(f"{plot} holds the plot")


if __name__ == "__main__":
    sys.exit(run_command("bench-scale", _command))
