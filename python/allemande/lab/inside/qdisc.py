"""Queueing discipline counters over rtnetlink: a dump costs microseconds where `tc -s` costs a
process."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

NLMSG_ERROR = 2
NLMSG_DONE = 3
NLM_F_REQUEST_DUMP = 0x1 | 0x300
RTM_NEWQDISC = 36
RTM_GETQDISC = 38
TC_H_ROOT = 0xFFFFFFFF
TCA_KIND = 1
TCA_STATS2 = 7
TCA_STATS_BASIC = 1
TCA_STATS_QUEUE = 3
SHAPER = b"tbf\0"

_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_TC = struct.Struct("=BxxxiIII")  # family, ifindex, handle, parent, info
_ATTRIBUTE = struct.Struct("=HH")
_BASIC = struct.Struct("=QI")  # bytes, packets
_QUEUE = struct.Struct("=IIIII")  # packets, bytes, drops, requeues, overlimits
_REQUEST = _HEADER.pack(_HEADER.size + _TC.size, RTM_GETQDISC, NLM_F_REQUEST_DUMP, 1, 0) + _TC.pack(
    0, 0, 0, 0, 0
)


@dataclass(frozen=True)
class Counters:
    """Counters of a device's shaper, including what its child queue holds and drops."""

    sent_bytes: int
    sent_packets: int
    queued_packets: int
    dropped_packets: int


def open_socket() -> socket.socket:
    """Speaks to the network namespace this process is in now, wherever it goes later."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)


def _attributes(data: memoryview) -> dict[int, memoryview]:
    found = {}
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = data[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3
    return found


def _counters(message: memoryview) -> Counters | None:
    attributes = _attributes(message[_TC.size :])
    statistics = attributes.get(TCA_STATS2)
    if statistics is None or bytes(attributes.get(TCA_KIND, b"")) != SHAPER:
        return None
    parts = _attributes(statistics)
    if TCA_STATS_BASIC not in parts or TCA_STATS_QUEUE not in parts:
        return None
    sent_bytes, sent_packets = _BASIC.unpack_from(parts[TCA_STATS_BASIC])
    queued, _, dropped, _, _ = _QUEUE.unpack_from(parts[TCA_STATS_QUEUE])
    return Counters(sent_bytes, sent_packets, queued, dropped)


def read(netlink: socket.socket) -> list[bytes]:
    """The kernel's answer as it is, for `decode`: what is asked often is decoded later."""
    netlink.send(_REQUEST)
    parts: list[bytes] = []
    while True:
        data = netlink.recv(65536)
        parts.append(data)
        offset = 0
        while offset + _HEADER.size <= len(data):
            length, kind, _, _, _ = _HEADER.unpack_from(data, offset)
            if kind == NLMSG_DONE:
                return parts
            if kind == NLMSG_ERROR or length < _HEADER.size:
                raise OSError("the kernel refused to list queueing disciplines")
            offset += (length + 3) & ~3


def decode(parts: Iterable[bytes]) -> dict[int, Counters]:
    """interface index -> counters of its shaper; unshaped devices are left out."""
    result: dict[int, Counters] = {}
    for part in parts:
        data = memoryview(part)
        offset = 0
        while offset + _HEADER.size <= len(data):
            length, kind, _, _, _ = _HEADER.unpack_from(data, offset)
            if kind == RTM_NEWQDISC:
                message = data[offset + _HEADER.size : offset + length]
                _, ifindex, _, parent, _ = _TC.unpack_from(message)
                counters = _counters(message) if parent == TC_H_ROOT else None
                if counters is not None:
                    result[ifindex] = counters
            offset += (length + 3) & ~3
    return result


def dump(netlink: socket.socket) -> dict[int, Counters]:
    """interface index -> counters of its shaper, as they are now."""
    return decode(read(netlink))
