"""The study of wrong cluster files: what its lies change, and how jobs are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from allemande.decisions import load_decisions
from allemande.errors import Failed
from allemande.study.told_wrong import compare
from allemande.study.wrong_files import (
    COST_MAX,
    LIES,
    Cost,
    job_seconds,
    reversed_decisions,
    reversed_times,
    verdict,
)
from allemande.topology import load_cluster, parse_cluster


def told(lie: str, cluster: str = "shallow-4x2") -> dict[str, tuple[str, float, int]]:
    """By host: its leaf, and the rate and the queue of its link."""
    read = parse_cluster(LIES[lie](load_cluster(cluster).to_toml()), "lie.toml")
    return {
        link.from_: (link.to, link.rate_down_mbit_s, link.queue_down_packets)
        for link in read.links
        if link.to.startswith("leaf")
    }


def test_each_lie_changes_what_it_says_alone() -> None:
    true = told("true")
    assert {rate for _, rate, _ in told("rates-tenth").values()} == {10}
    assert {rate for _, rate, _ in told("rates-tenfold").values()} == {1000}
    assert {queue for _, _, queue in told("queues-tenfold").values()} == {100}
    assert {queue for _, _, queue in told("queues-tenth").values()} == {1}
    assert {queue for _, _, queue in told("queues-none").values()} != {10}
    moved = told("leaves-shuffled")
    assert moved.keys() == true.keys() and moved != true
    assert {host for host, one in moved.items() if one != true[host]}
    assert set(told("hosts-renamed")) == {f"old-{host}" for host in true}
    assert set(true) - set(told("one-renamed")) == {"h1"}


def test_latencies_that_lie_are_those_of_the_file_times_ten() -> None:
    true = parse_cluster(load_cluster("grid-8-8-8").to_toml(), "true.toml")
    for lie, factor in (("latencies-tenth", 0.1), ("latencies-tenfold", 10)):
        read = parse_cluster(LIES[lie](true.to_toml()), "lie.toml")
        assert [link.latency_us for link in read.links] == pytest.approx(
            [factor * link.latency_us for link in true.links]
        )


def test_what_is_left_out_is_gone() -> None:
    for cluster in ("grid-8-8-8", "shallow-4x2"):
        true = load_cluster(cluster).to_toml()
        assert "latency_us" not in LIES["latencies-none"](true)
        assert "queue_" not in LIES["queues-none"](true)
    told_output = LIES["architecture"]('architecture = "shared"\nbuffer_packets = 9\n')
    assert told_output == 'architecture = "output"\n'


def test_jobs_are_compared_with_those_without_a_file() -> None:
    found = {one.lie: one for one in compare(7, 20_000)}
    assert found["latencies-none"].window < found["true"].window / 2
    assert found["latencies-none"].cost > found["true"].cost > 0


def test_of_another_day_the_slowest_way_has_the_time_of_the_fastest(tmp_path: Path) -> None:
    assert reversed_times({"a": 3.0, "b": 1.0, "c": 2.0}) == {"b": 3.0, "c": 2.0, "a": 1.0}
    path = tmp_path / "decisions.toml"
    path.write_text(
        """decisions = 2

[[decision]]
version = "1"
mpi = "Open MPI"
configuration = "00"
calls = "MPI_Alltoall"
ranks = 4
hosts = 4
least_bytes = 512
most_bytes = 1023
chosen = "library"
why = "the fastest of 2; 1 too dear to be tried yet"
way = [
  { key = "udp sync-shuffle", name = "ours", time_us = 900.000, seen = 3, packets = 3 },
  { key = "library", name = "the library", time_us = 100.000, seen = 9, packets = 0 },
  { key = "mpi all", name = "all at once", time_us = 0.000, seen = 0, packets = 0 },
]
"""
    )
    true = path.read_text()
    path.write_text(reversed_decisions(true))
    (one,) = load_decisions(str(path))
    told = {way.name: way.time_us for way in one.ways}
    assert told == {"ours": 100, "the library": 900, "all at once": None}
    assert one.chosen == "ours"
    # Where one way alone was tried, the library is said to be far faster.
    path.write_text(reversed_decisions(true.replace("100.000, seen = 9", "0.000, seen = 0")))
    (one,) = load_decisions(str(path))
    told = {way.name: way.time_us for way in one.ways}
    assert told == {"ours": 900, "the library": 90, "all at once": None}
    assert one.chosen == "the library"


def test_the_least_of_the_jobs_counts() -> None:
    assert job_seconds([3, 1, 1, 1, 5, 5], 2) == 2
    with pytest.raises(Failed, match="1 calls; expected at least 2"):
        job_seconds([1], 2)


def test_one_lie_that_costs_more_misses() -> None:
    costs = [Cost("c", "openmpi", 1000, lie, s, 1.0, []) for lie, s in (("a", 0.9), ("b", 1.04))]
    assert verdict(costs)[0]
    dear = Cost("c", "openmpi", 1000, "c", COST_MAX + 0.01, 1.0, [])
    assert verdict([*costs, dear]) == (
        False,
        "3 wrong files: at most 1.060 times a job without a file (c, openmpi, 1 KB, c); 1.05 "
        "asked: missed",
    )
