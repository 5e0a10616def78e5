"""What is said to the emulator, the process that is a lab's switches and links, and what it says.

It writes its counters into a file of the lab's directory, about every millisecond, and listens
there on a socket for changes of links (src/emulate).
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import time
from pathlib import Path

COUNTERS_FILE = "counters"
CONTROL_SOCKET = "control"

MAGIC = 0x31524F54414C554D
VERSION = 1
HEADER = struct.Struct("<QIIQ13Q")  # magic, version, ports, sequence, then what is named here
TOTAL_NAMES = (
    "published_ns",
    "frames_in",
    "frames_out",
    "lost_frames",
    "stray_frames",
    "late_frames",
    "late_ns",
    "late_ns_max",
    "held_frames",
    "cpu_ns",
    "wakeups",
    "answers",
    "realtime",
)
SEQUENCE = struct.Struct("<Q")
SEQUENCE_AT = 16
# Two for each link, in the order of the file: what `from` sends, what `to` sends. Packets sent,
# bytes sent, packets dropped, lost, dropped at the input, marked; packets in the queue, the most
# ever, at the input, the most ever; at a host what the emulator itself sent and was dropped. The
# input is the one that the port leads to.
PORT = struct.Struct("<6Q4IQ24x")
PORT_NAMES = (
    "sent_packets",
    "sent_bytes",
    "dropped_packets",
    "lost_packets",
    "marked_packets",
    "queued_packets",
    "queue_high_water",
)

STILL_WITHIN_S = 1.0
PAUSE_S = 20e-6
ANSWER_WITHIN_S = 10.0


class Counters:
    """The file, to be read as often as one likes."""

    def __init__(self, directory: Path) -> None:
        with (directory / COUNTERS_FILE).open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, self.port_count, *_ = HEADER.unpack_from(self._file)
        if (magic, version) != (MAGIC, VERSION):
            raise OSError(f"{directory / COUNTERS_FILE} is not of this version of the emulator")

    def _sequence(self) -> int:
        sequence: int = SEQUENCE.unpack_from(self._file, SEQUENCE_AT)[0]
        return sequence

    def read(self) -> bytes:
        """All of them as they were at one moment; what is read often is decoded later."""
        latest_s = time.monotonic() + STILL_WITHIN_S
        while True:
            before = self._sequence()
            content = self._file[:]
            if before % 2 == 0 and before == self._sequence():
                return content
            if time.monotonic() > latest_s:
                raise OSError("the emulator ended while it wrote its counters")
            time.sleep(PAUSE_S)


def decode_totals(content: bytes) -> dict[str, int]:
    return dict(zip(TOTAL_NAMES, HEADER.unpack_from(content)[4:], strict=True))


def decode_ports(content: bytes) -> list[dict[str, int]]:
    """A switch's port has a queue for what goes out or a buffer for what comes in: here one row has
    both."""
    rows = list(PORT.iter_unpack(content[HEADER.size :]))
    found = []
    for port, (sent, sent_bytes, dropped, lost, _, marked, queued, longest, *_) in enumerate(rows):
        *_, input_dropped, _, _, _, at_input, most_at_input, _ = rows[port ^ 1]
        values = (
            *(sent, sent_bytes, dropped + input_dropped, lost, marked),
            *(queued + at_input, max(longest, most_at_input)),
        )
        found.append(dict(zip(PORT_NAMES, values, strict=True)))
    return found


def decode_wakes_dropped(content: bytes) -> list[int]:
    """At each port: the kernel counts them among what the host's queue has dropped."""
    return [row[-1] for row in PORT.iter_unpack(content[HEADER.size :])]


def tell(directory: Path, message: str) -> None:
    """Returns when it is done; raises OSError with what the emulator has against it."""
    # The directory's path may be longer than the address of a socket.
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
            control.settimeout(ANSWER_WITHIN_S)
            control.connect(f"/proc/self/fd/{folder}/{CONTROL_SOCKET}")
            control.send(message.encode())
            answer = control.recv(4096).decode()
    finally:
        os.close(folder)
    if answer != "ok":
        raise OSError(answer.removeprefix("error ") or "it ended without an answer")
