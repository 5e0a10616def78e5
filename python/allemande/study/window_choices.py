"""The tuned window of a network beside the best one, both found with the simulator.

Chance matters where packets may be lost: of many windows one is always lucky. So the best window is
chosen with some seeds of the jitter, and it and the tuned one are timed with others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from allemande import _core
from allemande.errors import AllemandeError
from allemande.framing import payload_bytes
from allemande.study.random_trees import random_tree
from allemande.topology import Cluster, Tuning, tune

SIZES = (20_000, 100_000)
CHOOSING = (1, 2, 3)  # seeds
TIMING = (11, 12, 13, 14, 15, 16)
NEAR = 0.03  # of the best window's time
# Ranks enter an exchange late by so many frame times on average, and no more exactly than this.
JITTER_FRAMES = (1, 3, 10)
JITTER_US_MIN = 1.0
GROWTH = 1.25  # from window to window
SLOWER = 1.5  # than the best so far: such a window is not looked at to its end
SLOWEST = 3.0  # the same, of the two that are compared
# Train lengths, as src/plan/tune.cc has them.
TRAIN_US, TRAINS_PER_WINDOW, TRAIN_PACKETS_MAX = 12.112, 4, 44


@dataclass(frozen=True)
class WindowChoice:
    """The tuned window beside the best one, on one network at one size."""

    seed: int
    size: int
    tuned: int
    best: int
    off: float  # time with the tuned window over that with the best, less 1; infinite: collapsed
    allowed: bool  # is_allowed


def jitter_us(seed: int, tuning: Tuning) -> float:
    """How late ranks of this network enter an exchange, on average."""
    frames = random.Random(f"jitter {seed}").choice(JITTER_FRAMES)
    return max(JITTER_US_MIN, frames * tuning.packet_time_us)


def _grain(tuning: Tuning, window: int) -> int:
    by_rate = max(1, math.ceil(TRAIN_US / tuning.packet_time_us - 1e-9))
    queued = min(window, tuning.window_packets_max or window)
    return min(by_rate, max(1, queued // TRAINS_PER_WINDOW), TRAIN_PACKETS_MAX)


class _Network:
    """One exchange on it, with any window."""

    def __init__(self, cluster: Cluster, seed: int, size: int) -> None:
        self.cluster = cluster
        self.tuning = tune(cluster)
        self.size = size
        self.packets = math.ceil(size / payload_bytes(cluster)) * (len(cluster.hosts) - 1)
        self.jitter_us = jitter_us(seed, self.tuning)

    def mean_s(self, window: int, seeds: Sequence[int], longest_s: float) -> float:
        """`window` 0: as tuned. Infinite where an exchange takes longer than `longest_s`."""
        options = {
            "algorithm": "sync-shuffle",
            "size": self.size,
            "window_packets": window,
            "grain_packets": _grain(self.tuning, window) if window else 0,
            "jitter_us": self.jitter_us,
            "time_max_s": longest_s,
        }
        times = []
        for seed in seeds:
            try:
                times.append(
                    _core.simulate(self.cluster, {**options, "seed": seed}, None)["time_s"]
                )
            except AllemandeError:
                return math.inf
        return fmean(times)

    def best(self, tuned_s: float) -> int:
        """The best of all windows; 0: the tuned one."""
        window, best, best_s = 1, 0, tuned_s
        while True:
            time_s = self.mean_s(window, CHOOSING, SLOWER * best_s)
            if time_s < best_s:
                best, best_s = window, time_s
            if window >= self.packets:
                return best
            window = max(window + 1, round(GROWTH * window))


def is_allowed(tuning: Tuning) -> bool:
    """Eq 4 leaves room for what is under way, floor(B_L / nu) >= ceil(L / g), or none is lost."""
    most = tuning.window_packets_max
    return most == 0 or most >= tuning.window_packets_min


def window_choice(seed: int, size: int) -> WindowChoice:
    network = _Network(random_tree(seed), seed, size)
    tuning = network.tuning
    best = network.best(network.mean_s(0, CHOOSING, 1e4))
    off = 0.0
    if best:
        best_s = network.mean_s(best, TIMING, 1e4)
        off = network.mean_s(0, TIMING, SLOWEST * best_s) / best_s - 1
    tuned = tuning.window_packets
    return WindowChoice(seed, size, tuned, best or tuned, off, is_allowed(tuning))


def near_part(choices: Sequence[WindowChoice]) -> float:
    return fmean(one.off <= NEAR for one in choices)
