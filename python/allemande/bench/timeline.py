"""One exchange of each candidate, look by look: use of links, queues, drops, what TCP waited for.

Recorded apart from the figures, in the same lab: a launch of its own per candidate, while a program
in the lab looks at the switches' queues and at TCP's counters (lab.lookout). Shown is the exchange
of median length.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from allemande.bench.candidates import Candidate
from allemande.bench.job_plan import JobPlan
from allemande.bench.lab_bed import LabBed
from allemande.bench.records import SizeRecord
from allemande.bench.runner import Effort, Progress, Runner
from allemande.lab.lookout import Lookout, Looks
from allemande.lab.network import Network, Port
from allemande.lab.timers import Timers
from allemande.topology import Cluster

# Looks per limit of an exchange, and the bounds of their distance. Every 20 ms looking takes 1.5 %
# of a processor with 32 hosts, every 2 ms 8 % with 8 (docs/bench.md).
LOOKS_PER_LIMIT = 20
PERIOD_S_MIN, PERIOD_S_MAX = 0.002, 0.02
EFFORT = Effort(rounds=1, warmup=1, calls=3, calls_max=20, seconds=1.0)
BITS = 8


@dataclass(frozen=True)
class Level:
    """Links of one kind, in one direction: those that an exchange asks most of."""

    name: str
    ports: tuple[Port, ...]


@dataclass(frozen=True)
class Timeline:
    """`edges_s` are the looks, from the beginning of the call; the rest is between two of them."""

    candidate: str
    stock: bool
    library: str
    size: int
    seconds: float  # the call's
    calls: int  # of which this is the one of median length
    period_s: float
    level: str
    processor_part: float  # of one processor, for looking
    edges_s: tuple[float, ...]
    link_use: tuple[float, ...]  # of what the level's links carry
    queue_fill: tuple[float, ...]  # of the fullest queue, at the end of the interval
    queue_packets: tuple[int, ...]  # in the longest
    drops: tuple[int, ...]  # at all ports of switches
    # How TCP connections of all hosts noticed losses (inside.watch.TCP_COUNTERS).
    tcp: Mapping[str, tuple[int, ...]]

    @property
    def timers(self) -> tuple[int, ...]:
        """How many of TCP's ran out, of time-outs and of probes for a lost tail: connections that
        send nothing wait for one of them."""
        pairs = zip(self.tcp["timeouts"], self.tcp["loss_probes"], strict=True)
        return tuple(map(sum, pairs))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TimelineRequest:
    """`candidates`: names of some of those that are measured; all of them if there are none."""

    size: int
    candidates: tuple[str, ...] = ()


def period_for(limit_s: float) -> float:
    return min(max(limit_s / LOOKS_PER_LIMIT, PERIOD_S_MIN), PERIOD_S_MAX)


def _heights(network: Network) -> dict[str, int]:
    """For each node, the number of links to the nearest host."""
    neighbours: dict[str, list[str]] = {}
    for port in network.ports():
        neighbours.setdefault(port.node, []).append(port.peer)
    heights = dict.fromkeys(network.hosts, 0)
    queue = list(network.hosts)
    for node in queue:
        for peer in neighbours.get(node, ()):
            if peer not in heights:
                heights[peer] = heights[node] + 1
                queue.append(peer)
    return heights


def busiest_level(cluster: Cluster, network: Network, size: int) -> Level:
    """The busiest level; of two equal directions the one that leaves a switch."""
    ports = network.ports()
    hosts = set(network.hosts)
    labels = {port.label for port in ports}
    # Several links together have no port.
    limits = [one for one in cluster.level_limits(None, size) if one.busiest in labels]
    if not limits:
        return Level("host link", tuple(port for port in ports if port.node in hosts))
    most_s = max(limit.seconds for limit in limits)
    names = {limit.busiest: limit.level for limit in limits if limit.seconds == most_s}
    busiest = [port for port in ports if port.label in names]
    chosen = next((port for port in busiest if port.node not in hosts), busiest[0])
    heights = _heights(network)

    def kind(port: Port) -> tuple[int, int]:
        return heights[port.node], heights[port.peer]

    same = tuple(port for port in ports if kind(port) == kind(chosen))
    return Level(names[chosen.label], same)


def watched_ports(network: Network, level: Level) -> list[Port]:
    """Every port of a switch, and the level's."""
    hosts = set(network.hosts)
    return [port for port in network.ports() if port.node not in hosts or port in level.ports]


