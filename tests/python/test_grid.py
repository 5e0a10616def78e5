"""Exchanges between sites, simulated: what the clusters of the papers' grid carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from allemande.errors import BadInput
from allemande.simulation.case import Result, simulate
from allemande.topology import load_cluster, parse_cluster

GRIDS = ("grid-30-30", "grid-10-20", "grid-8-8-8", "grid-6-54")
LOCAL_BYTES = 125e6  # a host link carries in a second
FRAME = 1514 / 1472


def run(cluster: str, algorithm: str, size: int, **options: Any) -> Result:
    result = simulate(cluster, algorithm, size, **options)
    assert result.crossings == {"leaf": 1.0, "site": 1.0}
    return result


@pytest.mark.parametrize("cluster", GRIDS)
def test_multi_site_comes_near_the_bound_and_loses_nothing(cluster: str) -> None:
    for size, least in ((1024, 0.85), (8192, 0.92), (65536, 0.95)):
        result = run(cluster, "multi-site", size)
        assert result.fraction_of_bound >= least, size
        assert result.dropped == 0
        assert result.latency_s == pytest.approx(5e-3)
        # What crosses is the limit here: it has its frame times on the way, too.
        assert 0 < result.bound_s - (result.limit_s + result.latency_s) < 1e-4
        assert result.fraction_of_bound == pytest.approx(result.bound_s / result.time_s)


@pytest.mark.parametrize("cluster", GRIDS)
def test_local_group_comes_near_its_best_case(cluster: str) -> None:
    """The local part, then what crosses, then the latency: nothing of it at the same time."""
    sites = load_cluster(cluster).sites()
    largest = max(sites.count(site) for site in sites)
    others = len(sites) - largest
    for size in (1024, 8192, 65536):
        result = run(cluster, "local-group", size)
        # Every host of the larger site forwards blocks within its site and for the other sites.
        blocks = largest - 1 + others * (largest - 1) / largest
        local_s = blocks * size * FRAME / LOCAL_BYTES
        assert result.time_s <= (local_s + result.limit_s + result.latency_s) / 0.95, size


@pytest.mark.parametrize("cluster", GRIDS)
def test_nothing_crosses_twice_by_any_algorithm_between_sites(cluster: str) -> None:
    for algorithm in ("grid", "coordinator", "sync-shuffle"):
        run(cluster, algorithm, 64)
    # Bruck's algorithm knows no places: blocks come by other sites.
    bruck = simulate(cluster, "bruck", 64).crossings
    assert bruck is not None and 1.1 < bruck["site"] < 1.3


def test_a_coordinator_is_not_swamped_where_sites_are_out_of_step() -> None:
    """Its own site and the others send to it at once; their windows share its queue."""
    file = Path(__file__).parents[1] / "mpi" / "clusters" / "two-leaves.toml"
    leaves = "".join(f'name = "leaf{leaf}"\nsite = "s{leaf}"\n\n[[switch]]\n' for leaf in (0, 1))
    text = file.read_text().replace('name = "leaf[0-1]"\n\n[[switch]]\n', leaves, 1)
    cluster = parse_cluster(text, "two sites")
    for seed in (1, 2, 3):
        result = simulate(cluster, "coordinator", 30_000, jitter_us=10_000, exchanges=5, seed=seed)
        assert result.dropped == 0


def test_the_order_of_ranks_does_not_matter() -> None:
    in_order = run("grid-8-8-8", "multi-site", 8192)
    dealt = [f"h{i // 3 + 8 * (i % 3)}" for i in range(24)]
    for algorithm in ("local-group", "coordinator"):
        run("grid-8-8-8", algorithm, 1024, hosts=dealt)
    result = run("grid-8-8-8", "multi-site", 8192, hosts=dealt)
    assert result.time_s == pytest.approx(in_order.time_s, rel=0.02)


def test_two_ranks_per_host_take_what_their_bytes_take() -> None:
    one = run("grid-30-30", "multi-site", 4 * 2048)
    two = run("grid-30-30", "multi-site", 2048, ranks_per_host=2)
    assert two.time_s == pytest.approx(one.time_s, rel=0.02)


@pytest.mark.parametrize("cluster", ["grid-30-30", "grid-8-8-8"])
@pytest.mark.parametrize("matrix", ["zipf:1.2", "block"])
def test_blocks_of_different_sizes(cluster: str, matrix: str) -> None:
    result = run(cluster, "multi-site", 8192, matrix=matrix, seed=3)
    assert (result.limit_s + result.latency_s) / result.time_s >= 0.85
    if matrix != "block":
        # The busiest link is that of a host, which may receive its own site's blocks last.
        assert result.limit_s < result.bound_s < result.limit_s + 1e-4


def test_losses_between_sites_cost_a_round_trip() -> None:
    """One packet in a hundred, over the two links from site to site."""
    whole = run("grid-8-8-8", "multi-site", 65536)
    faults = [
        {"kind": "lossy-link", "from": site, "to": "core", "part": 0.005}
        for site in ("rennes", "nancy", "lyon")
    ]
    lossy = run("grid-8-8-8", "multi-site", 65536, faults=faults)
    assert lossy.dropped > 100
    assert lossy.time_s <= whole.time_s + 1.5 * 2 * whole.latency_s


@pytest.mark.parametrize(("size", "least"), [(65536, 0.8), (262144, 0.9)])
def test_one_loss_in_a_hundred_costs_one_round_trip(size: int, least: float) -> None:
    whole = run("grid-30-30", "multi-site", size)
    fault = {"kind": "lossy-link", "from": "rennes", "to": "nancy", "part": 0.01}
    lossy = run("grid-30-30", "multi-site", size, faults=[fault])
    assert lossy.dropped > 500
    assert whole.time_s / lossy.time_s >= least
    assert lossy.raw["data_packets"] == whole.raw["data_packets"]


def test_a_slow_host_costs_its_own_bound() -> None:
    """A host link at half its rate, of which the cluster file knows nothing."""
    whole = run("grid-30-30", "multi-site", 65536)
    slow = [{"kind": "slow-host", "host": "h7", "factor": 2}]
    result = run("grid-30-30", "multi-site", 65536, faults=slow)
    # The bytes of h7 at half the rate of its link.
    own_s = 59 * 65536 * FRAME / (LOCAL_BYTES / 2)
    assert result.time_s <= max(own_s + whole.latency_s, whole.time_s) / 0.8


def test_small_blocks_cross_together() -> None:
    assert run("grid-30-30", "multi-site", 48).raw["data_packets"] == 60 * 30
    assert run("grid-30-30", "multi-site", 49).raw["data_packets"] == 60 * 59


def test_algorithms_that_know_sites_need_them() -> None:
    with pytest.raises(BadInput, match="`multi-site` needs to know the site of every host"):
        simulate("tam-8x2", "multi-site", 1024)
    assert "crossings" not in simulate("tam-8x1", "sync-shuffle", 1024).as_json()


def test_latency_and_bound_stand_beside_the_limit() -> None:
    assert simulate("tam-8x1", "sync-shuffle", 1024).latency_s == 0
    one_site = simulate("grid-30-30", "sync-shuffle", 1024, hosts=["h0", "h1", "h2"])
    assert one_site.latency_s == 0
    # Two messages leave a host, and the last one has the receiver's link before it.
    frame_s = 8 * (1024 + 42) / 1e9
    assert one_site.bound_s == pytest.approx(one_site.limit_s + frame_s)


def test_jobs_that_share_the_hosts_have_sites_of_their_own() -> None:
    result = run("grid-8-8-8", "multi-site", 1024, jobs=2, job_layout="split")
    assert result.dropped == 0


def test_paths_are_not_assigned_to_exchanges_of_several_phases() -> None:
    with pytest.raises(BadInput, match="needs an algorithm of one phase"):
        simulate("grid-8-8-8", "multi-site", 8192, paths=4, path_policy="assigned", routing="ecmp")
