"""Experiments on a simulated cluster: deterministic, and free of the noise of processors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from allemande import _core
from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput
from allemande.framing import IP_UDP_BYTES
from allemande.probe.packet_flows import Experiment
from allemande.probe.record import Record
from allemande.simulation.networks import as_cluster_file
from allemande.text_files import CLUSTER_BYTES_MAX, read_text
from allemande.topology import parse_cluster


class SimulatedBed:
    """`options` are those of the simulator (docs/simulator.md) that tell of network and hosts."""

    def __init__(self, cluster: str | Path, options: Mapping[str, Any] | None = None) -> None:
        with as_cluster_file(str(cluster)) as name:
            path = find_cluster_file(name)
            text = read_text(path, "a cluster file", CLUSTER_BYTES_MAX)
        self._init(text, str(path), dict(options or {}))

    @classmethod
    def of_text(cls, text: str, options: Mapping[str, Any] | None = None) -> SimulatedBed:
        """A bed for the text of a cluster file."""
        bed = cls.__new__(cls)
        bed._init(text, "cluster", dict(options or {}))
        return bed

    def _init(self, text: str, name: str, options: dict[str, Any]) -> None:
        self._options = options
        self._seed = int(options.get("seed", 1))
        self._cluster = parse_cluster(text, name)
        if len(self._cluster.hosts) < 2:
            raise BadInput(f"{name}: one host alone measures no network; expected two or more")
        self._number = 0

    @property
    def hosts(self) -> Sequence[str]:
        """Names, in the order of the file."""
        return [host.name for host in self._cluster.hosts]

    @property
    def datagram_bytes(self) -> int:
        """What the MTU of the file allows."""
        return self._cluster.mtu_bytes - IP_UDP_BYTES

    @property
    def overhead_bytes(self) -> int:
        """As the simulator counts."""
        return IP_UDP_BYTES + self._cluster.link_header_bytes

    @property
    def simulated(self) -> bool:
        """Yes."""
        return True

    @property
    def time_scale(self) -> float:
        """The simulated network stands for itself."""
        return 1.0

    def run(self, experiment: Experiment) -> Record:
        """Each experiment is a simulation of its own, with a seed of its own."""
        self._number += 1
        options = {**self._options, "seed": self._seed * 1000 + self._number}
        logs = _core.simulate_probe(
            self._cluster,
            options,
            self._number,
            experiment.duration_ns(),
            [flow.as_tuple() for flow in experiment.flows],
            [watch.as_tuple() for watch in experiment.watches],
        )
        return Record(experiment, logs)
