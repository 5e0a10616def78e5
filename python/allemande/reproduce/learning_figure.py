"""004 Figures 14 and 15: a displaced ring that is gone through many times, so that weights of paths
are learnt.

kind = "learning"
cluster = "ib-144"
hosts = "h[0-23]"
size = 262144                   bytes of each message
step = 12                       looked at closely, from 1
visits = 40
whole_visits = 10               of the whole pattern, for the plot by steps
[options]                       of every run; number_order as well (number_order.py)
[[curve]]
label = "BSS(12,3)"
cluster = "other.toml"          instead of the common one
options = { paths = 12, path_policy = "bss", path_batch = 3 }
[[row]]
point = "BSS(12,3), best visit"
curve = "BSS(12,3)"
take = "best" | "first" | "last"   "last": the mean of the last 10 visits
published = 0.8
"""

from __future__ import annotations

from statistics import fmean

from allemande.errors import BadInput
from allemande.patterns import make_steps, parse_pattern
from allemande.plot_look import COLOURS, MARKERS, save, share_legend, styled_canvas
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.number_order import order_numbers
from allemande.simulation.case import Case
from allemande.simulation.parallel import run_cases
from allemande.topology import expand_hostlist

LAST = 10
# Parts of the link's bandwidth: by visit in the step shown, and by step in the last visit.
Line = tuple[list[float], list[float]]


def _take(parts: list[float], what: str) -> float:
    match what:
        case "best":
            return max(parts)
        case "first":
            return parts[0]
        case "last":
            return fmean(parts[-LAST:])
    raise BadInput(f"take {what!r} is unknown; expected best, first or last")


def run_learning(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    hosts, size = expand_hostlist(data["hosts"]), int(data["size"])
    step = make_steps(parse_pattern("drc"), len(hosts), size)[data["step"] - 1]
    cases, ideal_s = [], []
    for curve in data["curve"]:
        cluster = find_experiment_cluster(experiment, curve.get("cluster", data["cluster"]))
        ideal_s.append(cluster.framed_bytes(size) * 8e-6 / cluster.links[0].rate_up_mbit_s)
        options = order_numbers(cluster, {**data.get("options", {}), **curve["options"]})
        options["hosts"] = hosts
        for own in (
            {"steps": [step], "exchanges": data["visits"]},
            {"pattern": "drc", "exchanges": data["whole_visits"]},
        ):
            one = {**options, **own}
            cases.append(Case(cluster, "sync-shuffle", size, "packet", one))
    results = run_cases(cases, workers, watcher)
    lines: dict[str, Line] = {}
    for curve, best_s, single, whole in zip(
        data["curve"], ideal_s, results[0::2], results[1::2], strict=True
    ):
        last = (whole.visits_s or [whole.step_s or []])[-1]
        lines[curve["label"]] = (
            [best_s / seconds for seconds in single.raw["exchange_s"]],
            [best_s / seconds for seconds in last],
        )
    rows = [
        experiment.row(
            row["point"],
            row.get("published"),
            _take(lines[row["curve"]][0], row["take"]),
        )
        for row in data["row"]
    ]
    return Outcome(rows, lambda kind: _draw(experiment, lines, kind))


def _draw(experiment: Experiment, lines: dict[str, Line], kind: str) -> bytes:
    step, whole = experiment.data["step"], experiment.data["whole_visits"]
    with styled_canvas(10.4, 4.6) as canvas:
        by_visit, by_step = canvas.subplots(1, 2)
        for index, (label, parts) in enumerate(lines.items()):
            for axes, values in zip((by_visit, by_step), parts, strict=True):
                axes.plot(
                    range(1, len(values) + 1),
                    values,
                    color=COLOURS[index],
                    marker=MARKERS[index],
                    markersize=3.5,
                    linewidth=1.6,
                    label=label,
                )
        by_visit.set_xlabel(f"visits of step {step}")
        by_step.set_xlabel(f"step, visit {whole}")
        for axes in (by_visit, by_step):
            axes.set_ylabel("bandwidth of a host, of its link's")
            axes.set_ylim(0, 1.05)
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
