"""GOAL, the language of LogGOPSim: one operation for each packet, and what each waits for.

::

    num_ranks 2
    rank 0 {
    l1: send 1472b to 1 tag 0
    l2: recv 1472b from 1 tag 0
    l3: send 528b to 1 tag 0
    l3 requires l1
    }

The sends of a rank follow one another in the order of the plan, the packets from one rank likewise.
The first packet of a round requires the last packet sent and the last packet received from each
partner of the round before. A message that forwards blocks requires the last packet of each message
that brought them.

A packet of s bytes takes g + (s-1)G of LogGOPS. With integers, G = floor(8/rate) ns for a byte and
g is what full packets need beyond that: they are exact, shorter ones are over-estimated where
8/rate is no integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from allemande.formats.schedule import Block, Schedule
from allemande.topology import Cluster, Tuning


class _RankWriter:
    """The operations of one rank, numbered from 1."""

    def __init__(self, schedule: Schedule, rank: int) -> None:
        self._schedule = schedule
        self._rank = rank
        self._count = 0
        self._last_send = 0
        self._last_from: dict[int, int] = {}
        self._brought: dict[Block, int] = {}  # a block to forward -> the packet it was there with

    def lines(self) -> Iterator[str]:
        yield f"rank {self._rank} {{"
        for phase in self._schedule.phases(self._rank):
            ended: list[int] = []  # operations that end the round before
            for round_ in phase.rounds:
                started: set[int] = set()  # messages of which a packet has gone
                for message, payload in self._schedule.send_order(phase, round_):
                    needs = {self._last_send}
                    if not started:
                        needs.update(ended)
                    if message.peer not in started:
                        started.add(message.peer)
                        needs.update(self._brought.get(block, 0) for block in message.blocks)
                    yield from self._operation(f"send {payload}b to {message.peer}", needs)
                    self._last_send = self._count
                ended = [self._last_send] if round_.send else list(ended)
                for message in round_.receive:
                    for payload in self._schedule.packets(message):
                        needs = {self._last_from.get(message.peer, 0)}
                        yield from self._operation(f"recv {payload}b from {message.peer}", needs)
                        self._last_from[message.peer] = self._count
                    ended.append(self._count)
                    for block in message.blocks:
                        if block[1] != self._rank:
                            self._brought[block] = self._count
        yield "}"

    def _operation(self, text: str, needs: Iterable[int]) -> Iterator[str]:
        self._count += 1
        yield f"l{self._count}: {text} tag 0"
        for need in sorted(set(needs) - {0}):
            yield f"l{self._count} requires l{need}"


def write(schedule: Schedule) -> Iterator[str]:
    yield f"num_ranks {schedule.ranks}\n"
    for rank in range(schedule.ranks):
        yield from (f"{line}\n" for line in _RankWriter(schedule, rank).lines())


# ---- parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameters:
    """LogGOPSim's command line, whole numbers: nanoseconds, G in nanoseconds per byte."""

    latency: int
    overhead: int
    gap: int
    gap_per_byte: int
    eager_bytes: int  # S: messages of more bytes would wait for their receiver
    exact: bool  # packets shorter than a full one, too

    def __str__(self) -> str:
        return (
            f"-L {self.latency} -o {self.overhead} -g {self.gap} -G {self.gap_per_byte} -O 0 "
            f"-S {self.eager_bytes}"
        )


def parameters(schedule: Schedule, overhead_ns: int = 0) -> Parameters | None:
    """L, o, g, G and S of the schedule's network; None where it is not known.

    L is the latency of the longest route through the idle network without the packet's own time on
    the host link; o is what a packet costs the processor, 0 unless given.
    """
    cluster: Cluster | None = schedule.cluster
    tuning: Tuning | None = schedule.tuning
    if cluster is None or tuning is None:
        return None
    per_byte = 8e3 / tuning.host_rate_mbit_s
    gap_per_byte = int(per_byte)
    full = round(tuning.packet_time_us * 1e3)
    return Parameters(
        latency=max(round((tuning.latency_us - tuning.packet_time_us) * 1e3), 0),
        overhead=overhead_ns,
        gap=full - (schedule.packet_bytes - 1) * gap_per_byte,
        gap_per_byte=gap_per_byte,
        eager_bytes=schedule.size + 1,
        exact=abs(per_byte - gap_per_byte) < 1e-9,
    )
