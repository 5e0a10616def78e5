"""The delay of long links: what comes in at one end leaves at the other one so much later.

A link with a delay is two veth pairs, whose inner ends are devices of the relay's namespace. A
packet socket's ring receives what comes in and is the delay line as well: packets stay in their
slots until they are due, in the order in which they came, stamped by the kernel on arrival. So it
does not matter how late the relay looks, only how late it sends. It sends a few packets at once,
up to `TICK_NS` before or after they are due.

What the ring has no room for, and what no socket takes, is lost and counted.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import select
import socket
import struct
import time
from pathlib import Path
from typing import Any

from . import system_calls as calls

# <linux/if_packet.h>
SOL_PACKET = 263
PACKET_RX_RING = 5
PACKET_STATISTICS = 6
PACKET_VERSION = 10
PACKET_VNET_HDR = 15
PACKET_IGNORE_OUTGOING = 23
TPACKET_V2 = 1
TP_STATUS_USER = 1
ETH_P_ALL = 3
# struct tpacket2_hdr: status, length, captured length, offset of the frame, -, seconds, nanoseconds
SLOT_HEADER = struct.Struct("IIIHHII")
# What stands before a frame (virtio_net_hdr): which checksum is still to be computed. It is handed
# on, so that a packet arrives as it would have over one veth pair.
OFFLOAD_BYTES = 10
# Offset of a frame in its slot, at most.
SLOT_HEADER_BYTES = 80

TICK_NS = 100_000
NICE = -20
COUNT_NS = 20_000_000  # between looks at what the kernel counts
# A sent packet counts for its socket until it has left the next queue of the lab. So many packets
# wait there that it takes several sockets, whose buffers a user without root cannot enlarge.
SOCKETS_MAX = 64
BLOCK_BYTES = 1 << 16

# Shared with whoever reads the counters.
COUNTER_NAMES = ("packets", "lost_packets", "late_ns", "late_ns_max")
COUNTERS = struct.Struct("Q" * len(COUNTER_NAMES))


def read_counters(path: Path) -> dict[str, int]:
    """Since the boot: packets sent and lost, the sum of what packets were late by, the largest."""
    values = COUNTERS.unpack(path.read_bytes()[: COUNTERS.size])
    return dict(zip(COUNTER_NAMES, values, strict=True))


def slot_bytes(frame_bytes: int) -> int:
    """Of a ring: a power of two that holds the largest frame and what stands before it."""
    return 1 << (frame_bytes + SLOT_HEADER_BYTES - 1).bit_length()


class Direction:
    """From one device of the relay to another."""

    def __init__(self, receive: str, send: str, delay_ns: int, slots: int, slot: int) -> None:
        self.delay_ns = delay_ns
        self.slot = slot
        self.receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        self.receiver.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        self.receiver.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.receiver.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        block = max(BLOCK_BYTES, slot)
        blocks = -(-slots * slot // block)
        self.size = blocks * block
        request = struct.pack("IIII", block, blocks, slot, self.size // slot)
        self.receiver.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        self.ring = mmap.mmap(self.receiver.fileno(), self.size)
        self.bytes = memoryview(self.ring)
        self.receiver.bind((receive, ETH_P_ALL))
        self.target = send
        self.senders = [self._sender()]
        self.at = 0
        self.sent = self.lost = self.late_ns = self.late_ns_max = 0

    def _sender(self) -> socket.socket:
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
        sender.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sender.bind((self.target, 0))
        return sender

    def send_due(self, now_ns: int) -> int | None:
        """Sends what is due. When the next one is, or None: nothing waits."""
        ring, slot, delay_ns = self.ring, self.slot, self.delay_ns
        send = self.senders[0].send
        while True:
            at = self.at
            status, _, captured, frame, _, seconds, nanoseconds = SLOT_HEADER.unpack_from(ring, at)
            if not status & TP_STATUS_USER:
                return None
            stamp_ns: int = seconds * 1_000_000_000 + nanoseconds
            late_ns = now_ns - stamp_ns - delay_ns
            if late_ns < -TICK_NS:
                if stamp_ns <= time.time_ns():
                    return stamp_ns + delay_ns
                late_ns = 0  # the clock was put back; how far, nobody knows
            begin = at + frame - OFFLOAD_BYTES
            try:
                send(self.bytes[begin : at + frame + captured])
                self.sent += 1
            except OSError:
                self._send_otherwise(self.bytes[begin : at + frame + captured])
                send = self.senders[0].send
            if late_ns > 0:
                self.late_ns += late_ns
                self.late_ns_max = max(late_ns, self.late_ns_max)
            ring[at : at + 4] = b"\0\0\0\0"
            self.at = at + slot if at + slot < self.size else 0

    def _send_otherwise(self, frame: memoryview) -> None:
        """By a socket that has room; it is the first one from then on."""
        for number in range(1, SOCKETS_MAX):
            if number == len(self.senders):
                self.senders.append(self._sender())
            try:
                self.senders[number].send(frame)
            except OSError:
                continue
            self.senders.insert(0, self.senders.pop(number))
            self.sent += 1
            return
        self.lost += 1

    def count_lost(self) -> int:
        """What was lost so far. The kernel's own count begins anew with each look."""
        _, dropped = struct.unpack("II", self.receiver.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.lost += dropped
        return self.lost


class Relay:
    """Of all links with a delay."""

    def __init__(self, plan: dict[str, Any], counters: Path) -> None:
        self.directions = [
            Direction(receive, send, link["delay_ns"], link["slots"], plan["slot_bytes"])
            for link in plan["links"]
            for receive, send in (link["devices"], link["devices"][::-1])
        ]
        with counters.open("w+b") as file:
            file.truncate(COUNTERS.size)
            self.counters = mmap.mmap(file.fileno(), 0)

    def descriptors(self) -> set[int]:
        found = set()
        for direction in self.directions:
            found.add(direction.receiver.fileno())
            found.update(sender.fileno() for sender in direction.senders)
        return found

    def run(self) -> None:
        """Never returns."""
        gc.disable()
        calls.wake_precisely()
        # It needs a quarter of a processor, which is more than its part where 60 ranks wait busily.
        with contextlib.suppress(PermissionError):  # then those have less (session.command)
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
        poll = select.poll()
        for direction in self.directions:
            poll.register(direction.receiver, select.POLLIN)
        # Nothing that comes in meanwhile is due before the end of a rest.
        rest_ns = min(direction.delay_ns for direction in self.directions) // 2
        counted_ns = 0
        while True:
            now_ns = time.time_ns()
            dues = [direction.send_due(now_ns) for direction in self.directions]
            waiting = [due for due in dues if due is not None]
            if not waiting or not 0 <= now_ns - counted_ns < COUNT_NS:
                self._count()
                counted_ns = now_ns
            if not waiting:
                poll.poll()
                continue
            due_ns = min(min(waiting) + TICK_NS, time.time_ns() + rest_ns)
            time.sleep(max(0, due_ns - time.time_ns()) * 1e-9)

    def _count(self) -> None:
        COUNTERS.pack_into(
            self.counters,
            0,
            sum(direction.sent for direction in self.directions),
            sum(direction.count_lost() for direction in self.directions),
            sum(direction.late_ns for direction in self.directions),
            max(direction.late_ns_max for direction in self.directions),
        )
