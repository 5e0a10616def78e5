"""Who runs when. A machine that warms up, or slowly fills, must not count for one of the sides."""

from __future__ import annotations

import random
from collections.abc import Iterator

STOCK, PRELOADED = "stock", "preloaded"
SIDES = (STOCK, PRELOADED)


def order_of_turns(rounds: int, seed: int) -> Iterator[tuple[str, str]]:
    """The two sides of each round in their order.

    Chance decides who begins in a round, and the next round has the opposite order: what changes
    steadily cancels over the two.
    """
    chance = random.Random(seed)
    for number in range(rounds):
        if number % 2 == 0:
            first, second = chance.sample(SIDES, 2)
        else:
            first, second = second, first
        yield first, second
