"""LID tables in which the numbers of a host lead elsewhere than in those of a subnet manager."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allemande import _core
from allemande.errors import BadInput
from allemande.topology import Cluster


def order_numbers(cluster: Cluster, options: Mapping[str, Any]) -> dict[str, Any]:
    """`number_order` among the options: number k of each host goes where number order[k] went.

    The other options stay. Raises BadInput unless the order names each of 2^lmc numbers once.
    """
    left = dict(options)
    order = left.pop("number_order", None)
    if order is None:
        return left
    lmc = int(left.get("lmc", 0))
    count = 1 << lmc
    if sorted(order) != list(range(count)):
        raise BadInput(f"number_order {order} does not name each number from 0 to {count - 1} once")
    made = _core.make_routes(cluster, "lid", lmc).lid_tables()
    left["lid_tables"] = [
        [row[first + k] for first in range(0, len(row), count) for k in order] for row in made
    ]
    return left
