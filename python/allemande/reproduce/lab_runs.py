"""The same exchange over real links and real TCP: an experiment's `[in_lab]` table.

scale, against (candidates of `allemande bench`), rounds and calls; each `[[in_lab.cluster]]` is a
file with a label. A call counts as one with a time-out if it took the limit and TCP's minimum
time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.figures import Figure
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.errors import BadInput, Failed
from allemande.lab.timers import Timers, choose_timers
from allemande.plot_look import COLOURS, save, styled_canvas
from allemande.reproduce.experiment import Experiment, Outcome, Row
from allemande.reproduce.lab_curves import run_curves_in_lab
from allemande.reproduce.lab_times import KeptTimes, measure_times
from allemande.reproduce.signature_figure import signature_of_lab
from allemande.reproduce.site_example import site_example_of_lab
from allemande.reproduce.site_forecast import site_forecast_of_lab
from allemande.reproduce.site_gain import site_gain_of_lab
from allemande.reproduce.site_times import KeptSites, measure_sites
from allemande.reproduce.time_curve import time_curve_of_lab

# Kinds whose figure is drawn from a file of measured times.
KEPT: dict[str, Callable[[Experiment, KeptTimes], Outcome]] = {
    "signature": signature_of_lab,
    "time-curve": time_curve_of_lab,
}
# The same of times between sites.
KEPT_SITES: dict[str, Callable[[Experiment, KeptSites], Outcome]] = {
    "site-example": site_example_of_lab,
    "site-gain": site_gain_of_lab,
    "site-forecast": site_forecast_of_lab,
}


@dataclass(frozen=True)
class _Measured:
    """The candidates on one cluster; times are those of full speed."""

    label: str
    figures: Sequence[Figure]
    scale: float
    rto_min_s: float

    def times_s(self, figure: Figure) -> list[float]:
        return [seconds * self.scale for seconds in figure.times_s]

    def with_timeout(self, figure: Figure) -> float:
        """Part of the calls."""
        late = figure.limit_s * self.scale + self.rto_min_s
        times = self.times_s(figure)
        return sum(seconds >= late for seconds in times) / len(times)


def run_in_lab(
    experiment: Experiment, scale: float | None, timers: str | None, output: Path
) -> Outcome:
    """Needs root; `scale` and `timers` outrank the experiment's. Measured times that a figure is
    drawn from stay in the folder `output`."""
    data = experiment.data.get("in_lab")
    if data is None:
        raise BadInput(f"{experiment.name} is simulated only; --lab has nothing to run")
    path = output / f"{experiment.name}-{experiment.data.get('lab')}"
    if experiment.kind in KEPT:
        return KEPT[experiment.kind](experiment, measure_times(experiment, path, scale, timers))
    if experiment.kind in KEPT_SITES:
        kept = measure_sites(experiment, path, scale, timers)
        return KEPT_SITES[experiment.kind](experiment, kept)
    if experiment.kind == "curves":
        return run_curves_in_lab(experiment, path, scale, timers)
    scale = float(data["scale"]) if scale is None else scale
    times = choose_timers(timers, scale)
    measured = []
    for cluster in data["cluster"]:
        comparison = compare(
            Request(
                str(experiment.folder / cluster["file"]),
                [int(experiment.data["size"])],
                parse_candidates(data["against"]),
                Effort(rounds=int(data["rounds"]), calls=int(data["calls"]), seconds=0),
                scale=scale,
                timers=times.name,
            )
        )
        if comparison.failed:
            raise Failed("; ".join(comparison.warnings) or "a candidate could not be measured")
        measured.append(
            _Measured(cluster["label"], comparison.figures, scale, _rto_min_s(times, scale))
        )
    published = data.get("published", {})
    rows = [row for one in measured for row in _rows(experiment.figure, one, published)]
    return Outcome(rows, lambda kind: _draw(experiment, measured, kind))


def _rto_min_s(times: Timers, scale: float) -> float:
    return times.rto_min_ms / 1000 * scale


def _rows(name: str, measured: _Measured, published: dict[str, float]) -> list[Row]:
    rows = []
    for figure in measured.figures:
        stock = published.get("calls_with_timeout") if figure.stock else None
        where = f"lab, {measured.label}, {figure.candidate}"
        rows += [
            Row(name, f"{where}: calls with a time-out", stock, measured.with_timeout(figure)),
            Row(name, f"{where}: part of the limit", None, figure.fraction_of_limit),
            Row(
                name,
                f"{where}: slowest call, ms at full speed",
                None,
                max(measured.times_s(figure)) * 1000,
            ),
        ]
    return rows


def _calls(axes: Axes, measured: _Measured) -> None:
    names = [figure.candidate for figure in measured.figures]
    for position, figure in enumerate(measured.figures):
        times = [1000 * seconds for seconds in measured.times_s(figure)]
        heights = [position + (index % 5 - 2) / 16 for index in range(len(times))]
        colour = COLOURS[position % len(COLOURS)]
        axes.plot(times, heights, "o", color=colour, alpha=0.7, markersize=5)
    limit = 1000 * measured.figures[0].limit_s * measured.scale
    axes.axvline(limit, color="#1c2330", linewidth=1.2)
    axes.axvline(limit + 1000 * measured.rto_min_s, color="#8a93a3", linestyle="--")
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_title(measured.label, loc="left", fontsize=10)


def _draw(experiment: Experiment, measured: Sequence[_Measured], kind: str) -> bytes:
    """Every call a dot; the line is the limit, the dashed one where a time-out has passed."""
    with styled_canvas(10, 2.6 * len(measured) + 0.6) as canvas:
        rows = canvas.subplots(len(measured), 1, squeeze=False, sharex=True)
        for (axes,), one in zip(rows, measured, strict=True):
            _calls(axes, one)
        rows[-1][0].set_xlabel(
            "ms at full speed; line: the limit, dashed: the limit and a minimum time-out"
        )
        canvas.suptitle(
            f"{experiment.title}: every call in the lab", x=0.01, ha="left", fontweight="bold"
        )
        return save(canvas, kind)
