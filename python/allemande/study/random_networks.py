"""Networks drawn at random, to hold predictions against the simulator on: trees of one or two
levels, with rates, queues, latencies and switches of all kinds that a cluster file knows."""

from __future__ import annotations

import random

from allemande.topology import Cluster, parse_cluster

RATES_MBIT_S = (100, 1000, 10_000)
HOSTS_MAX = 40


def _switch(name: str, draw: random.Random) -> str:
    architecture = draw.choice(("output", "input", "shared"))
    switching = draw.choice(("store-and-forward", "cut-through"))
    pool = f"buffer_packets = {draw.randrange(200, 1001)}\n" if architecture == "shared" else ""
    return (
        f'[[switch]]\nname = "{name}"\narchitecture = "{architecture}"\n'
        f'switching = "{switching}"\n{pool}\n'
    )


def random_network(seed: int) -> Cluster:
    """8 to 40 hosts below one leaf switch, or below 2 to 5 under a core; the same for a seed.

    Uplinks carry from a quarter to four times what the hosts of a full leaf send.
    """
    draw = random.Random(seed)
    leaves = draw.choice((1, 2, 2, 3, 4, 5))
    per_leaf = draw.randrange(8, 25) if leaves == 1 else draw.randrange(4, HOSTS_MAX // leaves + 1)
    sizes = [per_leaf] * leaves
    if leaves > 1 and draw.random() < 0.3:
        sizes[-1] = draw.randrange(2, per_leaf + 1)
    rate = draw.choice(RATES_MBIT_S)
    queue = draw.choice((10, 20, 43, 100, 250))
    latency = draw.choice((0, 0.5, 2, 10)) * 100 / rate
    text = f'format = 1\nname = "random-{seed}"\n\n' + _switch(f"leaf[0-{leaves - 1}]", draw)
    text += f'[[host]]\nname = "h[0-{sum(sizes) - 1}]"\n\n'
    first = 0
    for leaf, hosts in enumerate(sizes):
        text += (
            f'[[link]]\nfrom = "h[{first}-{first + hosts - 1}]"\nto = "leaf{leaf}"\n'
            f"rate_mbit_s = {rate}\nlatency_us = {latency}\nqueue_down_packets = {queue}\n\n"
        )
        first += hosts
    if leaves > 1:
        uplink = rate * per_leaf * draw.choice((0.25, 0.5, 0.7, 1, 1.5, 4))
        text += _switch("core", draw)
        text += (
            f'[[link]]\nfrom = "leaf[0-{leaves - 1}]"\nto = "core"\nrate_mbit_s = {uplink}\n'
            f"latency_us = {latency}\nqueue_up_packets = {draw.choice((20, 45, 100))}\n"
            f"queue_down_packets = {draw.choice((45, 100, 820))}\n"
        )
    return parse_cluster(text, f"random network {seed}")
