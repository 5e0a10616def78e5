"""The network that launchers use in a lab with long links: a device of each host, a bridge.

A job is launched over many round trips, which nobody measures. This network has no rates and no
latencies, and only launchers are told of it. It is a route and no subnet: who looks for a subnet
that all hosts share, as allemande does without a cluster file, must not find a way around the
links.
"""

from __future__ import annotations

import ipaddress

from allemande.errors import BadInput
from allemande.lab.network import HOST_DEVICE, Network

DEVICE = "launch0"
BRIDGE = "launch"
# The end of what is left to switches (network.SWITCHES_MAX).
ADDRESSES = ipaddress.IPv4Network("198.19.240.0/20")
# A lab has this network where a link's latency lasts so long in it.
LATENCY_US_MIN = 1000


def is_needed(network: Network) -> bool:
    return any(link.latency_us >= LATENCY_US_MIN for link in network.links)


def device(network: Network) -> str:
    """Which device of the hosts launchers are told to use."""
    return DEVICE if is_needed(network) else HOST_DEVICE


def _port(host: int) -> str:
    return f"l{host}"


def links(network: Network, bridge: int) -> list[str]:
    """Lines for `ip -batch`; `{N}` stands for the process that holds namespace N."""
    return [
        f"link add {DEVICE} mtu {network.mtu_bytes} netns {{{number}}} "
        f"type veth peer name {_port(number)} mtu {network.mtu_bytes} netns {{{bridge}}}"
        for number in range(len(network.hosts))
    ]


def host_lines(network: Network, host: str) -> list[str]:
    address = ADDRESSES[network.hosts.index(host) + 1]
    return [
        f"addr add {address}/32 dev {DEVICE}",
        f"link set {DEVICE} multicast off",
        f"link set {DEVICE} up",
        f"route add {ADDRESSES} dev {DEVICE} src {address}",
    ]


def bridge_lines(network: Network) -> list[str]:
    lines = [f"link add {BRIDGE} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"]
    lines.append(f"link set {BRIDGE} up")
    for number in range(len(network.hosts)):
        lines += [
            f"link set {_port(number)} master {BRIDGE}",
            f"link set {_port(number)} up",
        ]
    return lines


def check(network: Network, source: str) -> None:
    if is_needed(network) and len(network.hosts) > ADDRESSES.num_addresses - 2:
        raise BadInput(
            f"{source}: {len(network.hosts)} hosts and links with a latency; the launchers' "
            f"network has addresses for {ADDRESSES.num_addresses - 2} hosts"
        )
