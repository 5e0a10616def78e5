"""How payload is packed into packets: ours and the prober's are UDP datagrams over IPv4."""

from __future__ import annotations

from allemande.topology import Cluster

HEADER_BYTES = 24  # of a data packet (docs/wire.md)
IP_UDP_BYTES = 28


def payload_bytes(cluster: Cluster) -> int:
    """The payload of a full packet."""
    return cluster.mtu_bytes - IP_UDP_BYTES - HEADER_BYTES
