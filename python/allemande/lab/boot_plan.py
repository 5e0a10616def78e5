"""Turns a network into what the lab's first process carries out: batches for ip, bridge and tc.

Quiet by construction: forwarding and neighbour entries are static, bridges neither learn, flood nor
snoop, and IPv6 neither solicits routers nor probes for duplicates. What crosses a link is what the
programs in the lab send.
"""

from __future__ import annotations

from typing import Any

from allemande.lab.network import HOST_DEVICE, IPV4_NETWORK, IPV6_NETWORK, Network, Port
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


def _optional_host_settings(timers: Timers) -> dict[str, str]:
    """What older kernels do not have."""
    if timers.factor == 1:
        return {}
    return {"net/ipv4/tcp_comp_sack_delay_ns": str(timers.sack_delay_ns)}


def _host_ip(network: Network, host: str, congestion_control: str, timers: Timers) -> list[str]:
    """Addresses, routes and neighbours of one host.

    The congestion control hangs on the routes: a namespace cannot make one its default that the
    machine restricts, but a route may name any that is loaded, root or not. So does the minimum
    RTO: what a route says outranks the namespace's setting, and every kernel obeys it.
    """
    ipv4, ipv6 = network.ipv4(host), network.ipv6(host)
    control = f" congctl {congestion_control}" if congestion_control else ""
    if timers.factor != 1:
        control += f" rto_min {timers.rto_min_ms}ms"
    lines = [
        "link set lo up",
        f"link set {HOST_DEVICE} multicast off",
        f"addr add {ipv4}/32 dev {HOST_DEVICE}",
        f"addr add {ipv6}/128 dev {HOST_DEVICE} nodad",
        f"link set {HOST_DEVICE} up",
        f"route add {IPV4_NETWORK} dev {HOST_DEVICE} src {ipv4}{control}",
        f"route replace local {ipv4} dev {HOST_DEVICE} src {ipv4} table local{control}",
        f"route add {IPV6_NETWORK} dev {HOST_DEVICE} src {ipv6}{control}",
    ]
    for other in network.hosts:
        if other != host:
            for address in (network.ipv4(other), network.ipv6(other)):
                lines.append(
                    f"neigh add {address} lladdr {network.mac(other)} "
                    f"dev {HOST_DEVICE} nud permanent"
                )
    return lines


def _veth(network: Network, near: Port, far: Port, offloads: bool) -> str:
    """One link. `{N}` stands for the process that holds host N's namespaces.

    One segment at most: what a program hands over as a train leaves its host as packets.
    """
    hosts = {host: index for index, host in enumerate(network.hosts)}

    def end(port: Port) -> str:
        text = f"{port.device} mtu {network.mtu_bytes} numtxqueues 1 numrxqueues 1"
        if not offloads:
            text += " gso_max_segs 1"
        if port.node in hosts:
            text += f" address {network.mac(port.node)} netns {{{hosts[port.node]}}}"
        return text

    return f"link add {end(near)} type veth peer name {end(far)}"


def _links(network: Network, offloads: bool) -> list[str]:
    ports = network.ports()
    return [
        _veth(network, near, far, offloads)
        for near, far in zip(ports[0::2], ports[1::2], strict=True)
    ]


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
    return [
        f"fdb add {network.mac(host)} dev {port.device} master static"
        for towards in network.routes().values()
        for host, port in towards.items()
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
) -> dict[str, Any]:
    """The whole lab as data: the links, and one entry per namespace, the switches' last."""
    ports = network.ports()

    def entry(host: str | None, own: list[Port]) -> dict[str, Any]:
        is_host = host is not None
        return {
            "host": host,
            "settings": HOST_SETTINGS if is_host else SWITCH_SETTINGS,
            "optional_settings": (
                _optional_host_settings(timers) if is_host else OPTIONAL_SWITCH_SETTINGS
            ),
            "ip": (
                _host_ip(network, host, congestion_control, timers) if host else _bridges(network)
            ),
            "bridge": [] if is_host else _forwarding(network),
            "tc": [line for port in own for line in shaping(network, port)] if shape else [],
            "ports": [[port.index, port.device] for port in own],
        }

    of_host: dict[str, list[Port]] = {host: [] for host in network.hosts}
    of_switches: list[Port] = []
    for port in ports:
        of_host.get(port.node, of_switches).append(port)
    return {
        "links": _links(network, offloads),
        "namespaces": [
            *(entry(host, own) for host, own in of_host.items()),
            entry(None, of_switches),
        ],
        "port_count": len(ports),
        "offloads": offloads,
    }
