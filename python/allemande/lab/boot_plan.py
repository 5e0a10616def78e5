"""Turns a network into what the lab's first process carries out: batches for ip, bridge and tc.

Each host has a namespace. Its devices' other ends, `e0.0` for the first device of the first host,
are in the emulator's, which is the network; where links are unshaped, a bridge joins them.

Quiet by construction: neighbour entries are static, the bridge neither learns, floods nor snoops,
and IPv6 neither solicits routers nor probes for duplicates. What crosses a link is what the
programs in the lab send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allemande.lab import launch_network
from allemande.lab.network import (
    IPV4_NETWORK,
    IPV6_NETWORK,
    PLANE_ADDRESSES,
    Interface,
    Network,
    Port,
)
from allemande.lab.timers import Timers

# How late the shaper's timer may fire without costing rate: the bucket holds one frame plus what
# the link carries in this time. More would let bursts pass faster than the link.
TIMER_SLACK_US = 200
# The queue that Linux gives a network card.
HELD_BACK_PACKETS = 1000

SWITCH_SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}
# With these, netfilter's bridge hooks return at once; where the namespace may not write them they
# cost a little time per packet and change nothing.
OPTIONAL_SWITCH_SETTINGS = {
    "net/bridge/bridge-nf-call-iptables": "0",
    "net/bridge/bridge-nf-call-ip6tables": "0",
    "net/bridge/bridge-nf-call-arptables": "0",
}
HOST_SETTINGS = {
    # What one connection learned must not decide how the next run starts.
    "net/ipv4/tcp_no_metrics_save": "1",
    # With several devices, what comes in on one may be answered on another.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv6/conf/default/accept_ra": "0",
    "net/ipv6/conf/default/autoconf": "0",
    "net/ipv6/conf/default/router_solicitations": "0",
    "net/ipv6/conf/default/dad_transmits": "0",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/addr_gen_mode": "1",
}


def _frame_bytes(network: Network) -> int:
    return network.mtu_bytes + network.link_header_bytes


def _burst_bytes(network: Network, port: Port) -> int:
    return _frame_bytes(network) + int(port.rate_mbit_s * TIMER_SLACK_US / 8)


def _queue_packets(network: Network, port: Port) -> int:
    """Where the switch holds packets back nothing is lost in front of it: what the card does
    not take waits in the operating system (src/emulate/emulator.cc has the same figure)."""
    waits = any(
        switch.name == port.peer and switch.flow_control == "back-pressure"
        for switch in network.switches
    )
    return max(port.queue_packets, HELD_BACK_PACKETS) if waits else port.queue_packets


def shaping(network: Network, port: Port) -> list[str]:
    """Shapes a host's port: a token bucket whose child queue counts packets, as switches do."""
    # The kernel counts 14 bytes of Ethernet header; any other framing is told to it.
    overhead = network.link_header_bytes - 14
    size_table = f"stab overhead {overhead} linklayer ethernet " if overhead else ""
    bits = round(port.rate_mbit_s * 1e6)
    return [
        f"qdisc add dev {port.device} root handle 1: {size_table}tbf rate {bits}bit "
        f"burst {_burst_bytes(network, port)} limit {1000 * _frame_bytes(network)}",
        f"qdisc add dev {port.device} parent 1:1 handle 10: pfifo limit "
        f"{_queue_packets(network, port)}",
    ]


def reshaping(network: Network, port: Port, factor: float) -> str:
    """Another rate for a host's port; what waits there stays.

    The kernel passes the shaper's limit on to the child queue, which counts packets.
    """
    slower = replace(port, rate_mbit_s=port.rate_mbit_s * factor)
    line = shaping(network, slower)[0].replace("qdisc add", "qdisc change", 1)
    return line[: line.rindex(" limit ")] + f" limit {_queue_packets(network, port)}"


def _host_settings(network: Network) -> dict[str, str]:
    """Where switches mark packets, connections ask for it."""
    asks = any(link.ecn_packets for link in network.links)
    return {**HOST_SETTINGS, "net/ipv4/tcp_ecn": "1"} if asks else HOST_SETTINGS


def _optional_host_settings(timers: Timers) -> dict[str, str]:
    """What older kernels do not have."""
    if timers.factor == 1:
        return {}
    return {"net/ipv4/tcp_comp_sack_delay_ns": str(timers.sack_delay_ns)}


def _plane(number: int) -> tuple[str, str]:
    """The IPv4 and IPv6 addresses of the hosts' devices of one number; the first has all others."""
    if number == 0:
        return str(IPV4_NETWORK), str(IPV6_NETWORK)
    offset, bits = PLANE_ADDRESSES * number, PLANE_ADDRESSES.bit_length() - 1
    return f"{IPV4_NETWORK[offset]}/{32 - bits}", f"{IPV6_NETWORK[offset]}/{128 - bits}"


def _far_end(network: Network, interface: Interface) -> str:
    """The other end of a host's device."""
    return f"e{network.hosts.index(interface.host)}.{interface.number}"


