"""Several ranks per host: every byte right, whatever their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, MPIS, Bench, Done
from tests.mpi.several_ranks import (
    EQUAL,
    LED_BY_TWO,
    NODE_CLUSTER,
    SLOTS,
    TWO_LEADERS,
    UNEQUAL,
    check_udp,
    name_of,
)
from tests.pairwise import parametrize_pairwise


@parametrize_pairwise(mpi=MPIS, slots=SLOTS, what=["sizes", "types", "communicators", "children"])
def test_equal_blocks_are_right(node: Bench, what: str, slots: Sequence[int]) -> None:
    check_udp(node.run("correct", what, slots=slots))


@pytest.mark.parametrize("slots", SLOTS, ids=name_of)
def test_combined_blocks_are_right(node: Bench, slots: Sequence[int]) -> None:
    done = node.run("correct", "sizes", slots=slots, env={"ALLEMANDE_ALGORITHM": "combine"})
    check_udp(done)


def told_of_two_leaders(done: Done) -> bool:
    return any("over UDP by 2 leaders per host" in line for line in done.warnings)


@parametrize_pairwise(
    mpi=MPIS, slots=LED_BY_TWO, what=["sizes", "types", "communicators", "threads"]
)
def test_two_leaders_share_equal_blocks(node: Bench, what: str, slots: Sequence[int]) -> None:
    done = node.run("correct", what, slots=slots, env=TWO_LEADERS)
    done.check()
    assert done.stats["communicators_mpi"] == 0
    assert what != "sizes" or told_of_two_leaders(done), done.err


@parametrize_pairwise(mpi=MPIS, slots=LED_BY_TWO, what=["sizes", "types", "sparse"])
def test_two_leaders_share_blocks_of_any_size(node: Bench, what: str, slots: Sequence[int]) -> None:
    done = node.run("blocks", what, slots=slots, env=TWO_LEADERS)
    done.check()
    assert done.stats["communicators_mpi"] == 0
    assert told_of_two_leaders(done), done.err


@pytest.mark.parametrize("slots", LED_BY_TWO, ids=name_of)
def test_two_leaders_send_what_one_would(node: Bench, slots: Sequence[int]) -> None:
    packets = []
    for leaders in ("1", "2"):
        env = {"ALLEMANDE_LEADERS_PER_HOST": leaders}
        # A block is whole packets, whoever carries it.
        done = node.run("repeat", "3", "57920", slots=slots, env=env)
        check_udp(done)
        assert done.stats["exchanges"] == 3 * sum(slots)
        packets.append(done.stats["sizes"][0]["packets"])
    assert packets[0] == packets[1]


@pytest.mark.parametrize(("rate", "tried"), [(200, False), (10000, True)])
def test_two_leaders_are_tried_where_links_are_fast(
    node: Bench, tmp_path: Path, rate: int, tried: bool
) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text(
        NODE_CLUSTER.read_text().replace("rate_mbit_s = 200", f"rate_mbit_s = {rate}")
    )
    decisions = tmp_path / "decisions.toml"
    env = {
        "ALLEMANDE_CLUSTER": str(cluster),
        "ALLEMANDE_TRIALS": "on",
        "ALLEMANDE_DECISIONS": str(decisions),
    }
    node.run("repeat", "200", "20000", slots=EQUAL, env=env).check()
    found = re.findall(r'key = "udp sync-shuffle@balanced(.*)", name', decisions.read_text())
    assert found == (["", " leaders:2"] if tried else [""])


def test_small_blocks_of_unequal_hosts_are_combined(node: Bench) -> None:
    settings = {"ALLEMANDE_LOG": "info", "ALLEMANDE_ALGORITHM": "combine"}
    done = node.run("repeat", "5", "100", slots=UNEQUAL, env=settings)
    done.check()
    told = [line for line in done.warnings if "64 to 127 bytes per pair" in line]
    assert len(told) == 1
    assert "2 x 2 over UDP" in told[0]


@parametrize_pairwise(
    mpi=MPIS, slots=SLOTS, what=["sizes", "types", "in_place", "sparse", "communicators"]
)
def test_blocks_of_any_size_are_right(node: Bench, what: str, slots: Sequence[int]) -> None:
    check_udp(node.run("blocks", what, slots=slots))


@pytest.mark.parametrize(("program", "what"), [("correct", "communicators"), ("blocks", "types")])
def test_every_byte_is_right_by_messages(node: Bench, program: str, what: str) -> None:
    done = node.run(program, what, slots=UNEQUAL, env={"ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["mpi_messages"] > 0
    assert done.stats["communicators_udp"] == 0
    assert not done.warnings


@pytest.mark.parametrize("program", ["correct", "blocks"])
def test_threads_on_communicators_of_their_own_exchange(node: Bench, program: str) -> None:
    check_udp(node.run(program, "threads", slots=UNEQUAL))


def test_a_late_rank_is_waited_for_and_named(node: Bench) -> None:
    env = {"ALLEMANDE_PEER_TIMEOUT_S": "2", "ALLEMANDE_PEER_WARNING_S": "1"}
    done = node.run("correct", "late", slots=EQUAL, env=env)
    done.check()
    assert done.stats["communicators_mpi"] == 0
    assert done.stats["exchanges"] == 2 * sum(EQUAL)
    told = [line for line in done.warnings if "rank 1 on h0 has not entered MPI_Alltoall" in line]
    assert len(told) == 1, done.warnings


@pytest.mark.slow
def test_more_communicators_than_descriptors_share_memory(node: Bench) -> None:
    few = node.script("few", f'ulimit -n 128; exec {node.program("correct")} "$@"')
    done = node.run(few, "many_communicators", slots=EQUAL)
    check_udp(done)
    assert done.stats["exchanges"] == 2 * 120 * sum(EQUAL)


def test_blocks_that_the_memory_does_not_hold_go_in_slabs(node: Bench) -> None:
    done = node.run("repeat", "2", "1000000", slots=UNEQUAL)
    check_udp(done)
    assert done.stats["exchanges"] == 2 * sum(UNEQUAL)


@pytest.mark.parametrize("algorithm", ["combine", "group-shuffle", "pairwise", "direct"])
def test_every_algorithm_is_right(node: Bench, algorithm: str) -> None:
    check_udp(node.run("correct", "sizes", slots=EQUAL, env={"ALLEMANDE_ALGORITHM": algorithm}))


def test_both_ways_are_tried(node: Bench) -> None:
    done = node.run("repeat", "20", "2000", slots=UNEQUAL, env={"ALLEMANDE_TRIALS": "on"})
    done.check()
    assert done.stats["exchanges"] + done.stats["native"] == 20 * sum(UNEQUAL)


@pytest.mark.parametrize("slots", SLOTS, ids=name_of)
def test_blocks_of_any_size_on_trial_are_right(node: Bench, slots: Sequence[int]) -> None:
    env = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_LOG": "info"}
    done = node.run("blocks", "repeated", slots=slots, env=env)
    done.check()
    assert done.stats["exchanges"] + done.stats["native"] == 500 * sum(slots)
    assert any("bytes at the fullest rank: " in line for line in done.warnings), done.err


@pytest.mark.parametrize("direction", ["send", "receive"])
def test_other_traffic_proceeds(node: Bench, direction: str) -> None:
    # Ranks 0 and 1 share a host; neither may keep MPI from its work while it waits.
    check_udp(node.run("progress", direction, slots=EQUAL))


def test_messages_are_combined(node: Bench) -> None:
    calls = 5
    env = {"ALLEMANDE_LOG": "info", "ALLEMANDE_ALGORITHM": "sync-shuffle"}
    done = node.run("repeat", str(calls), "100", slots=EQUAL, env=env)
    done.check()
    hosts = len(node.lab.hosts)
    assert done.stats["sizes"][0]["packets"] == calls * hosts * (hosts - 1)
    told = [line for line in done.warnings if "64 to 127 bytes per pair" in line]
    assert len(told) == 1
    assert "MPI_Alltoall on 8 ranks" in told[0]
    assert told[0].endswith("4 hosts x 2 ranks")


# It has a PID namespace of its own there: the ranks of h0 cannot share memory with it.
def test_a_rank_in_a_container_is_a_host_of_its_own(node: Bench) -> None:
    apart = node.script(
        "apart",
        f'[ $RANK = 0 ] && exec unshare --pid --fork {node.program("repeat")} "$@"\n'
        f'exec {node.program("repeat")} "$@"',
    )
    done = node.run(apart, "3", "1000", slots=EQUAL, env=ALWAYS_OURS)
    done.check()
    assert not done.warnings
    assert done.stats["communicators_udp"] == sum(EQUAL)
    assert done.stats["exchanges"] == 3 * sum(EQUAL)
