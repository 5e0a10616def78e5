"""htsim's connection matrix, read back: counts are exact, and every barrier opens."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from tests.python.readers.traffic import check_no_cycle

from allemande.errors import BadInput

_FLOW = re.compile(
    r"(\d+)->(\d+) id (\d+) (?:start 0|trigger (\d+)) size (\d+)"
    r"(?: send_done_trigger (\d+))?(?: recv_done_trigger (\d+))?"
)


@dataclass(frozen=True)
class HtsimFile:
    """What a file says, checked: counts are exact, and every barrier opens."""

    nodes: int
    flows: int
    moved: dict[tuple[int, int], int]


def read(text: str, source: str) -> HtsimFile:
    head: dict[str, int] = {}
    counts: dict[int, int] = {}
    reached: dict[int, int] = defaultdict(int)
    before: dict[str, list[str]] = {}
    moved: dict[tuple[int, int], int] = defaultdict(int)
    ids: set[int] = set()
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.fullmatch(r"(Nodes|Connections|Triggers) (\d+)", line):
            head[match[1]] = int(match[2])
        elif match := _FLOW.fullmatch(line):
            identity = int(match[3])
            if identity in ids or identity == 0:
                raise BadInput(f"{source}:{number}: id {identity} is not valid or not unique")
            ids.add(identity)
            moved[int(match[1]), int(match[2])] += int(match[5])
            before[f"flow {identity}"] = [f"trigger {match[4]}"] if match[4] else []
            for done in filter(None, (match[6], match[7])):
                reached[int(done)] += 1
                before.setdefault(f"trigger {done}", []).append(f"flow {identity}")
        elif match := re.fullmatch(r"trigger id (\d+) barrier count (\d+)", line):
            counts[int(match[1])] = int(match[2])
        else:
            raise BadInput(f"{source}:{number}: {line!r} cannot be read; expected a flow")
    expected = {"Connections": len(ids), "Triggers": len(counts)}
    if any(head.get(key) != value for key, value in expected.items()) or "Nodes" not in head:
        raise BadInput(f"{source}: the counts {head} are not those of the lines: {expected}")
    if counts != dict(reached):
        raise BadInput(f"{source}: barriers count {counts}, and as many flows end: {dict(reached)}")
    check_no_cycle(before, source)
    return HtsimFile(head["Nodes"], len(ids), dict(moved))
