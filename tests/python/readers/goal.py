"""GOAL, read back: packets pair up, and nobody waits for ever."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from tests.python.readers.traffic import check_no_cycle

from allemande.errors import BadInput

_OPERATION = re.compile(r"l(\d+): (send|recv) (\d+)b (to|from) (\d+) tag 0")
_REQUIRES = re.compile(r"l(\d+) requires l(\d+)")
_Node = tuple[int, int]  # rank, operation


@dataclass(frozen=True)
class GoalFile:
    """What a file says, checked: it ends, and every packet that is sent is received."""

    ranks: int
    operations: int
    moved: dict[tuple[int, int], int]  # bytes from rank to rank, whatever is in them


def read(text: str, source: str) -> GoalFile:
    """Reads what `write` writes; BadInput where packets do not pair up or somebody waits for ever.

    Packets between two ranks pair up in the order in which they stand, as tags are all 0.
    """
    ranks, rank = 0, -1
    before: dict[_Node, list[_Node]] = {}
    sends: dict[tuple[int, int], list[tuple[_Node, int]]] = defaultdict(list)
    receives: dict[tuple[int, int], list[tuple[_Node, int]]] = defaultdict(list)
    for number, line in enumerate(text.splitlines(), 1):
        if match := _OPERATION.fullmatch(line):
            node, size, peer = (rank, int(match[1])), int(match[3]), int(match[5])
            before[node] = []
            if match[2] == "send":
                sends[rank, peer].append((node, size))
            else:
                receives[peer, rank].append((node, size))
        elif match := _REQUIRES.fullmatch(line):
            if (rank, int(match[2])) not in before or (rank, int(match[1])) not in before:
                raise BadInput(f"{source}:{number}: {line!r} names what is not there")
            before[rank, int(match[1])].append((rank, int(match[2])))
        elif match := re.fullmatch(r"num_ranks (\d+)", line):
            ranks = int(match[1])
        elif match := re.fullmatch(r"rank (\d+) \{", line):
            rank = int(match[1])
        elif line != "}":
            raise BadInput(f"{source}:{number}: {line!r} cannot be read; expected GOAL")
    moved = {}
    for pair in sorted(set(sends) | set(receives)):
        if [size for _, size in sends[pair]] != [size for _, size in receives[pair]]:
            raise BadInput(f"{source}: what {pair[0]} sends to {pair[1]} is not what is received")
        for (sent, _), (received, _) in zip(sends[pair], receives[pair], strict=True):
            before[received].append(sent)
        moved[pair] = sum(size for _, size in sends[pair])
    check_no_cycle(before, source)
    return GoalFile(ranks, len(before), moved)
