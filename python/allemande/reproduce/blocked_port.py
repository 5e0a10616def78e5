"""000 Figures 3 and 4: how long a port may be blocked before packets are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allemande.framing import payload_bytes
from allemande.plot_look import line_style, save, share_legend, styled_canvas
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases


@dataclass(frozen=True)
class Variant:
    label: str
    blocks: Sequence[int]  # packet times
    dropped: Sequence[int]
    longest_queue: Sequence[int]  # at the blocked port

    def first_drop(self) -> int | None:
        return min(
            (block for block, count in zip(self.blocks, self.dropped, strict=True) if count),
            default=None,
        )


def run_blocked_port(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    cluster = find_experiment_cluster(experiment, data["cluster"])
    port = f"{data['fault']['from']} -> {data['fault']['to']}"
    cases = []
    for curve in data["curve"]:
        own = {key: value for key, value in curve.items() if key != "label"}
        for block in data["blocks"]:
            faults = [{**data["fault"], "duration_packets": float(block)}] if block else []
            options = {**data["options"], **own, "faults": faults}
            size = data["packets"] * payload_bytes(cluster)
            cases.append(Case(cluster, "sync-shuffle", size, "packet", options))
    results = iter(run_cases(cases, workers, watcher))
    variants = []
    for curve in data["curve"]:
        mine = [next(results) for _ in data["blocks"]]
        queues = [
            next((p.queue_high_water for p in result.ports if p.name == port), 0) for result in mine
        ]
        variants.append(
            Variant(curve["label"], data["blocks"], [result.dropped for result in mine], queues)
        )
    return Outcome(_rows_of(experiment, variants), lambda kind: _draw(experiment, variants, kind))


def _rows_of(experiment: Experiment, variants: Sequence[Variant]) -> list[Row]:
    block = experiment.data["block"]
    rows = []
    for variant in variants:
        at = list(variant.blocks).index(block)
        rows.append(
            experiment.row(
                f"{variant.label}: packets lost, blocked {block} packet times",
                None,
                variant.dropped[at],
            )
        )
        rows.append(
            experiment.row(f"{variant.label}: longest queue", None, variant.longest_queue[at])
        )
        rows.append(
            experiment.row(
                f"{variant.label}: shortest block that loses packets",
                None,
                variant.first_drop(),
            )
        )
    return rows


def _draw(experiment: Experiment, variants: Sequence[Variant], kind: str) -> bytes:
    with styled_canvas(10, 4.4) as canvas:
        left, right = canvas.subplots(1, 2)
        for axes, what, title in (
            (left, "longest_queue", "Longest queue at the port"),
            (right, "dropped", "Packets lost"),
        ):
            for index, variant in enumerate(variants):
                axes.plot(
                    variant.blocks,
                    getattr(variant, what),
                    **line_style(index),
                    label=variant.label,
                )
            axes.axvline(experiment.data["block"], color="#8a93a3", linewidth=1, linestyle="--")
            axes.set_xlabel("port blocked for, packet times")
            axes.set_ylabel("packets")
            axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
            axes.set_ylim(bottom=0)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
