"""001 Table 1 and Figure 10: what the designs of a cluster cost, and what their halves share.

measure = "price"                                              or "bisection", in links
unit = "dollars"
design = [{ cluster = "myrinet:1", published = 22200 }]        published: if it is printed
difference = [{ cluster = "myrinet:4", than = "myrinet:1" }]   of two designs; published likewise
"""

from __future__ import annotations

from allemande.errors import BadInput
from allemande.partition import bisection
from allemande.plot_look import COLOURS, save, share_legend, styled_canvas
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.topology import Cluster

MEASURES = ("price", "bisection")


def _measured(cluster: Cluster, measure: str) -> float:
    if measure == "bisection":
        return float(bisection(cluster).links)
    cost = cluster.cost()
    if cost is None:
        raise BadInput(f"cluster {cluster.name} has no prices; expected a [price] table")
    return cost.total


def run_designs(experiment: Experiment, _workers: int, watcher: Watcher) -> Outcome:
    """A row for each design, its price or its bisection in links, and for each difference."""
    data = experiment.data
    measure = data["measure"]
    if measure not in MEASURES:
        raise BadInput(f"measure {measure!r} is unknown; expected one of {', '.join(MEASURES)}")
    values: dict[str, float] = {}
    for number, design in enumerate(data["design"], 1):
        cluster = find_experiment_cluster(experiment, design["cluster"])
        values[design["cluster"]] = _measured(cluster, measure)
        if watcher is not None:
            watcher(number / len(data["design"]))
    designs = [
        experiment.row(
            f"{design['cluster']}: {data['unit']}",
            design.get("published"),
            values[design["cluster"]],
        )
        for design in data["design"]
    ]
    differences = [
        experiment.row(
            f"{one['cluster']}: {data['unit']} more than {one['than']}",
            one.get("published"),
            values[one["cluster"]] - values[one["than"]],
        )
        for one in data.get("difference", [])
    ]
    return Outcome(designs + differences, lambda kind: _draw(experiment, designs, kind))


def _draw(experiment: Experiment, rows: list[Row], kind: str) -> bytes:
    with styled_canvas(6.4, 4.0) as canvas:
        axes = canvas.subplots()
        names = [design["cluster"] for design in experiment.data["design"]]
        for index, (label, values) in enumerate(
            (
                ("published", [row.published or 0 for row in rows]),
                ("ours", [row.ours or 0 for row in rows]),
            )
        ):
            places = [place + 0.38 * (index - 0.5) for place in range(len(rows))]
            axes.bar(places, values, 0.36, color=COLOURS[index], label=label)
        axes.set_xticks(range(len(rows)), names, fontsize=8)
        axes.set_ylabel(experiment.data["unit"])
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
