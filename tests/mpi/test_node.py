"""Several ranks per host: every byte right, whatever their numbers; errors on every rank."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.lab_processes import processes_of
from tests.mpi.decision_runs import another_way, decide, end_by_error, expect_missed
from tests.mpi.fault_job import running
from tests.mpi.mpi_job import ALWAYS_OURS, Bench, Done, wait_for

from allemande.lab import Lab

CLUSTER = Path(__file__).parent / "clusters" / "four-hosts.toml"
EQUAL = (2, 2, 2, 2)
UNEQUAL = (4, 2, 1, 3)
SLOTS = [EQUAL, UNEQUAL]
# With two leaders on every host all ranks are leaders, or not.
TWO_LEADERS = {"ALLEMANDE_LEADERS_PER_HOST": "2", "ALLEMANDE_LOG": "info"}
LED_BY_TWO = [EQUAL, (4, 2, 2, 3)]
ENDED_WITHIN_S = 20


def name_of(slots: Sequence[int]) -> str:
    return "-".join(map(str, slots))


@pytest.fixture(scope="module")
def node_lab() -> Iterator[Lab]:
    with Lab.boot(CLUSTER, force=True) as lab:
        yield lab


@pytest.fixture
def node(node_lab: Lab, programs: Path, mpi: str, tmp_path: Path) -> Bench:
    return Bench(node_lab, programs / mpi, mpi, tmp_path)


@pytest.fixture
def own_node(programs: Path, mpi: str, tmp_path: Path) -> Iterator[Bench]:
    with Lab.boot(CLUSTER, force=True) as lab:
        yield Bench(lab, programs / mpi, mpi, tmp_path)


def check_udp(done: Done) -> None:
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


@pytest.mark.parametrize("slots", SLOTS, ids=name_of)
@pytest.mark.parametrize("what", ["sizes", "types", "communicators", "children"])
def test_equal_blocks_are_right(node: Bench, what: str, slots: Sequence[int]) -> None:
    check_udp(node.run("correct", what, slots=slots))


@pytest.mark.parametrize("slots", SLOTS, ids=name_of)
def test_combined_blocks_are_right(node: Bench, slots: Sequence[int]) -> None:
    done = node.run("correct", "sizes", slots=slots, env={"ALLEMANDE_ALGORITHM": "combine"})
    check_udp(done)


def told_of_two_leaders(done: Done) -> bool:
    return any("over UDP by 2 leaders per host" in line for line in done.warnings)


@pytest.mark.parametrize("slots", LED_BY_TWO, ids=name_of)
@pytest.mark.parametrize("what", ["sizes", "types", "communicators", "threads"])
def test_two_leaders_share_equal_blocks(node: Bench, what: str, slots: Sequence[int]) -> None:
    done = node.run("correct", what, slots=slots, env=TWO_LEADERS)
    done.check()
    assert done.stats["communicators_mpi"] == 0
    assert what != "sizes" or told_of_two_leaders(done), done.err


@pytest.mark.parametrize("slots", LED_BY_TWO, ids=name_of)
@pytest.mark.parametrize("what", ["sizes", "types", "sparse"])
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
    cluster.write_text(CLUSTER.read_text().replace("rate_mbit_s = 200", f"rate_mbit_s = {rate}"))
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


@pytest.mark.parametrize("slots", SLOTS, ids=name_of)
@pytest.mark.parametrize("what", ["sizes", "types", "in_place", "sparse", "communicators"])
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


def test_a_late_rank_is_waited_for(node: Bench) -> None:
    done = node.run("correct", "late", slots=EQUAL, env={"ALLEMANDE_PEER_TIMEOUT_S": "2"})
    check_udp(done)
    assert done.stats["exchanges"] == 2 * sum(EQUAL)


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
    assert done.stats["native"] > 0
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


# Between hosts, within one, and with itself; the sizes stand for any.
@pytest.mark.parametrize(
    ("sender", "receiver", "sent", "expected"),
    [(1, 8, 20000, 500), (5, 0, 0, 700), (6, 2, 700, 0), (0, 3, 10, 11), (7, 7, 10, 11)],
)
@pytest.mark.parametrize("transport", ["udp", "mpi"])
def test_unequal_counts_end_on_every_rank(
    node: Bench, sender: int, receiver: int, sent: int, expected: int, transport: str
) -> None:
    arguments = [str(word) for word in (sender, receiver, sent, expected)]
    env = {"ALLEMANDE_TRANSPORT": transport}
    done = node.run("errors", "mismatch", *arguments, slots=UNEQUAL, env=env)
    wanted = (
        rf"MPI_Alltoallv failed: rank {sender} on h\d sends {sent} bytes to "
        rf"rank {receiver} on h\d, which expects {expected} bytes"
    )
    for rank in range(sum(UNEQUAL)):
        told = re.findall(rf"CALL (\d) RANK {rank} CLASS truncate: .*{wanted}", done.out)
        assert told == ["0", "1"], done.out


# Rank 0 leads on h0; rank 1 follows there.
@pytest.mark.parametrize("culprit", [0, 1])
def test_who_fails_alone_tells_the_others(node: Bench, culprit: int) -> None:
    done = node.run("errors", "blocks", str(culprit), "20000", "10000", slots=UNEQUAL)
    for rank in range(sum(UNEQUAL)):
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", done.out)
        assert len(told) == 2 and not any("none" in line for line in told), done.out
        assert all(f"rank {culprit} on h0" in line or "h0 (ranks" in line for line in told)


@pytest.mark.parametrize("odd", [0, 1])
def test_a_rank_that_gives_nothing_is_named(node: Bench, odd: int) -> None:
    done = node.run("errors", "blocks", str(odd), "0", "0", slots=UNEQUAL)
    expect_missed(done.out, odd, sum(UNEQUAL))


# The others' calls go to the MPI library: the leader waits for the follower, or it for the leader.
@pytest.mark.parametrize("odd", [0, 1])
def test_a_rank_that_the_others_of_its_host_do_not_meet_ends_the_job(
    node: Bench, tmp_path: Path, odd: int
) -> None:
    env = decide(node, tmp_path / "decisions.toml", "the MPI library", UNEQUAL)
    told = end_by_error(node, odd, env, UNEQUAL)
    assert re.search(another_way(odd), told), told


def maps_shared_memory(folder: Path) -> bool:
    """Whether the process has memory of ours."""
    try:
        return "memfd:allemande" in (folder / "maps").read_text()
    except OSError:
        return False


# Rank 0 leads on h0, rank 1 follows there; rank 6 is alone on h2; rank 8 follows on h3. Where two
# lead, so do rank 1 and the second of every host, 3 of equal ones and 5; rank 10 follows on h3.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "slots", "env"),
    [
        *((victim, UNEQUAL, {}) for victim in (0, 1, 6, 8)),
        *((victim, LED_BY_TWO[0], TWO_LEADERS) for victim in (0, 3)),
        *((victim, LED_BY_TWO[1], TWO_LEADERS) for victim in (0, 1, 5, 10)),
    ],
)
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_every_other_rank_ends_naming_who_is_lost(
    own_node: Bench, victim: int, slots: Sequence[int], env: dict[str, str], blow: signal.Signals
) -> None:
    with running(own_node, env, "return", victim=victim, slots=slots) as job:
        sharing = [folder for folder in processes_of(own_node.lab) if maps_shared_memory(folder)]
        assert sharing
        os.kill(job.pid(victim), blow)
        wait_for(
            "the end of every other rank",
            lambda: all(job.ended(rank) for rank in job.others),
            ENDED_WITHIN_S,
        )
        for rank in job.others:
            text = job.text(rank)
            # Other hosts know a leader as its host.
            who = rf"(rank {victim} on h\d|h\d \(ranks [\d, ]*\b{victim}\b[\d, .]*\))"
            lost = rf"ERROR {rank}: allemande: MPI_Alltoall failed: {who} is lost"
            assert re.search(lost, text), text
            assert f"AGAIN {rank}: an error" in text
    wait_for("the memory to be gone", lambda: not any(map(maps_shared_memory, sharing)), 5)


@pytest.mark.slow
def test_a_stopped_rank_that_goes_on_costs_only_the_time(own_node: Bench) -> None:
    patience = {"ALLEMANDE_PEER_WARNING_S": "1", "ALLEMANDE_PEER_TIMEOUT_S": "20"}
    with running(own_node, patience, "return", victim=1, slots=UNEQUAL) as job:
        victim = job.pid(1)
        os.kill(victim, signal.SIGSTOP)
        time.sleep(3.5)
        assert not any(job.ended(rank) for rank in job.others)
        os.kill(victim, signal.SIGCONT)
        time.sleep(2)
        assert not any(job.ended(rank) for rank in job.others)
        assert "rank 1 on h0 stopped for" in job.text(0)
