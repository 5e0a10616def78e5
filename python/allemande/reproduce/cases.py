"""The simulated cases behind the points of an experiment."""

from __future__ import annotations

from typing import Any

from allemande.errors import BadInput
from allemande.framing import payload_bytes
from allemande.reproduce.experiment import Experiment
from allemande.simulation.case import Case
from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster

CURVE_KEYS = {"label", "algorithm", "cluster", "values", "model"}


def find_experiment_cluster(experiment: Experiment, name: str) -> Cluster:
    """A file beside the experiment, or whatever `allemande simulate` takes."""
    own = experiment.folder / name
    return find_cluster(own if own.is_file() else name)


def cluster_name(experiment: Experiment, curve: dict[str, Any]) -> str:
    return str(curve.get("cluster") or experiment.data["cluster"])


def make_case(experiment: Experiment, curve: dict[str, Any], x: float) -> Case:
    data = experiment.data
    cluster = find_experiment_cluster(experiment, cluster_name(experiment, curve))
    own = {key: value for key, value in curve.items() if key not in CURVE_KEYS}
    options = {**data.get("options", {}), **own}
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
    return Case(cluster, algorithm, int(size), "packet", options)
