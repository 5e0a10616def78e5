"""Whether this machine carries a lab: packets cost processor time, and a lab whose processors are
busy measures them instead of its links."""

from __future__ import annotations

import math

from allemande.errors import BadInput
from allemande.lab.network import Network

# One packet from one program to another through an emulated switch or two costs 8 to 20
# microseconds; the more hosts share the caches, the more (measured on two processors).
PACKET_COST_US_MIN = 8.0
PACKET_COST_US_PER_HOST = 0.2
PACKET_COST_US_MAX = 20.0
# The rest belongs to the programs that are being measured.
SHARE_FOR_PACKETS = 0.6


def _processors_needed(network: Network) -> float:
    """While every host sends at its link's full rate, in full frames."""
    hosts = set(network.hosts)
    frame_bits = 8 * (network.mtu_bytes + network.link_header_bytes)
    packets_per_s = sum(
        port.rate_mbit_s * 1e6 / frame_bits for port in network.ports() if port.node in hosts
    )
    cost_us = min(
        PACKET_COST_US_MIN + PACKET_COST_US_PER_HOST * len(network.hosts), PACKET_COST_US_MAX
    )
    return packets_per_s * cost_us * 1e-6


def check(network: Network, scale: float, processors: int) -> None:
    needed = _processors_needed(network)
    budget = SHARE_FOR_PACKETS * processors
    if needed > budget:
        largest = scale * budget / needed
        raise BadInput(
            f"scale {scale:g} is more than this machine carries: {len(network.hosts)} hosts at "
            f"full rate keep {needed:.1f} processors busy with packets, {budget:.1f} of "
            f"{processors} are to spare; use --scale {round_down(largest):g} or less, or --force "
            "(figures taken then tell of the processors, not of the network)"
        )


def round_down(value: float) -> float:
    """To two significant digits, so that the scale named in a message is one that passes."""
    digits = 1 - math.floor(math.log10(value))
    factor = float(10**digits)
    return math.floor(value * factor) / factor
