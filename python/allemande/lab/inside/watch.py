"""Looks at queues and TCP time-outs every few milliseconds, from inside a lab.

    python watch.py < a line that says what, later one that says when     > the looks of that time

The first line is the lab's state, with `watch`: the period and the ports that are wanted. The
answer is `ready`. The second line is an interval of CLOCK_MONOTONIC, which is the same for all
processes of the machine; its looks are printed as one line of JSON, and the program ends. It ends
without a word where standard input ends: whoever asked is gone.

While it looks it keeps what the kernel said as it is, and decodes none of it: what is measured
meanwhile needs the processors.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import qdisc
from . import system_calls as calls

KEPT_BYTES_MAX = 300_000_000  # older looks go
# Time-outs last 200 ms or more: of many hosts each is asked in some of the looks only.
HOSTS_PER_LOOK = 8
NETSTAT_BYTES_MAX = 65536


@dataclass(frozen=True)
class Look:
    time_s: float  # before the first port was read
    queues: list[list[bytes]]  # of each namespace that is watched
    hosts: list[tuple[int, bytes]]  # the number of a host and its netstat


def timeouts_in(netstat: bytes) -> int:
    """TCPTimeouts in the text of /proc/net/netstat: a line of names, then a line of values."""
    names: Sequence[bytes] = ()
    for line in netstat.splitlines():
        words = line.split()
        if names and words[:1] == names[:1] and b"TCPTimeouts" in names:
            return int(words[names.index(b"TCPTimeouts")])
        names = words
    return 0


class Watch:
    def __init__(self, state: dict[str, Any]) -> None:
        wanted = set(state["watch"]["ports"])
        self.period_s: float = state["watch"]["period_s"]
        self.queues: list[tuple[socket.socket, dict[int, int]]] = []
        self.netstats: list[int] = []
        self.looks: deque[Look] = deque()
        self.kept_bytes = 0
        for holder in state["holders"]:
            calls.setns(f"/proc/{holder['pid']}/ns/net", calls.CLONE_NEWNET)
            ports = {
                socket.if_nametoindex(device): index
                for index, device in holder["ports"]
                if index in wanted
            }
            if ports:
                self.queues.append((qdisc.open_socket(), ports))
            if holder["host"] is not None:
                self.netstats.append(os.open("/proc/self/net/netstat", os.O_RDONLY | os.O_CLOEXEC))

    def look(self, turn: int) -> None:
        step = 1 if turn == 0 else max(1, -(-len(self.netstats) // HOSTS_PER_LOOK))
        look = Look(
            time.monotonic(),
            [qdisc.read(netlink) for netlink, _ in self.queues],
            [
                (host, os.pread(self.netstats[host], NETSTAT_BYTES_MAX, 0))
                for host in range(turn % step, len(self.netstats), step)
            ],
        )
        self.looks.append(look)
        self.kept_bytes += _bytes_of(look)
        while self.kept_bytes > KEPT_BYTES_MAX:
            self.kept_bytes -= _bytes_of(self.looks.popleft())

    def until_asked(self) -> None:
        """Until standard input has something to say."""
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        due = time.monotonic()
        turn = 0
        while True:
            now = time.monotonic()
            if poll.poll(max(0.0, (due - now) * 1000)):
                return
            self.look(turn)
            turn += 1
            due = max(due + self.period_s, time.monotonic())  # what came late is not made up for

    def between(self, begin_s: float, end_s: float) -> dict[str, Any]:
        """The last look before the interval, those in it, and the first one after."""
        looks = list(self.looks)
        # Until a host is asked it counts as when it is: what it had before is no time-out of ours.
        known: dict[int, int] = {}
        for look in looks[: len(self.netstats)]:
            for host, text in look.hosts:
                if host not in known:
                    known[host] = timeouts_in(text)
        times: list[float] = []
        timeouts: list[int] = []
        ports: dict[int, list[list[int]]] = {}
        for number, look in enumerate(looks):
            for host, text in look.hosts:
                known[host] = timeouts_in(text)
            following = looks[min(number + 1, len(looks) - 1)].time_s
            previous = looks[max(number - 1, 0)].time_s
            if following < begin_s or previous > end_s:
                continue
            times.append(look.time_s)
            timeouts.append(sum(known.values()))
            for (_, wanted), parts in zip(self.queues, look.queues, strict=True):
                counted = qdisc.decode(parts)
                for ifindex, index in wanted.items():
                    counters = counted[ifindex]
                    ports.setdefault(index, []).append(
                        [counters.sent_bytes, counters.queued_packets, counters.dropped_packets]
                    )
        return {
            "times_s": times,
            "tcp_timeouts": timeouts,
            "ports": [{"port": index, "looks": rows} for index, rows in sorted(ports.items())],
        }


def _bytes_of(look: Look) -> int:
    parts = sum(len(part) for queue in look.queues for part in queue)
    return parts + sum(len(text) for _, text in look.hosts)


def main() -> None:
    watch = Watch(json.loads(sys.stdin.readline()))
    print("ready", flush=True)
    gc.freeze()
    gc.disable()
    before_s = time.process_time()
    watch.until_asked()
    cpu_s = time.process_time() - before_s
    line = sys.stdin.readline()
    if line:
        asked = json.loads(line)
        print(json.dumps({**watch.between(asked["begin_s"], asked["end_s"]), "cpu_s": cpu_s}))
