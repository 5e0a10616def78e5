"""Programs that hosts of a lab run to send datagrams, and when these came.

All hosts are one machine with one clock: a datagram says when it was sent, and the kernel when it
came.
"""

from __future__ import annotations

import subprocess
import sys

from allemande.lab import Lab

OVERHEAD_BYTES = 20 + 8 + 14  # IPv4, UDP, Ethernet

# With a fifth word it says that it is ready, and sends when its input ends.
SEND = """
import random, socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address, count, pause_s, size = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
bodies = [random.Random(number).randbytes(size - 16) for number in range(count)]
if len(sys.argv) > 5:
    print("ready", flush=True)
    sys.stdin.read()
for number, body in enumerate(bodies):
    head = number.to_bytes(8) + time.time_ns().to_bytes(8)
    sender.sendto(head + body, (address, 9000))
    time.sleep(pause_s)
"""
RECEIVE = """
import random, socket, struct, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
receiver.bind(("", 9000))
receiver.settimeout(20)
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    data, control, _, _ = receiver.recvmsg(2000, 100)
    seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
    number, sent = int.from_bytes(data[:8]), int.from_bytes(data[8:16])
    assert data[16:] == random.Random(number).randbytes(len(data) - 16), number
    print(number, seconds * 10**9 + nanoseconds - sent, flush=True)
"""


def start(lab: Lab, host: str, program: str, *words: str) -> subprocess.Popen[str]:
    """Returns when it says that it is ready."""
    running: subprocess.Popen[str] = lab.popen(
        host,
        [sys.executable, "-c", program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None and running.stdout.readline() == "ready\n"
    return running


def send(lab: Lab, host: str, to: str, count: int, pause_s: float = 0, size: int = 1016) -> None:
    """`size` bytes in each datagram."""
    words = [lab.network.ipv4(to), str(count), str(pause_s), str(size)]
    lab.exec(host, [sys.executable, "-c", SEND, *words], check=True)


def one_way_ns(
    lab: Lab, sender: str, receiver: str, count: int, pause_s: float, size: int = 1016
) -> list[int]:
    """In the order in which they came; all have come, and whole."""
    running = start(lab, receiver, RECEIVE, str(count))
    send(lab, sender, receiver, count, pause_s, size)
    text, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    rows = [line.split() for line in text.splitlines()]
    assert sorted(int(number) for number, _ in rows) == list(range(count))
    return [int(took) for _, took in rows]