def _host_ip(
    network: Network, own: Sequence[Interface], congestion_control: str, timers: Timers
) -> list[str]:
    """Addresses, routes and neighbours of one host; what goes to others' devices of one number
    leaves through its own of this number.

    The congestion control hangs on the routes: a namespace cannot make one its default that the
    machine restricts, but a route may name any that is loaded, root or not. So does the minimum
    RTO: what a route says outranks the namespace's setting, and every kernel obeys it.
    """
    control = f" congctl {congestion_control}" if congestion_control else ""
    if timers.factor != 1:
        control += f" rto_min {timers.rto_min_ms}ms"
    lines = ["link set lo up"]
    for interface in own:
        device, ipv4, ipv6 = interface.device, interface.ipv4, interface.ipv6
        plane_ipv4, plane_ipv6 = _plane(interface.number)
        lines += [
            f"link set {device} multicast off",
            f"addr add {ipv4}/32 dev {device}",
            f"addr add {ipv6}/128 dev {device} nodad",
            f"link set {device} up",
            f"route add {plane_ipv4} dev {device} src {ipv4}{control}",
            f"route replace local {ipv4} dev {device} src {ipv4} table local{control}",
            f"route add {plane_ipv6} dev {device} src {ipv6}{control}",
        ]
    for other in network.interfaces():
        if other.host != own[0].host:
            device = own[other.number if other.number < len(own) else 0].device
            lines += [
                f"neigh add {address} lladdr {other.mac} dev {device} nud permanent"
                for address in (other.ipv4, other.ipv6)
            ]
    return lines


def _links(network: Network, offloads: bool) -> list[str]:
    """They are made from within the namespace of their far ends; `{N}` stands for the process that
    holds that of host N.

    One segment at most: what a program hands over as a train leaves its host as packets.
    """
    common = f"mtu {network.mtu_bytes} numtxqueues 1 numrxqueues 1"
    if not offloads:
        common += " gso_max_segs 1"
    return [
        f"link add {interface.device} {common} address {interface.mac} "
        f"netns {{{network.hosts.index(interface.host)}}} "
        f"type veth peer name {_far_end(network, interface)} {common}"
        for interface in network.interfaces()
    ]


def _bridge_lines(network: Network, far_ends: Sequence[str]) -> list[str]:
    """One bridge, then its ports."""
    lines = [
        f"link add b0 mtu {network.mtu_bytes} type bridge stp_state 0 forward_delay 0 "
        "mcast_snooping 0",
        "link set b0 up",
    ]
    for device in far_ends:
        lines += [
            f"link set {device} master b0",
            f"link set {device} type bridge_slave learning off flood off "
            "mcast_flood off bcast_flood off",
        ]
    return lines


def hosts_file(network: Network) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{network.ipv4(host)} {host}" for host in network.hosts]
    return "\n".join(lines) + "\n"


def make_plan(
    network: Network,
    *,
    emulator: Sequence[str],
    offloads: bool,
    congestion_control: str,
    timers: Timers,
) -> dict[str, Any]:
    """The whole lab as data: the links, and one entry per namespace, that of the network last.

    `emulator`: its command line; nothing: the links are unshaped, and a bridge joins the hosts.
    """
    interfaces = network.interfaces()
    launches = bool(emulator) and launch_network.is_needed(network)
    entries: list[dict[str, Any]] = []
    for host in network.hosts:
        own = [interface for interface in interfaces if interface.host == host]
        shapers = [line for one in own for line in shaping(network, one.egress)]
        entries.append(
            {
                "host": host,
                "settings": _host_settings(network),
                "optional_settings": _optional_host_settings(timers),
                "ip": _host_ip(network, own, congestion_control, timers)
                + (launch_network.host_lines(network, host) if launches else []),
                "tc": shapers if emulator else [],
                "devices": [interface.device for interface in own],
                "ports": [[interface.egress.index, interface.device] for interface in own],
            }
        )
    links = _links(network, offloads)
    quiet = {"settings": SWITCH_SETTINGS, "optional_settings": OPTIONAL_SWITCH_SETTINGS}
    if launches:
        links += launch_network.links(network, len(entries))
        lines = launch_network.bridge_lines(network)
        entries.append({**quiet, "ip": lines, "devices": [], "ports": []})
    far_ends = [_far_end(network, interface) for interface in interfaces]
    joined: dict[str, Any] = {**quiet, "devices": far_ends, "ip": [], "ports": []}
    if emulator:
        joined["emulator"] = list(emulator)
    else:
        joined["ip"] = _bridge_lines(network, far_ends)
        joined["bridge"] = [
            f"fdb add {interface.mac} dev {device} master static"
            for interface, device in zip(interfaces, far_ends, strict=True)
        ]
        joined["ports"] = [
            [interface.ingress.index, device]
            for interface, device in zip(interfaces, far_ends, strict=True)
        ]
    for device in far_ends:
        joined["ip"] += [f"link set {device} multicast off", f"link set {device} up"]
    entries.append(joined)
    return {"links": links, "namespaces": entries, "offloads": offloads}


def holders(plan: Mapping[str, Any], pids: Sequence[int]) -> list[dict[str, Any]]:
    """What is to be known of the processes that hold the namespaces of a plan, once it is built.

    The kernel counts what is sent by the ports they name; the emulator counts all others.
    """
    return [
        {"host": entry.get("host"), "pid": pid, "ports": entry["ports"]}
        for entry, pid in zip(plan["namespaces"], pids, strict=True)
    ]
