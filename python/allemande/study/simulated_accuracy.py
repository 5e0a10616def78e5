"""Predictions against the simulator, whose times are exact: ours at sizes and numbers of hosts that
were held out, and the first choice on networks drawn at random.

What was held out is predicted, and simulated as `allemande predict --simulate` does. Where ranks
enter together, the truth and what is simulated are the same run: then it says only that the way was
run. Where they enter apart, the seeds are others than those of the simulated rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from allemande.errors import AllemandeError
from allemande.model.predict import Predictions, Row, predict
from allemande.model.profile import Sample
from allemande.model.samples import profile_of, simulated_candidate
from allemande.model.simulated_rows import simulate_best
from allemande.simulation.case import make_case, run_case
from allemande.study.accuracy import Choice, Comparison, Summary, Target, summarise
from allemande.study.random_networks import random_network
from allemande.study.random_sites import random_sites, random_size
from allemande.topology import Cluster, load_cluster, tune

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
# Networks of two leaves, and the same with three and four, by number of hosts.
CONTINUED = (
    ("tam-8x2", {24: "tam-8x3", 32: "tam-8x4"}),
    ("tam-8x2-u412", {24: "tam-8x3-u412", 32: "tam-8x4-u412"}),
)
CONTINUED_SIZES = (1000, 20_000, 80_000)
APART_US = 50  # by which ranks of the lab enter an exchange late, on average (docs/adr/0060)
APART_SEEDS = (11, 12, 13)
SIMULATED_WORST = Target(worst=0.10)

CHOICE_SIZES = ((64, 200, 500), (1000, 3000, 6000), (10_000, 30_000, 60_000))
EVENTS_MAX = 30_000_000
TIME_MAX_S = 1e5

Watcher = Callable[[str], None]


@cache
def _cluster(name: str) -> Cluster:
    return load_cluster(name)


def _simulated(
    cluster: Cluster,
    algorithm: str,
    size: int,
    members: Sequence[str],
    time_max_s: float = TIME_MAX_S,
    tuned_for: Cluster | None = None,
    **options: Any,
) -> float:
    """`tuned_for`: what window and grain are made for; None: the cluster itself.

    Raises AllemandeError where it takes longer than `time_max_s`.
    """
    if tuned_for is not None:
        tuning = tune(tuned_for, list(members))
        options |= {"window_packets": tuning.window_packets, "grain_packets": tuning.grain_packets}
    case = make_case(
        cluster,
        algorithm,
        size,
        hosts=list(members),
        events_max=EVENTS_MAX,
        time_max_s=time_max_s,
        **options,
    )
    return run_case(case).time_s


@dataclass(frozen=True)
class HeldOut:
    """An exchange of which there was no sample: what it took, and what was said of it."""

    cluster: str
    algorithm: str
    together_s: float
    apart_s: tuple[float, ...]  # ranks enter apart, one run for each of APART_SEEDS
    predicted: Row
    simulated: Row

    def compared(self, row: Row, apart: bool) -> list[Comparison]:
        what = f"{self.cluster} {self.algorithm}"
        truths = self.apart_s if apart else (self.together_s,)
        return [Comparison(what, time_s, row) for time_s in truths]


def _samples(cluster: Cluster, hosts: Sequence[int]) -> list[Sample]:
    """Of all ways that are held out elsewhere, among the first so many hosts."""
    names = tuple(host.name for host in cluster.hosts)
    return [
        Sample(
            simulated_candidate(algorithm),
            size,
            (_simulated(cluster, algorithm, size, names[:count]),),
            names[:count],
        )
        for algorithm in (*SHUFFLES, *ROUNDS)
        for count in hosts
        for size in KNOWN_SIZES
    ]


def _held_out(name: str) -> Iterator[HeldOut]:
    """One cluster: samples of some hosts and sizes, predictions of others."""
    cluster = _cluster(name)
    hosts = tuple(host.name for host in cluster.hosts)
    known = sorted({count for count in (*KNOWN_HOSTS, len(hosts)) if count <= len(hosts)})
    algorithms = (*SHUFFLES, *ROUNDS)
    samples = _samples(cluster, known)
    profile = profile_of(cluster, samples, simulated=True)
    for count in sorted({*known, *(held for held in HELD_OUT_HOSTS if held < len(hosts))}):
        members = hosts[:count]
        predictions = Predictions(profile, members)
        for size in HELD_OUT_SIZES:
            rows = predictions.rows(size)
            again = simulate_best(profile, members, rows, every_way=True)
            predicted = {row.candidate: row for row in rows}
            simulated = {row.candidate: row for row in again}
            for algorithm in algorithms:
                candidate = simulated_candidate(algorithm)
                apart = [
                    _simulated(cluster, algorithm, size, members, seed=seed, jitter_us=APART_US)
                    for seed in APART_SEEDS
                ]
                yield HeldOut(
                    cluster=name,
                    algorithm=algorithm,
                    together_s=_simulated(cluster, algorithm, size, members),
                    apart_s=tuple(apart),
                    predicted=predicted[candidate],
                    simulated=simulated[candidate],
                )


def held_out(
    tell: Watcher, clusters: Sequence[str] = TEN_CLUSTERS
) -> tuple[list[Comparison], list[Summary]]:
    """Ours on the ten clusters, at host counts and sizes of which there was no sample.

    The comparisons are those of the predictions, ranks entering together.
    """
    found: list[HeldOut] = []
    for name in clusters:
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
            if one.algorithm in algorithms and (one.predicted.size >= LARGE) == large
        ]
        for apart in (False, True):
            how = "apart" if apart else "together"
            predicted = [one for each in own for one in each.compared(each.predicted, apart)]
            simulated = [one for each in own for one in each.compared(each.simulated, apart)]
            summaries += [
                summarise(f"{what}, {how}: predicted", predicted, Target() if apart else target),
                summarise(
                    f"{what}, {how}: simulated", simulated, Target() if apart else SIMULATED_WORST
                ),
            ]
    compared = [one for each in found for one in each.compared(each.predicted, apart=False)]
    return compared, summaries


def continued(tell: Watcher) -> list[Summary]:
    """Ours on more leaves than were sampled: the network is continued as it is."""
    found: list[Comparison] = []
    for small, large in CONTINUED:
        tell(f"simulating {small} and what continues it")
        profile = profile_of(
            _cluster(small), _samples(_cluster(small), KNOWN_HOSTS), simulated=True
        )
        for count, name in large.items():
            cluster = _cluster(name)
            hosts = [host.name for host in cluster.hosts]
            for size in CONTINUED_SIZES:
                rows = {row.candidate: row for row in predict(profile, [count], [size])}
                for algorithm in (*SHUFFLES, *ROUNDS):
                    real = _simulated(cluster, algorithm, size, hosts)
                    row = rows[simulated_candidate(algorithm)]
                    found.append(Comparison(f"{name} {algorithm}", real, row))
    groups = (("shuffles", SHUFFLES), *((one, (one,)) for one in ROUNDS))
    return [
        summarise(
            f"{what}, more leaves than sampled",
            [one for one in found if one.what.split()[1] in algorithms],
            Target(),
        )
        for what, algorithms in groups
    ]


def _choice_of(where: str, plan: Predictions, truth: Predictions, size: int) -> Choice:
    """The plan's first without a sample, with the window that follows from what the plan knows,
    against all ways of ours with that which follows from the network as it is."""
    cluster, hosts = truth.profile.cluster, list(truth.members)
    assert cluster is not None
    chosen = plan.rows(size)[0].way
    ways = {way.key: way.algorithm for way in plan.own if way.key == chosen}
    ways |= {way.key: way.algorithm for way in truth.own if way.takes(size)}

    def seconds(key: str, longest: float, tuned_for: Cluster | None) -> float:
        try:
            return _simulated(cluster, ways[key], size, hosts, longest, tuned_for)
        except AllemandeError:
            return math.inf  # it collapses, or takes longer than the best so far

    taken_s = seconds(chosen, TIME_MAX_S, plan.profile.cluster)
    best, best_s = chosen, taken_s
    for key in ways:
        if key == chosen and plan is truth:
            continue
        time_s = seconds(key, min(best_s, TIME_MAX_S), None)
        if time_s < best_s:
            best, best_s = key, time_s
    return Choice(where, size, chosen, best, taken_s / best_s - 1)


def _predictions(cluster: Cluster) -> Predictions:
    hosts = [host.name for host in cluster.hosts]
    return Predictions(profile_of(cluster, simulated=True), hosts)


def first_choices(
    networks: int, tell: Watcher, known_as: Callable[[Cluster], Predictions] | None = None
) -> list[Choice]:
    """The first of the plan of each network, without a sample of any way; sizes small, middle and
    large. `known_as`: what the plan knows of a network; None: all that its file says."""
    found: list[Choice] = []
    for seed in range(networks):
        tell(f"choosing on network {seed + 1} of {networks}")
        cluster = random_network(seed)
        truth = _predictions(cluster)
        plan = truth if known_as is None else known_as(cluster)
        for index, sizes in enumerate(CHOICE_SIZES):
            size = sizes[(seed + index) % len(sizes)]
            found.append(_choice_of(f"network {seed}", plan, truth, size))
    return found


def first_choices_between_sites(networks: int, tell: Watcher) -> list[Choice]:
    """The same among several sites, one size for each network."""
    found: list[Choice] = []
    for seed in range(networks):
        tell(f"choosing on network {seed + 1} of {networks} with sites")
        truth = _predictions(random_sites(seed))
        found.append(_choice_of(f"network {seed}", truth, truth, random_size(seed)))
    return found
