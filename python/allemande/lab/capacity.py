"""Whether this machine carries a lab: packets cost processor time, and a lab whose processors are
busy measures them instead of its links."""

from __future__ import annotations

import math

from allemande.errors import BadInput
from allemande.topology import Cluster

# One packet from one program through the emulator to another, the programs' own part of it and
# their waits included: above 1.2 of 2 processors they are less than a fifth idle. Measured with 8
# and with 32 hosts (docs/adr/0054); 60 took no more than 32.
PACKET_COST_US = 24.0
PACKET_COST_US_PER_HOST = 0.75
HOSTS_MAX = 32
BLOCK_FRAMES = 1000
# Where no scale is given the processors shall have time to spare. What takes more than all of
# them is refused.
SHARE_BY_DEFAULT = 0.6


def _processors_needed(cluster: Cluster) -> float:
    """While all hosts exchange blocks of full frames as fast as the network lets them."""
    hosts = len(cluster.hosts)
    block = BLOCK_FRAMES * cluster.mtu_bytes
    frame_bytes = cluster.mtu_bytes + cluster.link_header_bytes
    frames = hosts * (hosts - 1) * cluster.framed_bytes(block) / frame_bytes
    cost_us = PACKET_COST_US + PACKET_COST_US_PER_HOST * min(hosts, HOSTS_MAX)
    seconds = cluster.limit_seconds(None, block)
    return frames * cost_us * 1e-6 / seconds if seconds > 0 else 0.0


def _largest_scale(needed: float, processors: float) -> float:
    """That so many processors carry, to two significant digits."""
    return round_down(processors / needed) if needed > 0 else math.inf


def default_scale(cluster: Cluster, processors: int) -> float:
    """The largest up to full speed; `cluster` is at full speed."""
    share = SHARE_BY_DEFAULT * processors
    return min(1.0, _largest_scale(_processors_needed(cluster), share))


def check(cluster: Cluster, scale: float, processors: int) -> None:
    """Refuses what is more than that; `cluster` is at full speed."""
    needed = _processors_needed(cluster)
    largest = _largest_scale(needed, processors)
    if scale > largest:
        raise BadInput(
            f"scale {scale:g} is more than this machine carries: {len(cluster.hosts)} hosts at "
            f"full rate keep {scale * needed:.1f} processors busy with packets, and there are "
            f"{processors}; use --scale {largest:g} or less, or `allemande lab up --force` "
            "(figures taken then tell of the processors, not of the network)"
        )


def round_down(value: float) -> float:
    """To two significant digits, so that the scale named in a message is one that passes."""
    digits = 1 - math.floor(math.log10(value))
    factor = float(10**digits)
    return math.floor(value * factor) / factor
