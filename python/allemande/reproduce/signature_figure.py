"""A contention signature fitted at one number of hosts, held against all others (003 Figures 2-4).

hosts: numbers of them; sample: the one fitted; sizes: bytes; shown: those drawn. alpha and beta
come from an exchange of two hosts. Times are simulated (algorithm; options: of the simulator), or
they are those of a file measured in the lab (lab, lab_times.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter

from allemande.model.profile import Sample
from allemande.model.signature_fit import (
    PointToPoint,
    SignatureFit,
    fit_signature,
    proposition_1,
    slowdown,
)
from allemande.plot_look import COLOURS, MARKERS, save, share_legend, styled_canvas
from allemande.quantities import format_seconds, format_size
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.lab_times import PAIR, KeptTimes, Times, read_times
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases
from allemande.topology import Cluster


@dataclass(frozen=True)
class _Found:
    """Times, how they were come by, and the signature of them."""

    times: Times
    fit: SignatureFit
    how: str = "simulated"

    def error(self, hosts: int, size: int) -> float:
        """The relative error of the prediction; above 0: too long."""
        return self.fit.seconds(hosts, size) / self.times[hosts, size] - 1


def _simulate(experiment: Experiment, cluster: Cluster, workers: int, watcher: Watcher) -> Times:
    data = experiment.data
    names = [host.name for host in cluster.hosts]
    points = [(count, size) for count in (PAIR, *data["hosts"]) for size in data["sizes"]]
    cases = [
        Case(
            cluster,
            data["algorithm"],
            size,
            "packet",
            {**data.get("options", {}), "hosts": names[:count]},
        )
        for count, size in points
    ]
    results = run_cases(cases, workers, watcher)
    return {point: result.time_s for point, result in zip(points, results, strict=True)}


def _fit(experiment: Experiment, times: Times) -> SignatureFit:
    data = experiment.data
    small, large = min(data["sizes"]), max(data["sizes"])
    beta = (times[PAIR, large] - times[PAIR, small]) / (large - small)
    link = PointToPoint(max(0.0, times[PAIR, small] - beta * small), beta)
    count = int(data["sample"])
    members = tuple(f"h{i}" for i in range(count))
    samples = [Sample("direct", s, (times[count, s],), members) for s in data["sizes"]]
    return fit_signature(experiment.figure, samples, link)


def run_signature(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    if "lab" in experiment.data:
        return signature_of_lab(experiment, read_times(experiment.folder / experiment.data["lab"]))
    cluster = find_experiment_cluster(experiment, experiment.data["cluster"])
    times = _simulate(experiment, cluster, workers, watcher)
    found = _Found(times, _fit(experiment, times))
    return _outcome(experiment, found)


def signature_of_lab(experiment: Experiment, kept: KeptTimes) -> Outcome:
    """The figure of what was measured."""
    found = _Found(kept.times, _fit(experiment, kept.times), "measured")
    timeouts = experiment.row("points with a TCP time-out, part of all", None, kept.with_timeouts)
    outcome = _outcome(experiment, found)
    return Outcome([*outcome.rows, timeouts], outcome.draw)


def _outcome(experiment: Experiment, found: _Found) -> Outcome:
    return Outcome(_rows_of(experiment, found), lambda kind: _draw(experiment, found, kind))


def _worst(experiment: Experiment, value: Callable[[int, int], float]) -> float:
    """The largest value for hosts from `judged_from` on and sizes from M on."""
    data = experiment.data
    return max(
        abs(value(count, size))
        for count in data["hosts"]
        for size in data["sizes"]
        if count >= data["judged_from"] and size >= data["judged_bytes"]
    )


def _rows_of(experiment: Experiment, found: _Found) -> list[Row]:
    published = experiment.data["published"]
    fit, link = found.fit, found.fit.point_to_point
    ours = (
        ("gamma", "gamma", fit.gamma.value),
        ("delta, ms", "delta_ms", fit.delta.value * 1e3),
        ("M, bytes", "threshold", float(fit.threshold)),
        ("largest error, saturated", "error", _worst(experiment, found.error)),
        (
            "the same of Eq 1",
            "eq1_error",
            _worst(experiment, lambda p, m: proposition_1(link, p, m) / found.times[p, m] - 1),
        ),
        (
            "the same of Eq 3",
            "eq3_error",
            _worst(experiment, lambda p, m: slowdown(link, p, m) / found.times[p, m] - 1),
        ),
    )
    return [experiment.row(text, published.get(key), value) for text, key, value in ours]


def _draw_times(axes: Axes, experiment: Experiment, found: _Found, sizes: Sequence[int]) -> None:
    hosts = experiment.data["hosts"]
    for index, size in enumerate(sizes):
        axes.plot(
            hosts,
            [found.times[count, size] for count in hosts],
            color=COLOURS[index],
            marker=MARKERS[index],
            linestyle="none",
            label=f"{format_size(size)}, {found.how}",
        )
        axes.plot(
            hosts,
            [found.fit.seconds(count, size) for count in hosts],
            color=COLOURS[index],
            label=f"{format_size(size)}, Eq 5",
        )
    axes.axvline(experiment.data["sample"], color="#8a93a3", linestyle=":")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.set_xlabel("hosts; the dotted line is the sample")
    axes.set_title("Time of one exchange", loc="left", fontsize=11, fontweight="bold")


def _draw_errors(axes: Axes, experiment: Experiment, found: _Found, sizes: Sequence[int]) -> None:
    hosts = experiment.data["hosts"]
    for index, size in enumerate(sizes):
        axes.plot(
            hosts,
            [found.error(count, size) for count in hosts],
            color=COLOURS[index],
            marker=MARKERS[index],
        )
    axes.axhspan(-0.1, 0.1, color="#8a93a3", alpha=0.2, linewidth=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("hosts")
    axes.set_title("Error of the prediction", loc="left", fontsize=11, fontweight="bold")


def _draw(experiment: Experiment, found: _Found, kind: str) -> bytes:
    sizes = experiment.data["shown"]
    with styled_canvas(10, 4.6) as canvas:
        left, right = canvas.subplots(1, 2)
        _draw_times(left, experiment, found, sizes)
        _draw_errors(right, experiment, found, sizes)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
