"""First choices on a network drawn at random, beside the best way that there is.

Three who choose are told apart. None has a sample of any way:

- the library, which does not simulate and takes the first of its ranking;
- `allemande plan --no-simulate`, which is more cautious with forecasts that are often too short;
- `allemande plan`, which simulates its best candidates. The truth is the same simulator here, so
  that its figure says that enough ways are run, not that a real network is met as well.

All ways are simulated with the windows of the library, ranks entering together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from allemande import _core
from allemande.errors import AllemandeError
from allemande.model.predict import Predictions, Row
from allemande.model.samples import profile_of
from allemande.model.simulated_rows import simulate_best
from allemande.simulation.case import Case, Result, run_case
from allemande.study.random_networks import random_network

SIZES = ((64, 200, 500), (1000, 3000, 6000), (10_000, 30_000, 60_000))
LIBRARY, RANKING, PLAN = "library", "plan --no-simulate", "plan"
CHOOSERS = (LIBRARY, RANKING, PLAN)
# The library combines smaller blocks, because processors pay for each packet. The simulator's hosts
# do not, and say nothing of such a choice.
LIBRARY_SIZE_MIN = 1000
SLOWEST = 4.0  # times the best so far; what takes longer is not looked at to its end


@dataclass(frozen=True)
class NetworkChoice:
    """Who chose which way on a network at a size, and what each way of ours takes there."""

    seed: int
    size: int
    chosen: dict[str, str]  # by who chose
    times_s: dict[str, float]  # by way; infinite: SLOWEST or longer
    dropped: dict[str, int]  # packets, by way

    @property
    def best(self) -> str:
        return min(self.times_s, key=lambda way: self.times_s[way])

    def off(self, chooser: str) -> float:
        """Time of the chosen way over that of the best, less 1."""
        best = self.times_s[self.best]
        if math.isinf(best):
            return math.inf  # no way was simulated to its end
        return self.times_s[self.chosen[chooser]] / best - 1


def counts_for(chooser: str, size: int) -> bool:
    """Whether the simulator's times judge the choice."""
    return chooser != LIBRARY or size >= LIBRARY_SIZE_MIN


def _sizes_of(seed: int) -> Sequence[int]:
    """One small, one middle and one large."""
    return [sizes[(seed + index) % len(sizes)] for index, sizes in enumerate(SIZES)]


class _Network:
    """All ways on it, each simulated once."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.cluster = random_network(seed)
        self.hosts = [host.name for host in self.cluster.hosts]
        self.predictions = Predictions(profile_of(self.cluster, simulated=True), self.hosts)

    def _simulated(self, algorithm: str, size: int, longest_s: float) -> Result | None:
        try:
            return run_case(Case(self.cluster, algorithm, size, options={"time_max_s": longest_s}))
        except AllemandeError:
            return None

    def choice(self, size: int) -> NetworkChoice:
        rows = self.predictions.rows(size)
        ways = {one.key: one.algorithm for one in self.predictions.own if one.takes(size)}
        keys = [row.way for row in rows if row.way in ways]
        times: dict[str, float] = {}
        dropped: dict[str, int] = {}
        for key in dict.fromkeys([*keys, *ways]):
            longest = min(times.values(), default=math.inf) * SLOWEST
            result = self._simulated(ways[key], size, min(longest, 1e5))
            times[key] = result.time_s if result else math.inf
            dropped[key] = result.dropped if result else -1
        by_algorithm = {algorithm: times[key] for key, algorithm in ways.items()}
        chosen = {
            LIBRARY: _core.usual_way(self.cluster, self.hosts, size),
            RANKING: rows[0].way,
            PLAN: self._simulating(rows, by_algorithm).way,
        }
        return NetworkChoice(self.seed, size, chosen, times, dropped)

    def _simulating(self, rows: Sequence[Row], times: dict[str, float]) -> Row:
        """The first when the best are simulated. Runs with jitter, which widen intervals but decide
        nothing where no jitter was measured, are left out."""

        def run(case: Case) -> float:
            return min(times[case.algorithm], 1e5)

        return simulate_best(self.predictions.profile, self.hosts, rows, run)[0]


def choices_on(seed: int) -> list[NetworkChoice]:
    """At three sizes."""
    network = _Network(seed)
    return [network.choice(size) for size in _sizes_of(seed)]
