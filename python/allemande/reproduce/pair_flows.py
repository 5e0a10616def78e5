"""000 Figure 6: all bandwidth of n flows between pairs of hosts, across the uplink and locally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from allemande.framing import payload_bytes
from allemande.plot_look import INK
from allemande.reproduce.cases import find_experiment_cluster, with_modules
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.line_plot import draw_lines
from allemande.simulation.case import Case, Result
from allemande.simulation.parallel import run_cases


@dataclass(frozen=True)
class Line:
    label: str
    flows: Sequence[int]
    mb_s: Sequence[float]  # all flows together


def _aggregate_mb_s(result: Result, flows: int) -> float:
    return flows * result.size / result.time_s / 1e6


def run_pair_flows(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    plan = []
    cases = []
    for curve in data["curve"]:
        cluster = find_experiment_cluster(experiment, curve["cluster"])
        half = len(cluster.hosts) // 2
        size = data["packets"] * payload_bytes(cluster)
        for flows in data["values"]:
            ends = [(f"h{i}", f"h{i + half}") for i in range(flows // 2)]
            pairs = [list(pair) for a, b in ends for pair in ((a, b), (b, a))]
            options = with_modules(experiment, cluster, {**data["options"], "pairs": pairs})
            plan.append((curve["label"], flows))
            cases.append(Case(cluster, "sync-shuffle", size, "packet", options))
    results = run_cases(cases, workers, watcher)
    lines = []
    for label in dict.fromkeys(label for label, _ in plan):
        mine = [
            (flows, _aggregate_mb_s(result, flows))
            for (name, flows), result in zip(plan, results, strict=True)
            if name == label
        ]
        lines.append(Line(label, [flows for flows, _ in mine], [value for _, value in mine]))
    return Outcome(_rows_of(experiment, lines), lambda kind: _draw(experiment, lines, kind))


def _rows_of(experiment: Experiment, lines: Sequence[Line]) -> list[Row]:
    across, local = lines
    peak = max(across.mb_s)
    at = across.flows[list(across.mb_s).index(peak)]
    each = local.mb_s[0] / local.flows[0]
    return [
        experiment.row(f"{across.label}: peak, MB/s", 103, peak),
        experiment.row(f"{across.label}: flows at the peak", 12, at),
        experiment.row(
            f"{across.label}: bandwidth at {across.flows[-1]} flows, of the peak",
            None,
            across.mb_s[-1] / peak,
        ),
        experiment.row(
            f"{local.label}: bandwidth at {local.flows[-1]} flows, of so many single flows",
            1,
            local.mb_s[-1] / (each * local.flows[-1]),
        ),
    ]


def _draw(experiment: Experiment, lines: Sequence[Line], kind: str) -> bytes:
    def dress(axes: Axes) -> None:
        axes.axhline(103, color=INK, linewidth=1.2, linestyle="--")
        axes.annotate("published peak: 103 MB/s", (lines[0].flows[0], 106), fontsize=8.5)
        axes.set_xticks(lines[0].flows)
        axes.set_xlabel("concurrent flows (each pair of hosts is two, one each way)")
        axes.set_ylabel("bandwidth of all flows, MB/s")

    drawn = [(one.label, one.flows, one.mb_s) for one in lines]
    return draw_lines(experiment.title, drawn, dress, kind)
