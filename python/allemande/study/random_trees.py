"""Trees drawn at random, to hold windows against the simulator on: one, two or three levels, with
rates, latencies, queues and switches from one end of what a cluster file knows to the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from allemande.study.random_sites import between
from allemande.topology import Cluster, parse_cluster

RATES_MBIT_S = (10, 100, 1000, 10_000, 25_000, 100_000, 400_000)
HOSTS = (8, 24)
QUEUE_PACKETS = (3.0, 1000.0)
POOL_PACKETS = (20.0, 1000.0)
LATENCY_US = (0.01, 100.0)
UPLINK_PART = (0.25, 4.0)  # of what the hosts below a switch of mean size send
NO_LATENCY_PART = 0.25
UNEVEN_PART = 0.4
BACK_PRESSURE_PART = 0.1


@dataclass(frozen=True)
class _Links:
    """All links of one level."""

    rate_mbit_s: float
    latency_us: float
    queue_up: int
    queue_down: int

    @staticmethod
    def drawn(rate_mbit_s: float, latencies_us: tuple[float, float], draw: random.Random) -> _Links:
        latency_us = 0.0 if draw.random() < NO_LATENCY_PART else between(draw, latencies_us)
        up, down = (round(between(draw, QUEUE_PACKETS)) for _ in range(2))
        return _Links(rate_mbit_s, latency_us, up, down)

    def text(self, lower: str, upper: str) -> str:
        return (
            f'[[link]]\nfrom = "{lower}"\nto = "{upper}"\nrate_mbit_s = {self.rate_mbit_s:.6g}\n'
            f"latency_us = {self.latency_us:.4g}\nqueue_up_packets = {self.queue_up}\n"
            f"queue_down_packets = {self.queue_down}\n\n"
        )


def _parts(draw: random.Random, count: int, parts: int) -> list[int]:
    """`count` in so many parts, as even as can be, or any but none of them empty."""
    if draw.random() >= UNEVEN_PART:
        return [(count + part) // parts for part in range(parts)]
    cuts = sorted(draw.sample(range(1, count), parts - 1))
    return [end - begin for begin, end in zip([0, *cuts], [*cuts, count], strict=True)]


def _switches(names: str, waits: bool, draw: random.Random) -> str:
    architecture = draw.choice(("output", "input", "shared"))
    switching = draw.choice(("store-and-forward", "cut-through"))
    text = f'[[switch]]\nname = "{names}"\narchitecture = "{architecture}"\n'
    text += f'switching = "{switching}"\n'
    if architecture == "shared":
        text += f"buffer_packets = {round(between(draw, POOL_PACKETS))}\n"
    if waits:
        text += 'flow_control = "back-pressure"\n'
    return text + "\n"


def _level(names: Sequence[str], uppers: Sequence[str], sizes: Sequence[int], links: _Links) -> str:
    """Each of `uppers` has the next of `names` below it, as many as `sizes` say."""
    text, first = "", 0
    for upper, size in zip(uppers, sizes, strict=True):
        for name in names[first : first + size]:
            text += links.text(name, upper)
        first += size
    return text


def random_tree(seed: int, latencies_us: tuple[float, float] = LATENCY_US) -> Cluster:
    """8 to 24 hosts of one rate below one switch, below 2 to 6 leaf switches under a core, or with
    2 or 3 switches between; the same for a seed. Switches and links of one level are alike."""
    draw = random.Random(seed)
    levels = draw.choice((1, 2, 2, 3))
    count = draw.randint(*HOSTS)
    rate = float(draw.choice(RATES_MBIT_S))
    waits = draw.random() < BACK_PRESSURE_PART
    lower = [f"h{host}" for host in range(count)]
    text = f'format = 1\nname = "tree-{seed}"\n\n[[host]]\nname = "h[0-{count - 1}]"\n\n'
    names = {1: ("core",), 2: ("leaf", "core"), 3: ("leaf", "middle", "core")}[levels]
    for level, name in enumerate(names):
        upper_count = (
            1
            if level == levels - 1
            else draw.randint(2 ** (levels - 1 - level), min(6, len(lower) // 2))
        )
        uppers = [f"{name}{number}" for number in range(upper_count)]
        text += _switches(f"{name}[0-{upper_count - 1}]", waits, draw)
        text += _level(
            lower,
            uppers,
            _parts(draw, len(lower), upper_count),
            _Links.drawn(rate, latencies_us, draw),
        )
        rate *= len(lower) / upper_count * between(draw, UPLINK_PART)
        lower = uppers
    return parse_cluster(text, f"random tree {seed}")
