"""Curves over block sizes, measured in the lab and kept in a file.

An experiment of curves that names such a file (`lab`) has an `[in_lab]` table: scale, sizes, rounds
and calls, and of each `[[in_lab.candidate]]` a label and what `allemande bench` takes. `cluster`,
of all or of a candidate, is the network where it is not that of the curves. `output_frames` is what
an output of an input-buffered switch holds. `allemande reproduce ID --lab` measures again. It
writes the file after each size of a network, and an interrupted run goes on where it ended.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from allemande.bench.figures import Figure
from allemande.bench.runner import Effort
from allemande.quantities import format_size
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.curve_figure import run_curves
from allemande.reproduce.experiment import Experiment, Outcome
from allemande.reproduce.kept_measurement import KeptMeasurement

WORKERS = 0  # one per core


def _point(label: str, figure: Figure, scale: float, partners: int) -> dict[str, Any]:
    """Times and rates are those of full speed; a size that gave nothing has none."""
    out: dict[str, Any] = {
        "label": label,
        "size": figure.size,
        "calls": figure.calls,
        "dropped": figure.dropped,
        "tcp_timeouts": figure.tcp_timeouts,
        "cpu_idle": figure.cpu_idle,
    }
    if figure.median_s is not None:
        seconds = figure.median_s * scale
        out["time_s"] = round(seconds, 7)
        out["goodput_mb_s"] = round(partners * figure.size / seconds / 1e6, 4)
    if figure.void_reason is not None:
        out["void"] = figure.void_reason
    return out


def _measure(
    experiment: Experiment, path: Path, scale: float | None, timers: str | None
) -> list[dict[str, Any]]:
    data = experiment.data["in_lab"]
    networks: dict[str, dict[str, str]] = {}  # of each its candidates, and their labels
    for entry in data["candidate"]:
        name = entry.get("cluster", data.get("cluster", experiment.data.get("cluster")))
        networks.setdefault(name, {})[entry["candidate"]] = entry["label"]
    frames = data.get("output_frames")
    effort = Effort(rounds=int(data["rounds"]), calls=int(data["calls"]), seconds=0)
    kept = KeptMeasurement(
        experiment,
        path,
        scale,
        timers,
        candidates=list(dict.fromkeys(entry["candidate"] for entry in data["candidate"])),
        rounds=effort.rounds,
        calls=effort.calls,
        **({} if frames is None else {"output_frames": frames}),
    )
    done = {(point["label"], point["size"]) for point in kept.points}
    for name, candidates in networks.items():
        cluster = find_experiment_cluster(experiment, name)
        for size in data["sizes"]:
            if {(label, size) for label in candidates.values()} <= done:
                continue
            what = f"{name}, {format_size(size)}"
            compared = kept.measure(what, cluster, [size], ",".join(candidates), effort, frames)
            points = [
                _point(candidates[figure.candidate], figure, kept.scale, len(cluster.hosts) - 1)
                for figure in compared.figures
            ]
            kept.add(compared, points)
    return kept.points


def run_curves_in_lab(
    experiment: Experiment, path: Path, scale: float | None, timers: str | None
) -> Outcome:
    """Needs root; `scale` and `timers` outrank the experiment's. What `path` holds is kept; the
    plot shows it beside what is simulated.

    Raises BadInput if `path` was measured otherwise, Failed if a size cannot be.
    """
    points = _measure(experiment, path, scale, timers)
    drawn = replace(experiment, data={**experiment.data, "lab": str(path.absolute())})
    simulated = run_curves(drawn, WORKERS, None)
    rows = [
        experiment.row(
            f"lab, {point['label']}: {what} at {format_size(point['size'])}",
            None,
            ours,
        )
        for point in points
        for what, ours in (
            ("MB/s", point.get("goodput_mb_s")),
            ("frames dropped", float(point["dropped"])),
        )
    ]
    return Outcome([*simulated.rows, *rows], simulated.draw)
