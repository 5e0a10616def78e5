"""Switches as routers: each in a network namespace of its own, with next hops chosen by a hash.

A lab has routers instead of bridges where a switch has several shortest paths to a host. Every
destination, that is an interface of a host, has a next hop group in each router: the ports on its
shortest paths. The kernel hashes addresses and ports of a packet (`fib_multipath_hash_policy=1`)
with a seed that differs from router to router, so that a choice in one says nothing of the next.

What changes later (docs/lab.md, "A link that fails") replaces groups: the kernel does that at once
for all packets, and routes stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection

from allemande.lab.network import Interface, Network, Port

# In a router every port towards a neighbour is a next hop, and so is every group.
FIRST_GROUP = 1_000_000

SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    # A packet may come from where the router would not send its answer to.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
    # Nothing that ICMP says of a packet is held back: probes count on it.
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/icmp_ratemask": "0",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv6/conf/default/forwarding": "1",
    "net/ipv6/conf/default/accept_ra": "0",
    "net/ipv6/conf/default/accept_dad": "0",
    "net/ipv6/conf/default/dad_transmits": "0",
    "net/ipv6/conf/default/addr_gen_mode": "1",
    "net/ipv6/icmp/ratelimit": "0",
    "net/ipv6/fib_multipath_hash_policy": "1",
}


def optional_settings(network: Network, switch: str) -> dict[str, str]:
    """What older kernels do not have: without a seed of its own a router hashes as all others of
    this machine do."""
    seed = 1 + [known.name for known in network.switches].index(switch)
    return {"net/ipv4/fib_multipath_hash_seed": str(seed)}


def port_mac(port: Port) -> str:
    """Locally administered, beside those of hosts."""
    return "02:c6:13:" + port.index.to_bytes(3).hex(":")


def gateway(network: Network, interface: Interface) -> tuple[str, str, str]:
    """What the host's neighbour on this device is called: IPv4, IPv6 and Ethernet address."""
    switch = interface.ingress.node
    return network.switch_ipv4(switch), network.switch_ipv6(switch), port_mac(interface.ingress)


def _neighbours(network: Network, switch: str) -> list[tuple[Port, str, str, str]]:
    """Each port with the addresses of whoever it leads to."""
    ports = network.ports()
    of_host = {found.egress.index: found for found in network.interfaces()}
    rows = []
    for port in ports:
        if port.node != switch:
            continue
        far = ports[port.index ^ 1]
        interface = of_host.get(far.index)
        if interface is not None:
            rows.append((port, interface.ipv4, interface.ipv6, interface.mac))
        else:
            addresses = network.switch_ipv4(far.node), network.switch_ipv6(far.node)
            rows.append((port, *addresses, port_mac(far)))
    return rows


def _hop(port: Port, family: int) -> int:
    return 2 * port.index + 1 + (family == 6)


def _group(interface: int, family: int) -> int:
    return FIRST_GROUP + 2 * interface + (family == 6)


def devices(network: Network, switch: str) -> list[str]:
    """Lines for `ip -batch` in a namespace which has the switch's ports: addresses, and links."""
    ipv4, ipv6 = network.switch_ipv4(switch), network.switch_ipv6(switch)
    lines = ["link set lo up", f"addr add {ipv4}/32 dev lo", f"addr add {ipv6}/128 dev lo nodad"]
    for port in network.ports():
        if port.node == switch:
            lines += [f"link set {port.device} multicast off", f"link set {port.device} up"]
    return lines


def hops(network: Network, switch: str) -> list[str]:
    """Lines for `ip -batch` once the links are up: neighbours, next hops and routes."""
    lines = []
    for port, far_ipv4, far_ipv6, far_mac in _neighbours(network, switch):
        device = port.device
        for family, address in ((4, far_ipv4), (6, far_ipv6)):
            lines.append(f"neigh add {address} lladdr {far_mac} dev {device} nud permanent")
            lines.append(f"nexthop add id {_hop(port, family)} via {address} dev {device} onlink")
    return lines + forwarding(network, switch)


def forwarding(network: Network, switch: str, without: Collection[int] = ()) -> list[str]:
    """Lines for `ip -batch` that make the next hops those of the network `without` these links.

    Valid at any time after those of `hops`. Senders to a destination that cannot be reached are
    told so. There are routes to hosts only: switches speak, but are not spoken to.
    """
    ipv4, ipv6 = network.switch_ipv4(switch), network.switch_ipv6(switch)
    lines = []
    towards = network.ways(without)[switch]
    for number, (interface, ports) in enumerate(zip(network.interfaces(), towards, strict=True)):
        for family, address, source in (
            (4, f"{interface.ipv4}/32", ipv4),
            (6, f"{interface.ipv6}/128", ipv6),
        ):
            if not ports:
                lines.append(f"route replace unreachable {address} metric 1")
                continue
            group = _group(number, family)
            members = "/".join(str(_hop(port, family)) for port in ports)
            lines.append(f"nexthop replace id {group} group {members}")
            lines.append(f"route replace {address} nhid {group} src {source} metric 1")
    return lines
