"""The simulated cases behind the points of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.framing import payload_bytes
from allemande.reproduce.experiment import Experiment
from allemande.simulation.case import Case
from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster

CURVE_KEYS = {"label", "algorithm", "cluster", "values", "model", "seeds"}


def find_experiment_cluster(experiment: Experiment, name: str) -> Cluster:
    """A file beside the experiment, or whatever `allemande simulate` takes.

    Links between switches of a generated network have the rate that switches.toml gives them.
    """
    own = experiment.folder / name
    if own.is_file():
        return find_cluster(own)
    cluster = find_cluster(name)
    rate = experiment.data.get("link_mbit_s")
    if rate is None or Path(name).suffix == ".toml":
        return cluster
    return _with_link_rate(cluster, rate)


def _with_link_rate(cluster: Cluster, rate_mbit_s: float) -> Cluster:
    switches = {switch.name for switch in cluster.switches}
    return cluster.with_rates(
        [
            link.at_rate(rate_mbit_s) if {link.from_, link.to} <= switches else link
            for link in cluster.links
        ]
    )


def with_modules(
    experiment: Experiment, cluster: Cluster, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options, and the module of the experiment's switch on every link between switches."""
    module = experiment.data.get("module")
    if not module:
        return dict(options)
    switches = {switch.name for switch in cluster.switches}
    uplinks = [link for link in cluster.links if {link.from_, link.to} <= switches]
    modules = [{"from": link.from_, "to": link.to, **module} for link in uplinks]
    return {"modules": modules, **options} if modules else dict(options)


def cluster_name(experiment: Experiment, curve: dict[str, Any]) -> str:
    return str(curve.get("cluster") or experiment.data["cluster"])


def make_case(experiment: Experiment, curve: dict[str, Any], x: float, seed: int = 1) -> Case:
    data = experiment.data
    cluster = find_experiment_cluster(experiment, cluster_name(experiment, curve))
    own = {key: value for key, value in curve.items() if key not in CURVE_KEYS}
    options = {"seed": seed, **data.get("options", {}), **own}
    packets = options.pop("packets", None)
    size = options.pop("size", None)
    if packets is not None:
        size = packets * payload_bytes(cluster)
    match data["x"]:
        case "size":
            size = int(x)
        case "packets":
            size = int(x) * payload_bytes(cluster)
        case "omega":
            options["omega"] = int(x)
        case "hosts":
            options["hosts"] = [host.name for host in cluster.hosts[: int(x)]]
        case other:
            raise BadInput(
                f"{experiment.folder}: x {other!r} is unknown; expected size, packets, omega, hosts"
            )
    algorithm = curve.get("algorithm", "sync-shuffle")
    return Case(cluster, algorithm, int(size), "packet", with_modules(experiment, cluster, options))
