"""Several paths between two hosts, simulated."""

from __future__ import annotations

from typing import Any

import pytest

from allemande.errors import BadInput
from allemande.simulation.case import simulate
from allemande.topology import Cluster, parse_cluster

HOSTS, LEAVES, SPINES = 4, 4, 4
QUEUES = "queue_up_packets = 45\nqueue_down_packets = 45\n"


def leaf_spine(slow_mbit_s: float = 100, flow_control: str = "drop") -> Cluster:
    """As many uplinks as hosts below each leaf; the links of the last spine may be slower."""
    text = f"""
format = 1
name = "leaf-spine"
[[switch]]
name = "leaf[0-{LEAVES - 1}]"
flow_control = "{flow_control}"
[[switch]]
name = "spine[0-{SPINES - 1}]"
flow_control = "{flow_control}"
[[host]]
name = "h[0-{HOSTS * LEAVES - 1}]"
"""
    for leaf in range(LEAVES):
        text += f"""
[[link]]
from = "h[{leaf * HOSTS}-{leaf * HOSTS + HOSTS - 1}]"
to = "leaf{leaf}"
rate_mbit_s = 100
{QUEUES}"""
        for spine in range(SPINES):
            rate = slow_mbit_s if spine == SPINES - 1 else 100
            text += f"""
[[link]]
from = "leaf{leaf}"
to = "spine{spine}"
rate_mbit_s = {rate}
{QUEUES}"""
    return parse_cluster(text, "leaf-spine")


def permutation(size: int, distance: int = 5) -> list[list[int]]:
    count = HOSTS * LEAVES
    return [
        [size if (i + distance) % count == j else 0 for j in range(count)] for i in range(count)
    ]


def raw(cluster: Cluster, **options: Any) -> dict[str, Any]:
    return simulate(cluster, **options).raw


def test_path_loads_count_every_data_packet() -> None:
    one = raw(leaf_spine(), size=20_000, routing="ecmp")
    assert one["path_loads"] == [one["data_packets"] + one["retransmitted"]]
    several = raw(leaf_spine(), size=20_000, routing="ecmp", paths=4, path_policy="rotate")
    assert len(several["path_loads"]) == 4
    assert sum(several["path_loads"]) == several["data_packets"] + several["retransmitted"]
    assert min(several["path_loads"]) > 0.8 * sum(several["path_loads"]) / 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"paths": 33}, "expected 1 to 32"),
        ({"paths": 4, "path_batch": 5, "routing": "ecmp"}, "a batch of 5 paths, but there are"),
        ({"paths": 4}, "routing `d-mod-k` has one way for each destination"),
        ({"paths": 5, "routing": "source"}, "hosts are at most 4 routes apart"),
        ({"paths": 4, "routing": "ecmp", "path_policy": "best"}, "path policy `best` is unknown"),
        ({"paths": 4, "routing": "ecmp", "reliability": "go-back-n"}, "selective-repeat"),
        ({"transport": "stripes", "path_policy": "one"}, "back-pressure"),
        ({"transport": "stripes", "stripe_alpha": 1.5}, "expected more than 0, up to 1"),
    ],
)
def test_paths_that_there_are_not_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        simulate(leaf_spine(), size=1000, **options)


# A permutation between leaves loads every uplink with one flow, if no two share one.
def test_assigned_paths_are_disjoint() -> None:
    matrix = permutation(200_000)
    options = {"matrix": matrix, "routing": "ecmp"}
    assigned = raw(leaf_spine(), **options, paths=32, path_policy="assigned")
    hashed = raw(leaf_spine(), **options)
    assert assigned["fraction_of_limit"] >= 0.93
    assert hashed["fraction_of_limit"] < 0.6
    assert assigned["retransmitted"] == 0


def test_assigned_paths_fill_the_links_in_the_complete_exchange() -> None:
    assigned = raw(leaf_spine(), size=100_000, routing="ecmp", paths=32, path_policy="assigned")
    hashed = raw(leaf_spine(), size=100_000, routing="ecmp")
    assert assigned["fraction_of_limit"] >= 0.93
    assert assigned["fraction_of_limit"] > hashed["fraction_of_limit"]


@pytest.mark.parametrize("policy", ["least-loaded", "hsam", "bitmap", "recycled"])
def test_adaptive_paths_leave_a_slow_spine(policy: str) -> None:
    matrix = permutation(400_000)
    result = raw(leaf_spine(10), matrix=matrix, routing="source", paths=4, path_policy=policy)
    packets = {port["name"]: port["packets"] for port in result["ports"]}
    slow = sum(packets[f"leaf{leaf} -> spine3"] for leaf in range(LEAVES))
    everything = sum(
        packets[f"leaf{leaf} -> spine{spine}"] for leaf in range(LEAVES) for spine in range(SPINES)
    )
    # Its links could carry 3 % of what crosses.
    assert slow < 0.12 * everything


def test_stripes_of_the_message_layer() -> None:
    options: dict[str, Any] = {
        "transport": "stripes",
        "algorithm": "shift-exchange",
        "routing": "source",
        "paths": 4,
        "size": 200_000,
        "exchanges": 3,
    }
    cluster = leaf_spine(10, "back-pressure")
    even = raw(cluster, **options, path_policy="even")
    weighed = raw(cluster, **options, path_policy="hsam")
    assert even["out_of_order"] > 0
    assert weighed["exchange_s"][-1] < even["exchange_s"][-1]
    costly = raw(cluster, **options, path_policy="even", post_ns=5e5, completion_ns=5e5)
    assert costly["time_s"] > even["time_s"]


@pytest.mark.parametrize("transport", ["stripes", "messages"])
def test_patterns_go_by_messages_too(transport: str) -> None:
    lossless = leaf_spine(flow_control="back-pressure")
    result = simulate(
        lossless, size=20_000, pattern="drc", transport=transport, path_policy="one", exchanges=2
    )
    assert result.step_s is not None and len(result.step_s) == HOSTS * LEAVES - 1
    assert result.visits_s is not None and len(result.visits_s) == 2
    assert 0.2 < result.fraction_of_limit <= 1


def test_results_tell_what_each_path_carried() -> None:
    result = simulate(
        leaf_spine(), size=20_000, pattern="drc", routing="ecmp", paths=4, path_policy="rotate"
    )
    written = result.as_json()
    assert written["path_loads"] == result.raw["path_loads"]
    assert len(written["path_loads"]) == 4 and min(written["path_loads"]) > 0
    assert simulate(leaf_spine(), size=20_000, mode="flow").as_json()["path_loads"] is None


@pytest.mark.parametrize(
    "options",
    [
        {"hosts": [f"h{i}" for i in range(24)], "pattern": "drc"},
        {"hosts": [f"h{i}" for i in range(28)], "mapping": "random"},  # leaves of 12, 12 and 4
        {
            "hosts": [f"h{i}" for i in range(28)],
            "mapping": "random",
            "pattern": "allgather-ring",
        },
    ],
)
def test_assigned_paths_reach_the_bound_on_a_large_switch(options: dict[str, Any]) -> None:
    options = {"routing": "lid", "lmc": 4, "paths": 16, "path_policy": "assigned", **options}
    result = simulate("ib-144", size=131_072, **options)
    assert result.fraction_of_limit >= 0.97
