"""The plan as data, read back and proved: every block arrives once, and nobody waits for ever."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.python.readers.traffic import check_no_cycle, check_pairs

from allemande.errors import BadInput
from allemande.formats.plan_json import FORMAT
from allemande.formats.schedule import Block


@dataclass(frozen=True)
class ReadPlan:
    """What a document says, checked."""

    head: Mapping[str, Any]
    plans: Sequence[Mapping[str, Any]]


_KINDS: Mapping[str, Any] = {
    "format": int,
    "algorithm": str,
    "identity": str,
    "permutation": str,
    "ranks": int,
    "bytes": int,
    "packet_bytes": int,
    "window_packets": int | None,
    "grain_packets": int | None,
    "hosts": list | None,
    "plans": list,
}


def _expand(messages: Sequence[Any], rank: int, sent: bool) -> list[tuple[int, list[Block]]]:
    found = []
    for each in messages:
        if isinstance(each, int):
            found.append((each, [(rank, each) if sent else (each, rank)]))
        else:
            found.append((each["peer"], [(origin, to) for origin, to in each["blocks"]]))
    return found


def read(text: str, source: str) -> ReadPlan:
    """A document, proved: it delivers every block once, and nobody waits for ever."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{source}: not valid JSON: {error}; expected a plan") from None
    if not isinstance(document, dict) or set(document) != set(_KINDS):
        raise BadInput(f"{source}: expected an object with the keys {', '.join(_KINDS)}")
    for key, kind in _KINDS.items():
        if not isinstance(document[key], kind):
            raise BadInput(f"{source}: `{key}` is {document[key]!r:.40}; expected {kind}")
    if document["format"] != FORMAT:
        raise BadInput(f"{source}: format {document['format']}; expected {FORMAT}")
    plans = document.pop("plans")
    try:
        _prove(plans, document["ranks"], document["bytes"], source)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{source}: {error!r} where a plan of one rank is read") from None
    return ReadPlan(document, plans)


# A message: (phase, sender, receiver). Sender and receiver count their rounds apart.
_Name = tuple[int, int, int]


@dataclass
class _Proof:
    sent: dict[_Name, list[Block]] = field(default_factory=dict)
    received: dict[_Name, list[Block]] = field(default_factory=dict)
    before: dict[_Name, list[_Name]] = field(default_factory=dict)  # what a message waits for

    def add(self, rank: int, phase: int, rounds: Sequence[Mapping[str, Any]]) -> None:
        ended: list[_Name] = []
        for round_ in rounds:
            sends = _expand(round_["send"], rank, sent=True)
            receives = _expand(round_["receive"], rank, sent=False)
            names = [(phase, rank, peer) for peer, _ in sends]
            self.before |= {name: list(ended) for name in names}
            self.sent |= {(phase, rank, peer): blocks for peer, blocks in sends}
            self.received |= {(phase, peer, rank): blocks for peer, blocks in receives}
            ended = [*names, *((phase, peer, rank) for peer, _ in receives)] or ended


def _prove(plans: Sequence[Mapping[str, Any]], ranks: int, size: int, source: str) -> None:
    proof = _Proof()
    for place, plan in enumerate(plans):
        if plan["rank"] != place or len(plans) != ranks:
            raise BadInput(f"{source}: plan {place} is of rank {plan['rank']}; expected all ranks")
        for phase, each in enumerate(plan["phases"]):
            proof.add(place, phase, each["rounds"])
    sent, received = proof.sent, proof.received
    if sent != received:
        differing = sorted(set(sent) ^ set(received)) or [n for n in sent if sent[n] != received[n]]
        raise BadInput(f"{source}: message {differing[0]} differs between sender and receiver")
    came = {(name[2], block): name for name in sorted(sent) for block in sent[name]}
    moved: dict[tuple[int, int], int] = {}
    for name, blocks in sent.items():
        for block in blocks:
            if block[1] == name[2]:
                moved[block] = moved.get(block, 0) + size
            if block[0] != name[1]:
                earlier = came.get((name[1], block))
                if earlier is None or earlier[0] >= name[0]:
                    raise BadInput(f"{source}: message {name} holds block {block} too early")
                proof.before[name].append(earlier)
    check_no_cycle(proof.before, source)
    check_pairs(moved, ranks, size, source)
