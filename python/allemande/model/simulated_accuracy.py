"""Predictions against the simulator, whose times are exact: ours at sizes and numbers of hosts that
were held out, and the first choice on networks drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from allemande import _core
from allemande.errors import AllemandeError
from allemande.model.accuracy import Comparison, Summary, Target, summarise
from allemande.model.predict import Predictions
from allemande.model.profile import Sample
from allemande.model.random_networks import random_network
from allemande.model.samples import profile_of, simulated_candidate
from allemande.simulation.case import make_case, run_case
from allemande.topology import Cluster, load_cluster

# Those of at least 16 hosts.
TEN_CLUSTERS = (
    *("tam-16x1", "tam-8x2", "tam-8x3", "tam-6x4", "tam-8x4"),
    *("tam-8x2-u412", "tam-8x3-u412", "tam-6x4-u412", "tam-8x4-u412", "oversubscribed-8x4"),
)
SHUFFLES = ("sync-shuffle", "group-shuffle")
ROUNDS = ("pairwise", "shift-exchange")
KNOWN_HOSTS = (8, 16)  # and all
KNOWN_SIZES = (100, 1000, 10_000, 40_000, 200_000)
HELD_OUT_HOSTS = (12, 20, 24, 28)
HELD_OUT_SIZES = (300, 700, 20_000, 80_000)
LARGE = 10_000  # bytes from which the stricter targets hold

CHOICE_SIZES = ((64, 200, 500), (1000, 3000, 6000), (10_000, 30_000, 60_000))
NEAR = 0.05  # of the best
FAR = 0.20
NEAR_PART = 0.95
EVENTS_MAX = 30_000_000

Watcher = Callable[[str], None]


@cache
def _cluster(name: str) -> Cluster:
    return load_cluster(name)


def _simulated(cluster: Cluster, algorithm: str, size: int, members: Sequence[str]) -> float:
    case = make_case(cluster, algorithm, size, hosts=list(members), events_max=EVENTS_MAX)
    return run_case(case).time_s


def _held_out(name: str) -> Iterator[Comparison]:
    """One cluster: samples of some hosts and sizes, predictions of others."""
    cluster = _cluster(name)
    hosts = tuple(host.name for host in cluster.hosts)
    known = sorted({count for count in (*KNOWN_HOSTS, len(hosts)) if count <= len(hosts)})
    algorithms = (*SHUFFLES, *ROUNDS)
    samples = [
        Sample(
            simulated_candidate(algorithm),
            size,
            (_simulated(cluster, algorithm, size, hosts[:count]),),
            hosts[:count],
        )
        for algorithm in algorithms
        for count in known
        for size in KNOWN_SIZES
    ]
    profile = profile_of(cluster, samples, simulated=True)
    for count in sorted({*known, *(held for held in HELD_OUT_HOSTS if held < len(hosts))}):
        predictions = Predictions(profile, hosts[:count])
        for size in HELD_OUT_SIZES:
            rows = {row.candidate: row for row in predictions.rows(size)}
            for algorithm in algorithms:
                real = _simulated(cluster, algorithm, size, hosts[:count])
                row = rows[simulated_candidate(algorithm)]
                yield Comparison(f"{name} {algorithm}", real, row)


def held_out(tell: Watcher) -> tuple[list[Comparison], list[Summary]]:
    """Ours on the ten clusters, at host counts and sizes of which there was no sample."""
    found: list[Comparison] = []
    for name in TEN_CLUSTERS:
        tell(f"simulating {name}")
        found += _held_out(name)
    targets = (
        ("shuffles, from 10 KB", SHUFFLES, True, Target(0.02, 0.06, 0.15, coverage=True)),
        ("pairwise and shift, from 10 KB", ROUNDS, True, Target(0.05, 0.15, 0.15, coverage=True)),
        ("all, up to 1 KB", (*SHUFFLES, *ROUNDS), False, Target(0.10, 0.30, coverage=True)),
    )
    summaries = []
    for what, algorithms, large, target in targets:
        own = [
            one
            for one in found
            if one.what.split()[1] in algorithms and (one.row.size >= LARGE) == large
        ]
        summaries.append(summarise(f"simulated: {what}", own, target))
    return found, summaries


@dataclass(frozen=True)
class Choice:
    """What was taken on a network at a size, and the best there was."""

    network: int  # seed
    size: int
    chosen: str
    best: str
    off: float  # time of the chosen over that of the best, less 1


def _choices(seed: int) -> Iterator[Choice]:
    cluster = random_network(seed)
    hosts = [host.name for host in cluster.hosts]
    predictions = Predictions(profile_of(cluster, simulated=True), hosts)
    for index, sizes in enumerate(CHOICE_SIZES):
        size = sizes[(seed + index) % len(sizes)]
        times = {}
        for way in _core.own_ways(cluster, hosts):
            try:
                times[way.key] = _simulated(cluster, way.algorithm, size, hosts)
            except AllemandeError:
                continue  # it collapses: not the best, and it may not be chosen
        chosen = predictions.rows(size)[0].way
        best = min(times, key=lambda key: times[key])
        off = times.get(chosen, float("inf")) / times[best] - 1
        yield Choice(seed, size, chosen, best, off)


def first_choices(networks: int, tell: Watcher) -> list[Choice]:
    """The first of the plan of each network, which is known as a prober finds it, without a sample
    of any way; sizes small, middle and large."""
    found: list[Choice] = []
    for seed in range(networks):
        tell(f"choosing on network {seed + 1} of {networks}")
        found += _choices(seed)
    return found


def choice_misses(found: Sequence[Choice]) -> list[str]:
    near = sum(one.off <= NEAR for one in found) / len(found)
    misses = []
    if near < NEAR_PART:
        misses.append(f"within {NEAR:.0%} of the best in {near:.1%}, at least {NEAR_PART:.0%}")
    far = [one for one in found if one.off > FAR]
    if far:
        misses.append(f"more than {FAR:.0%} off in {len(far)} of {len(found)}")
    return misses
