"""Fewer runs than the product of all choices: every pair of two choices comes up in one of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import pytest


def pairwise(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Rows with one of each of `choices`, in which any two of different ones stand together.

    The next row is always the one with most pairs that no row has; of equals the first.
    """
    columns = [list(choice) for choice in choices]
    rows = list(product(*(range(len(column)) for column in columns)))
    places = list(combinations(range(len(columns)), 2))

    def pairs(row: tuple[int, ...]) -> set[tuple[int, int, int, int]]:
        return {(one, row[one], other, row[other]) for one, other in places}

    wanted = set().union(*map(pairs, rows)) if places else set()
    found = []
    while wanted:
        best = max(rows, key=lambda row: len(pairs(row) & wanted))
        wanted -= pairs(best)
        found.append(best)
    return [
        tuple(column[at] for column, at in zip(columns, row, strict=True)) for row in sorted(found)
    ]


def parametrize_pairwise(**choices: Iterable[Any]) -> pytest.MarkDecorator:
    """As `pytest.mark.parametrize` of each choice, which may be the name of a fixture."""
    return pytest.mark.parametrize(tuple(choices), pairwise(*choices.values()))
