"""One simulated exchange: what is asked, and what came out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from allemande import _core
from allemande.errors import BadInput
from allemande.flow_limit import Amount, bound_s, flow_limit
from allemande.matrix import Matrix, check_matrix, leaf_groups, make_matrix, mean_of, parse_matrix
from allemande.patterns import Steps, step_bytes
from allemande.simulation.networks import find_cluster
from allemande.simulation.steps import step_times, steps_bound_s, steps_limit_s, steps_of
from allemande.text_files import MIB, read_json
from allemande.topology import Cluster

Mode = Literal["packet", "flow"]
MODES: tuple[Mode, ...] = ("packet", "flow")
PORTS_SHOWN = 10
ROUTES_BYTES_MAX = 64 * MIB
JSON_KEYS = (
    "algorithm",
    "hosts",
    "size",
    "time_s",
    "limit_s",
    "fraction_of_limit",
    "latency_s",
    "bound_s",
    "fraction_of_bound",
    "dropped",
    "retransmitted",
    "packet_hops",
    "events",
    "cpu_s",
    "bottleneck",
)

SHARE_KEYS = ("fair_share_s", "together_fraction", "jobs", "background")

# Told the part that is done, 0 to 1.
Watcher = Callable[[float], None]


@dataclass(frozen=True)
class Case:
    """One run. A plain value: it goes to other processes, and the same case gives the same result.

    `options` are those of the simulator (docs/simulator.md), without algorithm and size. A `matrix`
    among them may also be a text as `allemande simulate --matrix` takes it; `size` is its mean. A
    `pattern` is a text as --pattern takes it; `exchanges` then counts how often all steps are made.
    `told` is what the job's own cluster file says, where that is not the network.
    """

    cluster: Cluster
    algorithm: str = "sync-shuffle"
    size: int = 65536
    mode: Mode = "packet"
    options: Mapping[str, Any] = field(default_factory=dict)
    told: Cluster | None = None


@dataclass(frozen=True)
class Port:
    """A directed link, seen at its sending end."""

    name: str
    bytes: int
    busy: float  # part of the exchange
    dropped: int = 0
    queue_high_water: int = 0  # packets, at the port or in the input buffer it leads to


@dataclass(frozen=True)
class Result:
    """What an exchange took; times are simulated, only cpu_s is this machine's."""

    algorithm: str
    hosts: int
    size: int
    time_s: float
    limit_s: float
    fraction_of_limit: float
    latency_s: float  # of the longest route between two hosts, by its links alone
    bound_s: float  # limit_s and the times before and after the busiest link; nothing takes less
    fraction_of_bound: float
    dropped: int
    retransmitted: int
    packet_hops: int
    events: int
    cpu_s: float
    bottleneck: str
    mode: str
    cluster: str
    rank_time_s: list[float]
    ports: list[Port]
    matrix: str | None = None  # None: the same to everybody
    host_bytes: float = 0  # payload a host receives from the others, on average
    pattern: str | None = None  # its steps follow one another; all times are those of all of them
    step_s: list[float] | None = None  # of each step, the mean over the visits
    visits_s: list[list[float]] | None = None  # of each visit, where there are several
    ranks_per_host: int = 1
    # Data packets by path number, those sent again included; None: not of packets.
    path_loads: list[int] | None = None
    # By level of the network, where it has sites: blocks that cross, by those that have to.
    crossings: dict[str, float] = field(default_factory=dict)
    shares: dict[str, Any] = field(default_factory=dict)  # SHARE_KEYS, where jobs or flows share
    tcp: dict[str, Any] = field(default_factory=dict)  # what TCP did, where it carried messages
    warnings: list[str] = field(default_factory=list)
    raw: dict[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def goodput_mb_s(self) -> float:
        """Payload each host receives per second, in the papers' unit."""
        return self.host_bytes / self.time_s / 1e6 if self.time_s else 0.0

    @property
    def delivered_bytes(self) -> int:
        """Payload that reached another host, all pairs together."""
        return round(self.host_bytes * self.hosts)

    @property
    def delivered_gbit_s(self) -> float:
        """001's metric: the bits of all pairs of sender and receiver, by the time they took."""
        return 8e-9 * self.delivered_bytes / self.time_s if self.time_s else 0.0

    def busiest_queues(self) -> list[Port]:
        """The ports that dropped most, then those that queued most."""
        waiting = [port for port in self.ports if port.dropped or port.queue_high_water > 1]
        waiting.sort(key=lambda port: (-port.dropped, -port.queue_high_water, port.name))
        return waiting[:PORTS_SHOWN]

    def as_json(self) -> dict[str, Any]:
        return {
            **{key: getattr(self, key) for key in JSON_KEYS},
            "mode": self.mode,
            "cluster": self.cluster,
            "ranks_per_host": self.ranks_per_host,
            "matrix": self.matrix,
            "goodput_mb_s": self.goodput_mb_s,
            "delivered_bytes": self.delivered_bytes,
            "delivered_gbit_s": self.delivered_gbit_s,
            **({"pattern": self.pattern, "step_s": self.step_s} if self.pattern else {}),
            **({"visits_s": self.visits_s} if self.visits_s else {}),
            **({"crossings": self.crossings} if self.crossings else {}),
            **self.shares,
            **({"tcp": self.tcp, "exchange_s": self.raw["exchange_s"]} if self.tcp else {}),
            "path_loads": self.path_loads,
            "warnings": self.warnings,
            "ports": [
                {
                    "name": port.name,
                    "bytes": port.bytes,
                    "busy": port.busy,
                    "dropped": port.dropped,
                    "queue_high_water": port.queue_high_water,
                }
                for port in self.ports
            ],
        }


def _host_names(case: Case) -> list[str]:
    hosts = case.options.get("hosts")
    if hosts is not None:
        return list(hosts)
    return [host.name for host in case.cluster.hosts]


def _is_generated(matrix: Any) -> bool:
    """Made to a mean; files and arrays have their own."""
    return isinstance(matrix, str) and not parse_matrix(matrix).has_own_sizes


def _ranks_per_host(case: Case) -> int:
    return int(case.options.get("ranks_per_host", 1))


def _host_bytes(case: Case, hosts: int, matrix: Matrix | None) -> float:
    """Payload a host receives from the others, on average."""
    on_host = _ranks_per_host(case)
    if matrix is None:
        return float(on_host**2 * (hosts - 1) * case.size)
    blocks = matrix.reshape(hosts, on_host, hosts, on_host).sum(axis=(1, 3))
    return float(blocks.sum() - np.trace(blocks)) / hosts


def _check_jobs(case: Case, matrix: Matrix | None) -> None:
    """Jobs that send nothing would go on for ever: simulated time stands still for each."""
    if case.options.get("jobs", 1) != 1 and not _host_bytes(case, len(_host_names(case)), matrix):
        raise BadInput(
            "several jobs need bytes that cross the network; expected a matrix with some"
        )


def _matrix_of(case: Case) -> Matrix | None:
    """The traffic of a case whose pairs differ, in rank order."""
    given = case.options.get("matrix")
    if given is None:
        return None
    hosts = case.options.get("hosts")
    on_host = _ranks_per_host(case)
    ranks = on_host * (len(case.cluster.hosts) if hosts is None else len(hosts))
    if isinstance(given, str):
        groups = [leaf for leaf in leaf_groups(case.cluster, hosts) for _ in range(on_host)]
        seed = int(case.options.get("seed", 1))
        return make_matrix(parse_matrix(given), ranks, case.size, seed, groups)
    matrix = np.asarray(given)
    if matrix.dtype.kind not in "iu":
        raise BadInput(f"matrix of {matrix.dtype}; expected whole numbers of bytes")
    check_matrix(matrix, ranks, "matrix")
    return matrix


def _traffic(case: Case, raw: dict[str, Any], matrix: Matrix | None) -> tuple[list[str], Amount]:
    """Who takes part, host by host or rank by rank, and what each sends to each."""
    hosts = list(raw["host_order"])
    on_host = _ranks_per_host(case)
    if matrix is None:
        return hosts, on_host**2 * int(raw["size"])
    return [host for host in hosts for _ in range(on_host)], matrix.tolist()


def _add_bounds(case: Case, raw: dict[str, Any], matrix: Matrix | None) -> None:
    """Where there are several paths, the limit is that of the flow over all of them."""
    cluster = case.cluster
    if not raw["limit_s"]:
        raw["bound_s"] = 0.0
        return
    hosts, amount = _traffic(case, raw, matrix)
    combines = bool(raw["combines"])
    if not cluster.is_tree():
        flow_s = flow_limit(cluster, hosts, amount, combines).seconds
        raw["limit_s"] = max(raw["limit_s"], flow_s)
    raw["bound_s"] = bound_s(cluster, hosts, amount, raw["limit_s"], combines)


def _add_parts(case: Case, raw: dict[str, Any]) -> None:
    raw["latency_s"] = case.cluster.latency_seconds(case.options.get("hosts"))
    for name in ("limit", "bound"):
        raw[f"fraction_of_{name}"] = raw[f"{name}_s"] / raw["time_s"] if raw["time_s"] else 0.0


def run_case(case: Case, watcher: Watcher | None = None) -> Result:
    """Runs one case in this process."""
    options = {"algorithm": case.algorithm, "size": case.size, **case.options}
    steps: Steps | None = None
    if case.options.get("pattern") is not None:
        names = _host_names(case)
        steps = steps_of(case.options, len(names), case.size, case.mode)
        options["steps"] = steps
        options["size"] = max(size for _, _, size in steps[0])
        del options["pattern"]
    matrix = None if steps else _matrix_of(case)
    if not steps:
        _check_jobs(case, matrix)
    if matrix is not None:
        if case.mode == "flow":
            raise BadInput("flow mode has the same size for every pair; simulate packets")
        options["matrix"] = matrix.tolist()
        if not _is_generated(case.options["matrix"]):
            options["size"] = mean_of(matrix)
    begin = time.process_time()
    if case.mode == "flow":
        cluster = case.cluster
        raw: dict[str, Any] = _core.simulate_flows(cluster, options, watcher)
        limit_s = flow_limit(cluster, None, case.size).seconds
        hosts = len(cluster.hosts)
        raw = {
            "algorithm": case.algorithm,
            "hosts": hosts,
            "size": case.size,
            "limit_s": limit_s,
            "bound_s": bound_s(cluster, None, case.size, limit_s),
            "dropped": 0,
            "retransmitted": 0,
            "packet_hops": 0,
            **raw,
        }
    else:
        raw = dict(_core.simulate(case.cluster, options, watcher, case.told))
        if not steps:
            _add_bounds(case, raw, matrix)
    timed: dict[str, Any] = {}
    if steps:
        times = step_times(raw, steps)
        raw["time_s"] = sum(times.mean_s)
        raw["limit_s"] = steps_limit_s(case.cluster, raw["host_order"], steps)
        raw["bound_s"] = steps_bound_s(case.cluster, raw["host_order"], steps)
        timed = {"pattern": case.options["pattern"], "step_s": times.mean_s}
        if len(times.visits_s) > 1:
            timed["visits_s"] = times.visits_s
    cpu_s = time.process_time() - begin
    _add_parts(case, raw)
    total_s = raw.get("simulated_s", raw["time_s"])
    ports = [
        Port(
            name=port["name"],
            bytes=int(port["bytes"]),
            busy=port["busy_s"] / total_s if total_s else 0.0,
            dropped=port.get("dropped", 0),
            queue_high_water=max(port.get("queue_high_water", 0), port.get("input_high_water", 0)),
        )
        for port in raw["ports"]
        if port["bytes"] or port.get("dropped")
    ]
    given = case.options.get("matrix")
    return Result(
        **{key: raw[key] for key in JSON_KEYS if key != "cpu_s"},
        matrix=given if given is None or isinstance(given, str) else "given",
        host_bytes=(
            step_bytes(steps) / raw["hosts"] if steps else _host_bytes(case, raw["hosts"], matrix)
        ),
        **timed,
        ranks_per_host=_ranks_per_host(case),
        cpu_s=cpu_s,
        mode=case.mode,
        cluster=case.cluster.name,
        rank_time_s=list(raw["rank_time_s"]),
        ports=ports,
        warnings=list(raw.get("warnings", [])),
        path_loads=list(raw["path_loads"]) if "path_loads" in raw else None,
        crossings=dict(raw.get("crossings", {})),
        tcp=dict(raw.get("tcp", {})),
        shares={key: raw[key] for key in SHARE_KEYS if key in raw},
        raw=raw,
    )


def _read_routes(path: str) -> Any:
    return read_json(path, "routes as JSON", ROUTES_BYTES_MAX)


def make_case(
    cluster: str | os.PathLike[str] | Cluster,
    algorithm: str = "sync-shuffle",
    size: int = 65536,
    mode: str = "packet",
    told: str | os.PathLike[str] | Cluster | None = None,
    **options: Any,
) -> Case:
    """A case on a cluster file, a ready-made or a generated cluster, or a Cluster."""
    if mode not in MODES:
        raise BadInput(f"mode {mode!r} is unknown; expected one of {', '.join(MODES)}")
    if told is not None and mode == "flow":
        raise BadInput("flow mode has no job that could be told anything; simulate packets")
    found = find_cluster(cluster)
    tables = options.get("lid_tables")
    if isinstance(tables, str):
        from allemande.formats.opensm_lfts import load_tables

        read = load_tables(found, tables)
        options |= {"lid_tables": read.ports, "lmc": read.lmc}
    routes = options.get("routes")
    if isinstance(routes, str):
        options |= {"routes": _read_routes(routes)}
    told_cluster = None if told is None else find_cluster(told)
    return Case(found, algorithm, size, mode, options, told_cluster)


def simulate(
    cluster: str | os.PathLike[str] | Cluster,
    algorithm: str = "sync-shuffle",
    size: int = 65536,
    mode: str = "packet",
    watcher: Watcher | None = None,
    told: str | os.PathLike[str] | Cluster | None = None,
    **options: Any,
) -> Result:
    """Simulates one complete exchange of `size` bytes per pair of hosts.

    >>> simulate("tam-8x4-u412", "sync-shuffle", 200_000).fraction_of_limit
    >>> simulate("tam-8x4", size=20_000, matrix="zipf:1.2", seed=3).fraction_of_limit

    `matrix` is a text as `allemande simulate --matrix` takes it, or rows of bytes: row r is what
    rank r sends.

    `told` is what the job's own cluster file says, where that is not the network.

    Options are the simulator's: permutation, contention_aware, omega, exchanges, window_packets,
    jitter_us, seed, faults and more (docs/simulator.md). Bad input raises errors.BadInput with the
    valid choices; a network that deadlocks raises errors.Failed with the ports that wait for each
    other.
    """
    return run_case(make_case(cluster, algorithm, size, mode, told, **options), watcher)
