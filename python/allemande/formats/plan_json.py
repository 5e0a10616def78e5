"""The plan as data: one JSON document with what every rank sends and receives (docs/formats.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from allemande.formats.schedule import Message, Phase, Schedule

FORMAT = 1


def _messages(messages: Sequence[Message], rank: int, sent: bool) -> list[Any]:
    """A peer alone where the message is the one block between the two; else peer and blocks."""
    found: list[Any] = []
    for message in messages:
        own = (rank, message.peer) if sent else (message.peer, rank)
        blocks = [list(block) for block in message.blocks]
        found.append(
            message.peer if blocks == [list(own)] else {"peer": message.peer, "blocks": blocks}
        )
    return found


def _phase(phase: Phase, rank: int) -> dict[str, Any]:
    return {
        "interleaved": phase.interleaved,
        "rounds": [
            {
                "send": _messages(each.send, rank, sent=True),
                "receive": _messages(each.receive, rank, sent=False),
            }
            for each in phase.rounds
        ],
    }


def write(schedule: Schedule) -> Iterator[str]:
    """The document in pieces: head, a line for each rank, end."""
    tuning = schedule.tuning
    head = {
        "format": FORMAT,
        "algorithm": schedule.algorithm,
        "identity": schedule.identity,
        "permutation": schedule.used_permutation,
        "ranks": schedule.ranks,
        "bytes": schedule.size,
        "packet_bytes": schedule.packet_bytes,
        "window_packets": tuning.window_packets if tuning else None,
        "grain_packets": tuning.grain_packets if tuning else None,
        "hosts": schedule.hosts,
    }
    text = json.dumps(head, indent=1)
    yield text.removesuffix("\n}") + ',\n "plans": [\n'
    for rank in range(schedule.ranks):
        phases = [_phase(phase, rank) for phase in schedule.phases(rank)]
        comma = "," if rank + 1 < schedule.ranks else ""
        yield f"  {json.dumps({'rank': rank, 'phases': phases})}{comma}\n"
    yield " ]\n}\n"
