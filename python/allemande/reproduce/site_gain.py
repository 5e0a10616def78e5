"""Exchanges between two sites beside the libraries' own, over message size (003 Figure 8).

stock, ours: candidates of `allemande bench`. Times are those of a file measured in the lab (lab,
site_times.py), part `grid`. The figure is about the first of `ours`; the others are drawn as well.
"""

from __future__ import annotations

from allemande.quantities import format_size
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.line_plot import draw_lines, dress_times
from allemande.reproduce.site_times import KeptSites, read_sites

PART = "grid"


def run_site_gain(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    return site_gain_of_lab(experiment, read_sites(experiment.folder / experiment.data["lab"]))


def short_name(candidate: str) -> str:
    """`local-group` of `allemande+openmpi:algorithm=local-group`."""
    return candidate.rpartition("algorithm=")[2]


def _rows(experiment: Experiment, kept: KeptSites) -> list[Row]:
    stock, (first, *_) = experiment.data["stock"], experiment.data["ours"]
    published = experiment.data.get("published", {})
    ours = kept.of(PART, first)
    rows = []
    ratios: list[float] = []
    slow: list[float] = []  # where the library's own is below 30 % of the bound
    for candidate in stock:
        for size, point in kept.of(PART, candidate).items():
            if size not in ours:
                continue
            ratio = ours[size].mean_s / point.mean_s
            ratios.append(ratio)
            slow += [ratio] if point.of_bound < 0.3 else []
            text = f"{short_name(first)} of the time of {candidate}, {format_size(size)}"
            rows.append(experiment.row(text, None, ratio))
    rows.append(experiment.row("the least of these", published.get("least"), min(ratios)))
    rows.append(
        experiment.row(
            "the most where the library is below 30 % of the bound",
            published.get("slow"),
            max(slow, default=None),
        )
    )
    for candidate in (*experiment.data["ours"], *stock):
        for size, point in kept.of(PART, candidate).items():
            text = f"{short_name(candidate)}, {format_size(size)}: part of the bound"
            rows.append(experiment.row(text, None, point.of_bound))
    rows.append(experiment.row("points that are void, part of all", None, kept.void))
    return rows


def site_gain_of_lab(experiment: Experiment, kept: KeptSites) -> Outcome:
    """The figure of what was measured."""
    names = (*experiment.data["stock"], *experiment.data["ours"])
    lines = [
        (short_name(name), list(found), [point.mean_s for point in found.values()])
        for name in names
        if (found := kept.of(PART, name))
    ]
    bounds = {p.size: p.limit_s + p.latency_s for p in kept.points if p.part == PART}
    lines.append(("bound", sorted(bounds), [bounds[size] for size in sorted(bounds)]))
    return Outcome(
        _rows(experiment, kept),
        lambda kind: draw_lines(experiment.title, lines, dress_times, kind, from_zero=False),
    )
