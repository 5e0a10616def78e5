"""Networks of several sites drawn at random, to hold predictions against the simulator on."""

from __future__ import annotations

import random

from allemande.topology import Cluster, parse_cluster

SITES = (2, 4)
HOSTS = (4, 12)  # at a site
HOST_MBIT_S = (100, 1000, 10_000)
WAN_HOST_LINKS = (0.1, 10.0)  # what a site's link carries, in links of hosts
LATENCY_MS = (0.1, 50.0)  # from site to site, one way
SIZE_BYTES = (8, 256 << 10)
HOST_QUEUES = (20, 43, 100)
WAN_QUEUES = (100, 250, 820)


def between(draw: random.Random, bounds: tuple[float, float]) -> float:
    """Evenly by the logarithm."""
    low, high = bounds
    return float(low * (high / low) ** draw.random())


def random_size(seed: int) -> int:
    """Bytes per pair for the network of this seed."""
    return round(between(random.Random(f"size {seed}"), SIZE_BYTES))


def random_sites(seed: int) -> Cluster:
    """2 to 4 sites of 4 to 12 hosts, each site a switch with a link to one core; the same for a
    seed. In two of three networks the sites have different numbers of hosts."""
    draw = random.Random(seed)
    count = draw.randint(*SITES)
    sizes = [draw.randint(*HOSTS) for _ in range(count)]
    if draw.random() < 1 / 3:
        sizes = [sizes[0]] * count
    rate = draw.choice(HOST_MBIT_S)
    wan = rate * between(draw, WAN_HOST_LINKS)
    latency_us = 1000 * between(draw, LATENCY_MS) / 2
    host_queue, wan_queue = draw.choice(HOST_QUEUES), draw.choice(WAN_QUEUES)
    text = f'format = 1\nname = "random-sites-{seed}"\n\n[[switch]]\nname = "core"\n\n'
    for site in range(count):
        text += f'[[switch]]\nname = "leaf{site}"\nsite = "site{site}"\n\n'
    text += f'[[host]]\nname = "h[0-{sum(sizes) - 1}]"\n\n'
    first = 0
    for site, hosts in enumerate(sizes):
        text += (
            f'[[link]]\nfrom = "h[{first}-{first + hosts - 1}]"\nto = "leaf{site}"\n'
            f"rate_mbit_s = {rate}\nqueue_down_packets = {host_queue}\n\n"
        )
        first += hosts
    text += (
        f'[[link]]\nfrom = "leaf[0-{count - 1}]"\nto = "core"\nrate_mbit_s = {wan:.6g}\n'
        f"latency_us = {latency_us:.6g}\nqueue_up_packets = {wan_queue}\n"
        f"queue_down_packets = {wan_queue}\n"
    )
    return parse_cluster(text, f"random sites {seed}")
