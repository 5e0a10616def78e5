"""htsim's connection matrix: one flow for each message, rounds joined by barriers.

::

    Nodes 4
    Connections 12
    Triggers 8
    0->1 id 1 start 0 size 10000 send_done_trigger 1 recv_done_trigger 3
    0->2 id 2 trigger 1 size 10000
    trigger id 1 barrier count 2

A flow of a rank's first round starts at 0 (picoseconds). Those of a later round are started by a
barrier that counts what the rank has sent and received in the round before. Flows are all there is:
that packets to the partners of a round alternate cannot be said, and is lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from allemande.errors import BadInput
from allemande.formats.schedule import Message, Schedule

LOST = "htsim knows flows only: that the packets to the partners of a round alternate is lost"
SIZE_MAX = 2**31 - 1  # read with stoi


Stage = tuple[int, int]  # phase and round


@dataclass(frozen=True)
class _Flow:
    sender: int
    receiver: int
    size: int
    sent_in: Stage
    received_in: Stage  # as the receiver counts its rounds


def _flows(schedule: Schedule) -> list[_Flow]:
    received_in: dict[tuple[int, int, int], Stage] = {}  # phase, sender, receiver
    sends: list[tuple[int, Message, Stage]] = []
    for rank in range(schedule.ranks):
        for place, phase in enumerate(schedule.phases(rank)):
            for number, round_ in enumerate(phase.rounds):
                sends += ((rank, message, (place, number)) for message in round_.send)
                for message in round_.receive:
                    received_in[place, message.peer, rank] = (place, number)
    flows = []
    for rank, message, stage in sends:
        size = schedule.size * len(message.blocks)
        if size > SIZE_MAX:
            raise BadInput(f"a flow of {size} bytes; htsim reads at most {SIZE_MAX}")
        there = received_in[stage[0], rank, message.peer]
        flows.append(_Flow(rank, message.peer, size, stage, there))
    return flows


def write(schedule: Schedule) -> Iterator[str]:
    flows = _flows(schedule)
    # What a rank sends and receives, by stage: the barrier behind it starts its next flows.
    busy: dict[int, dict[Stage, int]] = defaultdict(lambda: defaultdict(int))
    starts: dict[int, set[Stage]] = defaultdict(set)  # stages in which a rank sends
    for flow in flows:
        busy[flow.sender][flow.sent_in] += 1
        busy[flow.receiver][flow.received_in] += 1
        starts[flow.sender].add(flow.sent_in)
    barriers: dict[tuple[int, Stage], tuple[int, int]] = {}  # (rank, stage) -> id and count
    started_by: dict[tuple[int, Stage], int] = {}
    for rank in range(schedule.ranks):
        stages = sorted(busy[rank])
        carried = 0  # of rounds in which the rank sends nothing after
        for stage, following in pairwise(stages):
            carried += busy[rank][stage]
            if following in starts[rank]:
                identity = len(started_by) + 1
                started_by[rank, following] = identity
                for earlier in stages:
                    if earlier <= stage and (rank, earlier) not in barriers:
                        barriers[rank, earlier] = (identity, carried)
                carried = 0
    counts = dict(sorted(set(barriers.values())))
    yield f"Nodes {schedule.ranks}\nConnections {len(flows)}\nTriggers {len(counts)}\n"
    for number, flow in enumerate(flows, 1):
        start = started_by.get((flow.sender, flow.sent_in))
        words = [f"{flow.sender}->{flow.receiver} id {number}"]
        words.append(f"trigger {start}" if start else "start 0")
        words.append(f"size {flow.size}")
        for name, end in (
            ("send", (flow.sender, flow.sent_in)),
            ("recv", (flow.receiver, flow.received_in)),
        ):
            if end in barriers:
                words.append(f"{name}_done_trigger {barriers[end][0]}")
        yield " ".join(words) + "\n"
    for identity, count in counts.items():
        yield f"trigger id {identity} barrier count {count}\n"