def make_timeline(
    candidate: Candidate,
    size: int,
    call: tuple[float, float],
    calls: int,
    period_s: float,
    level: Level,
    looks: Looks,
    hosts: Collection[str],
) -> Timeline:
    """`call`: when it began, on the clock of the looks, and how long it took."""
    begin_s, seconds = call
    pairs = list(pairwise(range(len(looks.times_s))))
    of_level = {port.index for port in level.ports}
    links = [row for row in looks.ports if row.port.index in of_level]
    switches = [row for row in looks.ports if row.port.node not in hosts]
    rate_bytes_s = sum(row.port.rate_mbit_s for row in links) * 1e6 / BITS

    def use(before: int, after: int) -> float:
        passed_s = looks.times_s[after] - looks.times_s[before]
        sent = sum(row.sent_bytes[after] - row.sent_bytes[before] for row in links)
        return sent / (rate_bytes_s * passed_s) if rate_bytes_s > 0 and passed_s > 0 else 0.0

    return Timeline(
        candidate=candidate.name,
        stock=candidate.stock,
        library=candidate.library,
        size=size,
        seconds=seconds,
        calls=calls,
        period_s=period_s,
        level=level.name,
        processor_part=looks.processor_part,
        edges_s=tuple(time_s - begin_s for time_s in looks.times_s),
        link_use=tuple(use(*pair) for pair in pairs),
        queue_fill=tuple(
            max((r.queued_packets[i] / max(r.port.queue_packets, 1) for r in switches), default=0.0)
            for _, i in pairs
        ),
        queue_packets=tuple(
            max((row.queued_packets[i] for row in switches), default=0) for _, i in pairs
        ),
        drops=tuple(
            sum(row.dropped_packets[j] - row.dropped_packets[i] for row in switches)
            for i, j in pairs
        ),
        tcp={
            name: tuple(counts[j] - counts[i] for i, j in pairs)
            for name, counts in looks.tcp.items()
        },
    )


def median_call(records: Sequence[SizeRecord]) -> tuple[tuple[float, float], int] | None:
    """A call that was made, when it began and how long it took; and how many there were."""
    calls = [
        (begin_s, seconds)
        for record in records
        for begin_s, seconds in zip(record.begins_s, record.seconds, strict=True)
    ]
    if not calls:
        return None
    return sorted(calls, key=lambda call: call[1])[(len(calls) - 1) // 2], len(calls)


def record_timelines(
    bed: LabBed,
    cluster: Cluster,
    plan: JobPlan,
    request: TimelineRequest,
    candidates: Sequence[Candidate],
    progress: Progress,
    timers: Timers,
    warn: Callable[[str], None],
) -> Iterator[Timeline]:
    """`cluster`: at the scale of the lab. Who makes no call has no timeline, and `warn` hears why.

    Void runs are not repeated: it is the network that is looked at.
    """
    size = request.size
    network = bed.lab.network
    level = busiest_level(cluster, network, size)
    ports = watched_ports(network, level)
    period_s = period_for(plan.limits_s[size])
    workloads = (replace(one, limits_s={size: one.limits_s[size]}) for one in plan.workloads)
    one_size = replace(plan, workloads=tuple(workloads))
    for candidate in candidates:
        if request.candidates and candidate.name not in request.candidates:
            continue
        runner = Runner(bed, [candidate], one_size, EFFORT, progress, timers)
        with Lookout(bed.lab, ports, period_s) as lookout:
            runner.run()
            found = median_call(runner.outcome.of(candidate, size))
            if found is None:
                reasons = runner.failures_of(candidate) or ["it made no call"]
                warn(f"{candidate.name}: no timeline: {reasons[-1]}")
                continue
            (begin_s, seconds), calls = found
            looks = lookout.take(begin_s, begin_s + seconds)
        yield make_timeline(
            candidate, size, (begin_s, seconds), calls, period_s, level, looks, network.hosts
        )
