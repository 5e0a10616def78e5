"""Turns a network into what the lab's first process carries out: batches for ip, bridge and tc.

Switches are bridges in one namespace, or routers with a namespace each (lab.routers). Links with a
latency lead through a namespace of the relay (lab.delays).

Quiet by construction: forwarding and neighbour entries are static, bridges neither learn, flood nor
snoop, and IPv6 neither solicits routers nor probes for duplicates. What crosses a link is what the
programs in the lab send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allemande.lab import delays, routers
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


def shaping(network: Network, port: Port) -> list[str]:
    """A token bucket whose child queue counts packets, as switch ports do."""
    # The kernel counts 14 bytes of Ethernet header; any other framing is told to it.
    overhead = network.link_header_bytes - 14
    size_table = f"stab overhead {overhead} linklayer ethernet " if overhead else ""
    bits = round(port.rate_mbit_s * 1e6)
    return [
        f"qdisc add dev {port.device} root handle 1: {size_table}tbf rate {bits}bit "
        f"burst {_burst_bytes(network, port)} limit {1000 * _frame_bytes(network)}",
        f"qdisc add dev {port.device} parent 1:1 handle 10: pfifo limit {port.queue_packets}",
    ]


def reshaping(network: Network, port: Port, factor: float) -> str:
    """Another rate for a port that is shaped; what waits there stays.

    The kernel passes the shaper's limit on to the child queue, which counts packets.
    """
    slower = replace(port, rate_mbit_s=port.rate_mbit_s * factor)
    line = shaping(network, slower)[0].replace("qdisc add", "qdisc change", 1)
    return line[: line.rindex(" limit ")] + f" limit {port.queue_packets}"


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


def _host_ip(
    network: Network,
    own: Sequence[Interface],
    congestion_control: str,
    timers: Timers,
    routed: bool,
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
    # The first device's route has all addresses, those of the other routers too: it comes last,
    # because a gateway must not be reached through another device.
    for interface in reversed(own):
        device, ipv4, ipv6 = interface.device, interface.ipv4, interface.ipv6
        via_ipv4 = via_ipv6 = ""
        lines += [
            f"link set {device} multicast off",
            f"addr add {ipv4}/32 dev {device}",
            f"addr add {ipv6}/128 dev {device} nodad",
            f"link set {device} up",
        ]
        if routed:
            gate_ipv4, gate_ipv6, mac = routers.gateway(network, interface)
            via_ipv4, via_ipv6 = f"via {gate_ipv4} ", f"via {gate_ipv6} "
            lines += [
                f"neigh add {address} lladdr {mac} dev {device} nud permanent"
                for address in (gate_ipv4, gate_ipv6)
            ]
        onlink = " onlink" if routed else ""
        plane_ipv4, plane_ipv6 = _plane(interface.number)
        lines += [
            f"route add {plane_ipv4} {via_ipv4}dev {device}{onlink} src {ipv4}{control}",
            f"route replace local {ipv4} dev {device} src {ipv4} table local{control}",
            f"route add {plane_ipv6} {via_ipv6}dev {device}{onlink} src {ipv6}{control}",
        ]
    if routed:
        return lines
    for other in network.interfaces():
        if other.host != own[0].host:
            device = own[other.number if other.number < len(own) else 0].device
            lines += [
                f"neigh add {address} lladdr {other.mac} dev {device} nud permanent"
                for address in (other.ipv4, other.ipv6)
            ]
    return lines


def _links(
    network: Network, namespaces: dict[str, int], offloads: bool, routed: bool, relay: int
) -> list[str]:
    """`{N}` stands for the process that holds namespace N; they are made from within the last.

    One segment at most: what a program hands over as a train leaves its host as packets. What
    crosses the relay is packets in any case.
    """
    macs = {interface.egress.index: interface.mac for interface in network.interfaces()}
    last = max(namespaces.values())
    delayed = set(network.delayed_links())
    queues = "numtxqueues 1 numrxqueues 1"

    def end(port: Port) -> str:
        text = f"{port.device} mtu {network.mtu_bytes} {queues}"
        if not offloads or port.index // 2 in delayed:
            text += " gso_max_segs 1"
        if port.index in macs:
            text += f" address {macs[port.index]}"
        elif routed:
            text += f" address {routers.port_mac(port)}"
        if namespaces[port.node] != last:
            text += f" netns {{{namespaces[port.node]}}}"
        return text

    lines = []
    for near, far in zip(*[iter(network.ports())] * 2, strict=True):
        if near.index // 2 not in delayed:
            lines.append(f"link add {end(near)} type veth peer name {end(far)}")
            continue
        for port, inner in zip((near, far), delays.relay_devices(near.index // 2), strict=True):
            peer = f"{inner} mtu {network.mtu_bytes} {queues} netns {{{relay}}}"
            lines.append(f"link add {end(port)} type veth peer name {peer}")
    return lines + (delays.launch_links(network, relay) if delayed else [])


def _bridges(network: Network) -> list[str]:
    """One bridge per switch, then the ports in their places."""
    bridge_of = {switch.name: f"b{index}" for index, switch in enumerate(network.switches)}
    lines = []
    for bridge in bridge_of.values():
        lines.append(
            f"link add {bridge} mtu {network.mtu_bytes} type bridge stp_state 0 forward_delay 0 "
            "mcast_snooping 0"
        )
        lines.append(f"link set {bridge} up")
    for port in network.ports():
        if port.node in bridge_of:
            lines.append(f"link set {port.device} master {bridge_of[port.node]}")
            lines.append(
                f"link set {port.device} type bridge_slave learning off flood off "
                "mcast_flood off bcast_flood off"
            )
            lines.append(f"link set {port.device} up")
    return lines


def _forwarding(network: Network) -> list[str]:
    interfaces = network.interfaces()
    return [
        f"fdb add {interface.mac} dev {port.device} master static"
        for towards in network.routes().values()
        for interface, port in zip(interfaces, towards, strict=True)
        if port is not None
    ]


def hosts_file(network: Network) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{network.ipv4(host)} {host}" for host in network.hosts]
    return "\n".join(lines) + "\n"


def make_plan(
    network: Network,
    *,
    shape: bool,
    offloads: bool,
    congestion_control: str,
    timers: Timers,
    routed: bool = False,
) -> dict[str, Any]:
    """The whole lab as data: the links, and one entry per namespace, the switches' last."""
    ports = network.ports()
    delayed = bool(network.delayed_links())
    interfaces = network.interfaces()
    switches = [switch.name for switch in network.switches]
    entries: list[dict[str, Any]] = [
        {
            "host": host,
            "settings": HOST_SETTINGS,
            "optional_settings": _optional_host_settings(timers),
            "ip": _host_ip(
                network,
                [interface for interface in interfaces if interface.host == host],
                congestion_control,
                timers,
                routed,
            )
            + (delays.host_lines(network, host) if delayed else []),
        }
        for host in network.hosts
    ]
    namespaces = {host: number for number, host in enumerate(network.hosts)}
    relay = len(entries)
    if delayed:
        entries.append(
            {
                "relay": delays.relay_plan(network),
                "settings": SWITCH_SETTINGS,
                "optional_settings": OPTIONAL_SWITCH_SETTINGS,
                # Routers want both ends of their links up before the rest is done.
                "devices" if routed else "ip": delays.relay_lines(network),
            }
        )
    if routed:
        namespaces |= {name: number for number, name in enumerate(switches, len(entries))}
        entries += [
            {
                "switch": name,
                "settings": routers.SETTINGS,
                "optional_settings": routers.optional_settings(network, name),
                "devices": routers.devices(network, name),
                "ip": routers.hops(network, name),
            }
            for name in switches
        ]
    else:
        namespaces |= dict.fromkeys(switches, len(entries))
        entries.append(
            {
                "settings": SWITCH_SETTINGS,
                "optional_settings": OPTIONAL_SWITCH_SETTINGS,
                "ip": _bridges(network),
                "bridge": _forwarding(network),
            }
        )
    for number, entry in enumerate(entries):
        own = [port for port in ports if namespaces[port.node] == number]  # none: the relay's
        entry["tc"] = [line for port in own for line in shaping(network, port)] if shape else []
        entry["ports"] = [[port.index, port.device] for port in own]
        if routed and "host" in entry:
            entry["devices"] = [
                f"link set {port.device} {what}" for port in own for what in ("multicast off", "up")
            ]
    return {
        "links": _links(network, namespaces, offloads, routed, relay),
        "namespaces": entries,
        "port_count": len(ports),
        "offloads": offloads,
    }


def holders(plan: Mapping[str, Any], pids: Sequence[int]) -> list[dict[str, Any]]:
    """What is to be known of the processes that hold the namespaces of a plan, once it is built."""
    return [
        {
            "host": entry.get("host"),
            "switch": entry.get("switch"),
            "relay": "relay" in entry,
            "pid": pid,
            "ports": entry["ports"],
        }
        for entry, pid in zip(plan["namespaces"], pids, strict=True)
    ]
