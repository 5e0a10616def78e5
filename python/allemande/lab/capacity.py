"""Whether this machine carries a lab: packets cost processor time, and a lab whose processors are
busy measures them instead of its links."""

from __future__ import annotations

import math

from allemande.errors import BadInput
from allemande.lab.network import Network

# One packet from one program through the emulator to another, and more the more hosts share the
# caches. Assumed, not measured.
PACKET_COST_US_ASSUMED = 12.0
PACKET_COST_US_PER_HOST_ASSUMED = 0.2
# The rest belongs to the programs that are being measured.
SHARE_FOR_PACKETS = 0.6


def _processors_needed(network: Network) -> float:
    """While every host sends at its links' full rate, in full frames, to all others alike."""
    hosts = set(network.hosts)
    frame_bits = 8 * (network.mtu_bytes + network.link_header_bytes)
    packets_per_s = sum(
        port.rate_mbit_s * 1e6 / frame_bits for port in network.ports() if port.node in hosts
    )
    cost_us = PACKET_COST_US_ASSUMED + PACKET_COST_US_PER_HOST_ASSUMED * len(network.hosts)
    return packets_per_s * cost_us * 1e-6


def _largest_scale(network: Network, processors: int) -> float:
    """That the processors carry, to two significant digits; `network` at full speed."""
    return round_down(SHARE_FOR_PACKETS * processors / _processors_needed(network))


def default_scale(network: Network, processors: int) -> float:
    """The largest up to full speed."""
    return min(1.0, _largest_scale(network, processors))


def check(network: Network, scale: float, processors: int) -> None:
    """Refuses what is more than that; `network` at full speed."""
    largest = _largest_scale(network, processors)
    if scale > largest:
        needed = _processors_needed(network) * scale
        raise BadInput(
            f"scale {scale:g} is more than this machine carries: {len(network.hosts)} hosts at "
            f"full rate keep {needed:.1f} processors busy with packets, "
            f"{SHARE_FOR_PACKETS * processors:.1f} of {processors} are to spare; use --scale "
            f"{largest:g} or less, or --force (figures taken then tell of the processors, not of "
            "the network)"
        )


def round_down(value: float) -> float:
    """To two significant digits, so that the scale named in a message is one that passes."""
    digits = 1 - math.floor(math.log10(value))
    factor = float(10**digits)
    return math.floor(value * factor) / factor
