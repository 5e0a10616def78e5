"""What the prober finds on simulated networks, held against what was published of real ones.

[[network]]: name; cluster; flows (pairs of hosts that exchange at once; else everything is probed);
options of the simulator. [[value]]: point, network, published, and `what`: a quantity of the prober
(`o_s`, `o_r`, `u_r`, `g_s`, `g_r`, `latency`, `latency_per_host`), the packets that a port holds
(`host_port`, `uplink`, `core_port`), how many leaves it finds (`leaves`), one of its answers about
switches (`leaf_architecture`, `core_switching` and their like; 1 if it is what `is` says, else 0),
or the most that flows across carry (`peak_mb_s`) and how many they are then (`peak_flows`). Times
are in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allemande.errors import BadInput, Failed
from allemande.model.profile import UNDETERMINED
from allemande.plot_look import COLOURS, save, styled_canvas
from allemande.probe import flow_sweep
from allemande.probe.estimate import Estimate
from allemande.probe.network_findings import LEAF, UDP, Findings
from allemande.probe.overload import PortFinding
from allemande.probe.probing import Probing, Wishes
from allemande.probe.queueing import HostLinks
from allemande.probe.simulated_bed import SimulatedBed
from allemande.reproduce.cases import find_experiment_cluster, with_modules
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher

REPEAT = 16
BITS_OF_MB = 8e6
MICRO = 1e6
PORTS = ("host_port", "uplink", "core_port")
ANSWERS = ("leaf_architecture", "leaf_switching", "core_architecture", "core_switching")


@dataclass(frozen=True)
class _Probed:
    """One network: everything, or flows across alone."""

    found: Findings | None
    across: flow_sweep.Curve

    def ports(self, what: str) -> Sequence[PortFinding]:
        if self.found is None:
            raise BadInput(f"{what}: only flows were asked for on this network")
        lists = (self.found.host_ports, self.found.uplinks, self.found.downlinks)
        return dict(zip(PORTS, lists, strict=True))[what]

    def answer(self, what: str) -> str:
        if self.found is None:
            raise BadInput(f"{what}: only flows were asked for on this network")
        return self.found.answers.get(what, UNDETERMINED)

    def value(self, value: Mapping[str, Any]) -> Estimate:
        """What a [[value]] asks for."""
        what = value["what"]
        if what in ANSWERS:
            return Estimate.of([float(self.answer(what) == value["is"])])
        return self.estimate(what)

    def estimate(self, what: str) -> Estimate:
        """Raises Failed where the prober has not found it."""
        if what == "leaves" and self.found is not None:
            return Estimate.of([len(self.found.groups.leaves or ())])
        if what in ("peak_mb_s", "peak_flows"):
            flows, bit_s = max(self.across, key=lambda point: point[1])
            return Estimate.of([bit_s / BITS_OF_MB if what == "peak_mb_s" else flows])
        if what in PORTS:
            sizes = [p.buffer_packets.value for p in self.ports(what) if p.buffer_packets]
            if not sizes:
                raise Failed(f"{what}: no such port could be overloaded")
            return Estimate.of(sizes)
        for one in self.found.quantities if self.found is not None else ():
            if (one.name, one.level, one.carrier) == (what, LEAF, UDP):
                e = one.estimate
                return Estimate(e.value * MICRO, e.low * MICRO, e.high * MICRO)
        raise Failed(f"{what}: the prober has not found it")


def _probe(experiment: Experiment, network: dict[str, Any]) -> _Probed:
    cluster = find_experiment_cluster(experiment, network["cluster"])
    options = {**experiment.data.get("options", {}), **network.get("options", {})}
    bed = SimulatedBed.of_text(cluster.to_toml(), with_modules(experiment, cluster, options))
    if "flows" not in network:
        found = Probing(bed, Wishes(repeat=REPEAT)).run()
        return _Probed(found, list(found.across))
    pairs = int(network["flows"])
    links = HostLinks([cluster.links[host].rate_up_mbit_s * 1e6 for host in range(2 * pairs)])
    across, _ = flow_sweep.measure(bed, range(pairs), range(pairs, 2 * pairs), links)
    return _Probed(None, across)


def run_probed(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    """`workers` is of no use: an experiment of the prober follows from the one before."""
    probed = {}
    networks = experiment.data["network"]
    for index, network in enumerate(networks):
        probed[network["name"]] = _probe(experiment, network)
        if watcher is not None:
            watcher((index + 1) / len(networks))
    values = experiment.data["value"]
    estimates = [probed[value["network"]].value(value) for value in values]
    rows = [
        experiment.row(value["point"], value.get("published"), estimate.value)
        for value, estimate in zip(values, estimates, strict=True)
    ]
    return Outcome(rows, lambda kind: _draw(experiment, rows, estimates, kind))


def _draw(
    experiment: Experiment, rows: Sequence[Row], estimates: Sequence[Estimate], kind: str
) -> bytes:
    """What was found over what was published, with the interval that holds 90 % of the samples."""
    shown = [(r, e) for r, e in zip(rows, estimates, strict=True) if r.published and r.ratio]
    with styled_canvas(8, 1.4 + 0.45 * len(shown)) as canvas:
        axes = canvas.subplots()
        for at, (row, estimate) in enumerate(shown):
            published = float(row.published or 1)
            ends = (min(estimate.low, estimate.value), max(estimate.high, estimate.value))
            axes.plot([one / published for one in ends], [at, at], color=COLOURS[0], linewidth=2)
            axes.plot([estimate.value / published], [at], color=COLOURS[0], marker="o")
        axes.axvline(1.0, color="#8a93a3", linestyle=":")
        axes.set_yticks(range(len(shown)), [row.point for row, _ in shown])
        axes.invert_yaxis()
        axes.set_xlabel("found / published")
        axes.set_title(experiment.title, loc="left", fontsize=11, fontweight="bold")
        return save(canvas, kind)
