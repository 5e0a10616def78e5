"""Whether this machine carries a lab: packets cost processor time, and a lab whose processors are
busy measures them instead of its links."""

from __future__ import annotations

import math

from allemande.errors import BadInput
from allemande.lab.network import Network

# One packet from one program to another through up to three bridges costs 8 to 20 microseconds; the
# more hosts share the caches, the more (measured on two processors).
PACKET_COST_US_MIN = 8.0
PACKET_COST_US_PER_HOST = 0.2
PACKET_COST_US_MAX = 20.0
# Each bridge more costs 0.6 microseconds, and a router 0.3 more than a bridge (measured with 16
# hosts on two processors: 8.6 through one bridge, 9.9 through three, 9.2 through one router).
BRIDGES_COUNTED = 3
BRIDGE_COST_US = 0.6
ROUTER_EXTRA_US = 0.3
# A packet that the relay delays costs so much more (measured with 60 hosts on two processors).
RELAY_COST_US = 8.0
# The rest belongs to the programs that are being measured.
SHARE_FOR_PACKETS = 0.6


def _mean_switches(network: Network) -> float:
    """That a packet crosses, over all pairs of hosts (their first interfaces)."""
    routes = network.routes()
    first = {interface.host: interface for interface in network.interfaces()[::-1]}
    crossed = 0
    for index, receiver in enumerate(network.hosts):
        for sender in network.hosts:
            node = first[sender].egress.peer
            while sender != receiver and node != receiver:
                crossed += 1
                port = routes[node][index]
                assert port is not None  # a cluster is connected
                node = port.peer
    return crossed / max(1, len(network.hosts) * (len(network.hosts) - 1))


def processors_needed(network: Network, routed: bool = False) -> float:
    """While every host sends at its links' full rate, in full frames, to all others alike."""
    hosts = set(network.hosts)
    frame_bits = 8 * (network.mtu_bytes + network.link_header_bytes)
    packets_per_s = sum(
        port.rate_mbit_s * 1e6 / frame_bits for port in network.ports() if port.node in hosts
    )
    cost_us = min(
        PACKET_COST_US_MIN + PACKET_COST_US_PER_HOST * len(network.hosts), PACKET_COST_US_MAX
    )
    switches = _mean_switches(network)
    cost_us += BRIDGE_COST_US * max(0.0, switches - BRIDGES_COUNTED)
    if routed:
        cost_us += ROUTER_EXTRA_US * switches
    return packets_per_s * cost_us * 1e-6 + _relay_needs(network, packets_per_s, frame_bits)


def _relay_needs(network: Network, packets_per_s: float, frame_bits: int) -> float:
    """With all delayed links busy in both directions, unless hosts cannot send as much."""
    delayed = [network.links[number] for number in network.delayed_links()]
    rate_mbit_s = sum(link.rate_up_mbit_s + link.rate_down_mbit_s for link in delayed)
    return min(rate_mbit_s * 1e6 / frame_bits, packets_per_s * len(delayed)) * RELAY_COST_US * 1e-6


def check(network: Network, scale: float, processors: int, routed: bool = False) -> None:
    needed = processors_needed(network, routed)
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
