"""Looks at queues and at what TCP waits for every few milliseconds, from inside a lab.

    python watch.py < a line that says what, later one that says when     > the looks of that time

The first line is the lab's state, with `watch`: the period and the ports that are wanted. The
answer is `ready`. The second line is an interval of CLOCK_MONOTONIC, which is the same for all
processes of the machine; its looks are printed as one line of JSON, and the program ends. It ends
without a word where standard input ends: whoever asked is gone.

While it looks it keeps what kernel and emulator said as it is, and decodes none of it: what is
measured meanwhile needs the processors.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import emulator, qdisc
from . import system_calls as calls

KEPT_BYTES_MAX = 300_000_000  # older looks go
# Time-outs last 200 ms or more: of many hosts each is asked in some of the looks only.
HOSTS_PER_LOOK = 8
NETSTAT_BYTES_MAX = 65536
# How connections noticed losses: by a time-out; by a probe of the tail, which they send after two
# round trips without an answer; by acknowledgements of later packets.
TCP_COUNTERS = {
    "timeouts": b"TCPTimeouts",
    "loss_probes": b"TCPLossProbes",
    "probe_recoveries": b"TCPLossProbeRecovery",
    "sack_recoveries": b"TCPSackRecovery",
    "fast_retransmits": b"TCPFastRetrans",
    "slow_start_retransmits": b"TCPSlowStartRetrans",
}


@dataclass(frozen=True)
class Look:
    time_s: float  # before the first port was read
    queues: list[list[bytes]]  # of each host that is watched
    switches: bytes  # the emulator's counters, where any are wanted
    hosts: list[tuple[int, bytes]]  # the number of a host and its netstat


def tcp_counts(netstat: bytes) -> list[int]:
    """TCP_COUNTERS in the text of /proc/net/netstat: a line of names, then a line of values."""
    found: dict[bytes, bytes] = {}
    names: Sequence[bytes] = ()
    for line in netstat.splitlines():
        words = line.split()
        if words[:1] == [b"TcpExt:"] and names[:1] == words[:1]:
            found = dict(zip(names, words, strict=False))
        names = words
    return [int(found.get(name, 0)) for name in TCP_COUNTERS.values()]


class Watch:
    def __init__(self, state: dict[str, Any]) -> None:
        wanted = set(state["watch"]["ports"])
        of_hosts: set[int] = set()
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
            of_hosts.update(ports.values())
            if ports:
                self.queues.append((qdisc.open_socket(), ports))
            if holder["host"] is not None:
                self.netstats.append(os.open("/proc/self/net/netstat", os.O_RDONLY | os.O_CLOEXEC))
        self.switch_ports = sorted(wanted - of_hosts)
        self.counters: emulator.Counters | None = None
        if self.switch_ports and state["shaped"]:
            self.counters = emulator.Counters(Path(state["directory"]))

    def look(self, turn: int) -> None:
        step = 1 if turn == 0 else max(1, -(-len(self.netstats) // HOSTS_PER_LOOK))
        look = Look(
            time.monotonic(),
            [qdisc.read(netlink) for netlink, _ in self.queues],
            b"" if self.counters is None else self.counters.read(),
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
        # Until a host is asked it counts as when it is: what it had before is none of ours.
        known: dict[int, list[int]] = {}
        for look in looks[: len(self.netstats)]:
            for host, text in look.hosts:
                if host not in known:
                    known[host] = tcp_counts(text)
        times: list[float] = []
        tcp: list[list[int]] = []
        ports: dict[int, list[list[int]]] = {}
        for number, look in enumerate(looks):
            for host, text in look.hosts:
                known[host] = tcp_counts(text)
            following = looks[min(number + 1, len(looks) - 1)].time_s
            previous = looks[max(number - 1, 0)].time_s
            if following < begin_s or previous > end_s:
                continue
            times.append(look.time_s)
            tcp.append([sum(counts) for counts in zip(*known.values(), strict=True)])
            for index, row in self._ports_of(look):
                ports.setdefault(index, []).append(row)
        return {
            "times_s": times,
            "tcp": dict(zip(TCP_COUNTERS, zip(*tcp, strict=True), strict=True)),
            "ports": [{"port": index, "looks": rows} for index, rows in sorted(ports.items())],
        }

    def _ports_of(self, look: Look) -> Iterator[tuple[int, list[int]]]:
        """For each port what was sent, what waits and what was dropped."""
        for (_, wanted), parts in zip(self.queues, look.queues, strict=True):
            counted = qdisc.decode(parts)
            for ifindex, index in wanted.items():
                one = counted[ifindex]
                yield index, [one.sent_bytes, one.queued_packets, one.dropped_packets]
        if self.counters is not None:
            rows = emulator.decode_ports(look.switches)
            for index in self.switch_ports:
                row = rows[index]
                yield index, [row["sent_bytes"], row["queued_packets"], row["dropped_packets"]]


def _bytes_of(look: Look) -> int:
    parts = sum(len(part) for queue in look.queues for part in queue)
    return parts + len(look.switches) + sum(len(text) for _, text in look.hosts)


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
