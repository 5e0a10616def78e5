"""Patterns whose steps differ: what each host gets in each step, and what one step asks of links.

kind = "steps"
cluster = "ib-144"
hosts = "h[0-23]"
pattern = "drc"
size = 1048576                  bytes of each message
step = 12                       looked at closely, from 1
block = "leaf0"                 the switch whose uplinks are counted there
[options]                       of every run
[[curve]]
label = "d-mod-k"
options = { routing = "d-mod-k" }
degrees = [4, 0]                published: flows on its busiest and its idlest uplink in this step
fraction = 0.25                 published: of a host link, what each host gets in this step
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from allemande.patterns import make_steps, parse_pattern
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.line_plot import draw_lines
from allemande.simulation.case import Case, Result
from allemande.simulation.parallel import run_cases
from allemande.topology import Cluster, expand_hostlist


@dataclass(frozen=True)
class Line:
    label: str
    curve: dict[str, Any]
    fractions: Sequence[float]  # of the best step's bandwidth, by step
    degrees: tuple[float, float]  # most and fewest flows on an uplink


def _degrees(result: Result, cluster: Cluster, block: str) -> tuple[float, float]:
    """Flows that leave a switch over each of its trunks, by the bytes that these carried: in units
    of what the link of one of its hosts did."""
    hosts = {host.name for host in cluster.hosts}
    trunks = [
        f"{block} -> {link.to if link.from_ == block else link.from_}"
        for link in cluster.links
        if block in (link.from_, link.to) and not {link.from_, link.to} & hosts
    ]
    sent = {port.name: port.bytes for port in result.ports}
    one = max(sent.get(f"{host} -> {block}", 0) for host in hosts)
    flows = [sent.get(name, 0) / one for name in trunks]
    return max(flows), min(flows)


def run_steps(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    cluster = find_experiment_cluster(experiment, data["cluster"])
    hosts = expand_hostlist(data["hosts"])
    size, text = int(data["size"]), str(data["pattern"])
    step = make_steps(parse_pattern(text), len(hosts), size)[data["step"] - 1]
    cases = []
    for curve in data["curve"]:
        options = {"hosts": hosts, **data.get("options", {}), **curve["options"]}
        for own in ({"pattern": text}, {"steps": [step]}):
            case = Case(cluster, "sync-shuffle", size, "packet", {**options, **own})
            cases.append(case)
    results = run_cases(cases, workers, watcher)
    lines = []
    for curve, whole, single in zip(data["curve"], results[0::2], results[1::2], strict=True):
        assert whole.step_s is not None
        best = min(whole.step_s)
        lines.append(
            Line(
                curve["label"],
                curve,
                [best / seconds for seconds in whole.step_s],
                _degrees(single, cluster, data["block"]),
            )
        )
    return Outcome(_rows_of(experiment, lines), lambda kind: _draw(experiment, lines, kind))


def _rows_of(experiment: Experiment, lines: Sequence[Line]) -> list[Row]:
    step = experiment.data["step"]
    rows = []
    for line in lines:
        most, fewest = line.curve.get("degrees", (None, None))
        published = line.curve.get("fraction")
        rows += [
            experiment.row(
                f"{line.label}: bandwidth at step {step}, of the best step",
                published,
                line.fractions[step - 1],
            ),
            experiment.row(
                f"{line.label}: bandwidth at the worst step, of the best step",
                published,
                min(line.fractions),
            ),
            experiment.row(
                f"{line.label}: flows on the busiest uplink at step {step}",
                most,
                line.degrees[0],
            ),
            experiment.row(
                f"{line.label}: flows on the idlest uplink at step {step}",
                fewest,
                line.degrees[1],
            ),
        ]
    return rows


def _draw(experiment: Experiment, lines: Sequence[Line], kind: str) -> bytes:
    def dress(axes: Axes) -> None:
        axes.set_xlabel("step: the distance to the receiver")
        axes.set_ylabel("bandwidth of a host, of the best step's")

    drawn = [(one.label, range(1, len(one.fractions) + 1), one.fractions) for one in lines]
    return draw_lines(experiment.title, drawn, dress, kind)
