"""Links with a latency: what the lab's relay delays, and the device that launchers use meanwhile.

Such a link is two veth pairs. The outer ends are its ports, as ever, with their rates and queues;
the inner ends are in a namespace of the relay (inside/relay.py), which hands on what comes in at
one of them at the other one, so much later.

A job is launched over many round trips, which nobody measures. In a lab with such links each host
therefore has one device more, whose network is neither shaped nor delayed; it is for launchers.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping
from typing import Any

from allemande.errors import BadInput
from allemande.lab.inside.relay import slot_bytes
from allemande.lab.network import HOST_DEVICE, Link, Network

LAUNCH_DEVICE = "launch0"
LAUNCH_BRIDGE = "launch"
# The end of what is left to switches (network.SWITCHES_MAX).
LAUNCH_NETWORK = ipaddress.IPv4Network("198.19.240.0/20")

# What runs in a lab of a user without root gives way to the relay, which may not go ahead.
BEHIND_THE_RELAY = ("nice", "-n", "19")

# Room on the way, in full frames of the link's rate: most are shorter.
SLOTS_PER_FRAME = 4
SLOTS_MIN = 1024
SLOTS_BYTES_MAX = 1 << 30  # of all links together


def relay_devices(link: int) -> tuple[str, str]:
    """The inner ends of a link, by its place in the file: behind its `from`, behind its `to`."""
    return f"r{2 * link}", f"r{2 * link + 1}"


def launch_device(network: Network) -> str:
    """Which device of the hosts launchers are told to use."""
    return LAUNCH_DEVICE if network.delayed_links() else HOST_DEVICE


def _launch_port(host: int) -> str:
    return f"l{host}"


def launch_links(network: Network, relay: int) -> list[str]:
    """Lines for `ip -batch`; `{N}` stands for the process that holds namespace N."""
    return [
        f"link add {LAUNCH_DEVICE} mtu {network.mtu_bytes} netns {{{number}}} "
        f"type veth peer name {_launch_port(number)} mtu {network.mtu_bytes} netns {{{relay}}}"
        for number in range(len(network.hosts))
    ]


def host_lines(network: Network, host: str) -> list[str]:
    number = network.hosts.index(host)
    address = f"{LAUNCH_NETWORK[number + 1]}/{LAUNCH_NETWORK.prefixlen}"
    return [
        f"addr add {address} dev {LAUNCH_DEVICE}",
        f"link set {LAUNCH_DEVICE} multicast off",
        f"link set {LAUNCH_DEVICE} up",
    ]


def relay_lines(network: Network) -> list[str]:
    """Of the relay's namespace: its devices, and the bridge of the launchers' network."""
    lines = [f"link add {LAUNCH_BRIDGE} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"]
    lines.append(f"link set {LAUNCH_BRIDGE} up")
    for number in range(len(network.hosts)):
        port = _launch_port(number)
        lines += [f"link set {port} master {LAUNCH_BRIDGE}", f"link set {port} up"]
    for link in network.delayed_links():
        for device in relay_devices(link):
            lines += [f"link set {device} multicast off", f"link set {device} up"]
    return lines


def _slots(network: Network, link: Link) -> int:
    """Enough for what can be on the way in one direction."""
    frame_bits = 8 * (network.mtu_bytes + network.link_header_bytes)
    rate_mbit_s = max(link.rate_up_mbit_s, link.rate_down_mbit_s)
    return SLOTS_MIN + math.ceil(SLOTS_PER_FRAME * rate_mbit_s * link.latency_us / frame_bits)


def relay_plan(network: Network) -> dict[str, Any]:
    """What the relay is told."""
    slot = slot_bytes(network.mtu_bytes + network.link_header_bytes)
    links: list[Mapping[str, Any]] = [
        {
            "devices": list(relay_devices(number)),
            "delay_ns": round(1000 * network.links[number].latency_us),
            "slots": _slots(network, network.links[number]),
        }
        for number in network.delayed_links()
    ]
    return {"slot_bytes": slot, "links": links}


def check(network: Network, source: str) -> None:
    """Refuses what the relay has no memory for."""
    plan = relay_plan(network)
    needed = 2 * plan["slot_bytes"] * sum(link["slots"] for link in plan["links"])
    if needed > SLOTS_BYTES_MAX:
        raise BadInput(
            f"{source}: its links hold so much at their rates and latencies that delaying it takes "
            f"{needed / 2**30:.1f} GB of memory; expected {SLOTS_BYTES_MAX / 2**30:g} GB at most"
        )
    if plan["links"] and len(network.hosts) > LAUNCH_NETWORK.num_addresses - 2:
        raise BadInput(
            f"{source}: {len(network.hosts)} hosts and links with a latency; the launchers' "
            f"network has addresses for {LAUNCH_NETWORK.num_addresses - 2} hosts"
        )
