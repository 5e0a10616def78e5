from __future__ import annotations

from itertools import combinations, product

import pytest
from tests.pairwise import pairwise

CHOICES = ("ab", range(5), (True, False), "xyz")


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_every_pair_is_in_a_row(columns: int) -> None:
    choices = CHOICES[:columns]
    rows = pairwise(*choices)
    for one, other in combinations(range(columns), 2):
        pairs = {(row[one], row[other]) for row in rows}
        assert pairs == set(product(choices[one], choices[other]))
    assert len(rows) <= 15
