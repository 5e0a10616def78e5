"""Several ranks per host: what fails is an error on every rank, and a lost rank is named."""

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
from tests.mpi.mpi_job import MPIS, Bench, wait_for
from tests.mpi.several_ranks import LED_BY_TWO, NODE_CLUSTER, TWO_LEADERS, UNEQUAL
from tests.pairwise import parametrize_pairwise

from allemande.lab import Lab

ENDED_WITHIN_S = 60


@pytest.fixture
def own_node(programs: Path, mpi: str, tmp_path: Path) -> Iterator[Bench]:
    with Lab.boot(NODE_CLUSTER, force=True) as lab:
        yield Bench(lab, programs / mpi, mpi, tmp_path)


# Between hosts, within one, and with itself; the sizes stand for any.
@parametrize_pairwise(
    mpi=MPIS,
    transport=["udp", "mpi"],
    mismatch=[(1, 8, 20000, 500), (5, 0, 0, 700), (6, 2, 700, 0), (0, 3, 10, 11), (7, 7, 10, 11)],
)
def test_unequal_counts_end_on_every_rank(
    node: Bench, transport: str, mismatch: tuple[int, ...]
) -> None:
    sender, receiver, sent, expected = mismatch
    env = {"ALLEMANDE_TRANSPORT": transport}
    done = node.run("errors", "mismatch", *map(str, mismatch), slots=UNEQUAL, env=env)
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
@parametrize_pairwise(
    mpi=MPIS,
    blow=[signal.SIGKILL, signal.SIGSTOP],
    lost=[
        *((victim, UNEQUAL, {}) for victim in (0, 1, 6, 8)),
        *((victim, LED_BY_TWO[0], TWO_LEADERS) for victim in (0, 3)),
        *((victim, LED_BY_TWO[1], TWO_LEADERS) for victim in (0, 1, 5, 10)),
    ],
)
def test_every_other_rank_ends_naming_who_is_lost(
    own_node: Bench, blow: signal.Signals, lost: tuple[int, Sequence[int], dict[str, str]]
) -> None:
    victim, slots, env = lost
    with running(own_node, env, "return", victim=victim, slots=slots) as job:
        sharing = [folder for folder in processes_of(own_node.lab) if maps_shared_memory(folder)]
        assert sharing
        os.kill(job.pid(victim), blow)
        job.await_others(ENDED_WITHIN_S)
        for rank in job.others:
            text = job.text(rank)
            # Other hosts know a leader as its host.
            who = rf"(rank {victim} on h\d|h\d \(ranks [\d, ]*\b{victim}\b[\d, .]*\))"
            told = rf"ERROR {rank}: allemande: MPI_Alltoall failed: {who} is lost"
            assert re.search(told, text), text
            assert f"AGAIN {rank}: an error" in text
    wait_for("the memory to be gone", lambda: not any(map(maps_shared_memory, sharing)), 5)


@pytest.mark.slow
def test_a_stopped_rank_that_goes_on_costs_only_the_time(own_node: Bench) -> None:
    patience = {"ALLEMANDE_PEER_WARNING_S": "1", "ALLEMANDE_PEER_TIMEOUT_S": "90"}
    with running(own_node, patience, "return", victim=1, slots=UNEQUAL) as job:
        victim = job.pid(1)
        os.kill(victim, signal.SIGSTOP)
        wait_for("the warning", lambda: "rank 1 on h0 stopped for" in job.text(0), 60)
        assert not any(job.ended(rank) for rank in job.others)
        os.kill(victim, signal.SIGCONT)
        time.sleep(2)
        assert not any(job.ended(rank) for rank in job.others)
