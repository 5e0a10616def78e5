"""What a schedule that was read back moves: bytes between ranks, and an order without a cycle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from allemande.errors import BadInput

Node = TypeVar("Node", bound=Hashable)


def check_no_cycle(before: Mapping[Node, Iterable[Node]], source: str) -> list[Node]:
    """An order in which everything can happen; BadInput names those that wait for each other."""
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as error:
        waiting = " -> ".join(str(node) for node in error.args[1][:6])
        raise BadInput(f"{source}: these wait for each other: {waiting}") from None


def check_pairs(moved: Mapping[tuple[int, int], int], ranks: int, size: int, source: str) -> None:
    """Every rank gives every other `size` bytes."""
    for origin in range(ranks):
        for destination in range(ranks):
            found = moved.get((origin, destination), 0)
            if origin != destination and found != size:
                raise BadInput(
                    f"{source}: {found} bytes go from rank {origin} to rank {destination}; "
                    f"expected {size}"
                )
