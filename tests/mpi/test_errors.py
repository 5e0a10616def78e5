"""What is wrong ends in an MPI error that says what, on every rank it concerns; never in a hang."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.mpi.decision_runs import another_way, decide, end_by_error, expect_missed
from tests.mpi.mpi_job import MPIS, Bench
from tests.pairwise import parametrize_pairwise

from allemande.cluster_files import find_cluster_file
from allemande.lab import Lab

CLASSES = "count count count type type type type type type comm"
# What arrives cannot stay where MPI_IN_PLACE says; with MPICH, at a null pointer neither.
OF_BUFFERS = {"openmpi": 3 * " argument", "mpich": 5 * " buffer"}


def classes(bench: Bench, preload: bool) -> list[str]:
    done = bench.run("errors", "arguments", preload=preload)
    done.check()
    prefix = "CLASSES "
    return [line.removeprefix(prefix) for line in done.out.splitlines() if line.startswith(prefix)]


def test_invalid_arguments_are_left_to_the_library(bench: Bench) -> None:
    wanted = [CLASSES + OF_BUFFERS[bench.mpi]]
    assert classes(bench, preload=True) == classes(bench, preload=False) == wanted


MISMATCHES = [(1, 4, *sizes) for sizes in [(20000, 500), (500, 20000), (0, 700), (700, 0)]]
MISMATCHES += [(5, 0, 1448, 1449), (2, 2, 10, 11)]


@parametrize_pairwise(mpi=MPIS, transport=["udp", "mpi"], mismatch=MISMATCHES)
def test_unequal_counts_end_on_every_rank(
    bench: Bench, transport: str, mismatch: tuple[int, ...]
) -> None:
    sender, receiver, sent, expected = mismatch
    env = {"ALLEMANDE_TRANSPORT": transport}
    done = bench.run("errors", "mismatch", *map(str, mismatch), env=env)
    wanted = (
        f"MPI_Alltoallv failed: rank {sender} on h{sender} sends {sent} bytes to "
        f"rank {receiver} on h{receiver}, which expects {expected} bytes"
    )
    ranks = range(len(bench.lab.hosts))
    told = {
        rank: re.findall(rf"CALL (\d) RANK {rank} CLASS truncate: .*{wanted}", done.out)
        for rank in ranks
    }
    assert all("1" in calls for calls in told.values()), done.out
    # A rank that waits for nothing from the other may have left the first call without an error.
    assert expected == 0 or "0" in told[receiver], done.out


# Ranks 2 and 3 may have all they need in that call, and go on: to the next call, which may be one
# of the library, or to agree on what the call took.
@pytest.mark.parametrize("call", [2, 3, 5, 8])
def test_unequal_counts_in_a_trial_leave_nobody_waiting(bench: Bench, call: int) -> None:
    done = bench.run("errors", "later", str(call), ranks=4, env={"ALLEMANDE_TRIALS": "on"})
    done.check()
    wanted = "truncate: .*MPI_Alltoallv failed: rank 0 on h0 sends 2000 bytes to rank 1 on h1"
    for rank in range(4):  # none, where the library has carried that call
        assert re.search(rf"CALL {call} RANK {rank} CLASS ({wanted}|none)", done.out), done.out


# It finds an error that the others cannot know of: they would wait for ever, as it is alive.
@pytest.mark.parametrize("culprit", [0, 4])
def test_who_fails_alone_tells_the_others(bench: Bench, culprit: int) -> None:
    done = bench.run("errors", "blocks", str(culprit), "20000", "10000")
    why = "it sends 20000 bytes to each rank but receives 10000"
    for rank in range(len(bench.lab.hosts)):
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", done.out)
        who = f"allemande: MPI_Alltoall failed: rank {culprit} on h{culprit}"
        wanted = f"truncate: {who}: {why}" if rank == culprit else f"other: {who} has given up"
        assert len(told) == 2 and all(line.startswith(wanted) for line in told), done.out


# One chunk or several, shorter or longer than the others'.
@parametrize_pairwise(mpi=MPIS, transport=["udp", "mpi"], size=[10000, 30000, 65536, 70000])
def test_a_rank_with_blocks_of_its_own_size_is_named(
    bench: Bench, transport: str, size: int
) -> None:
    env = {"ALLEMANDE_TRANSPORT": transport, "ALLEMANDE_ALGORITHM": "sync-shuffle"}
    done = bench.run("errors", "blocks", "4", str(size), str(size), env=env)
    ranks = range(len(bench.lab.hosts))
    for rank in ranks:
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", done.out)
        assert len(told) == 2 and "none" not in told[1], done.out + done.err
    here = rf"rank 4 on h4 sends {size} bytes to rank \d on h\d, which expects 20000 bytes"
    there = rf"rank \d on h\d sends 20000 bytes to rank 4 on h4, which expects {size} bytes"
    assert re.search(f"CLASS truncate: .*({here}|{there})", done.out), done.out


# It has nothing to wait for and goes on, up to MPI_Finalize.
def test_a_rank_that_gives_nothing_is_named(bench: Bench) -> None:
    done = bench.run("errors", "blocks", "4", "0", "0")
    expect_missed(done.out, 4, len(bench.lab.hosts))


# The others' blocks go directly, its own are combined in phases: they are on different sets, each
# alive and waiting for the other.
def test_a_rank_whose_blocks_go_another_way_is_named(
    programs: Path, mpi: str, tmp_path: Path
) -> None:
    with Lab.boot(find_cluster_file("tam-16x1"), force=True) as lab:
        done = Bench(lab, programs / mpi, mpi, tmp_path).run("errors", "blocks", "4", "40", "40")
    for rank in range(16):
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", done.out)
        assert len(told) == 2 and not any(line.startswith("none") for line in told), done.out
    there = r"rank 4 on h4 (sends \d+ bytes and )?takes another way than rank \d+ on h\d+"
    here = r"rank \d+ on h\d+ (sends 20000 bytes and )?takes another way than rank 4 on h4"
    assert re.search(f"CLASS truncate: .*({here}|{there}), which sends it \\d+ bytes", done.out), (
        done.out + done.err
    )


# The others' calls go to the MPI library, its own go over UDP. Nothing ends the library's calls but
# the end of the job.
def test_a_rank_that_the_others_do_not_meet_over_udp_ends_the_job(
    bench: Bench, tmp_path: Path
) -> None:
    env = decide(bench, tmp_path / "decisions.toml", "the MPI library")
    told = end_by_error(bench, 4, env)
    assert re.search(another_way(4), told), told


def test_a_rank_that_the_others_expect_over_messages_is_named(bench: Bench, tmp_path: Path) -> None:
    way = "pairwise over MPI point-to-point messages"
    env = decide(bench, tmp_path / "decisions.toml", way)
    done = bench.run("errors", "blocks", "4", "40", "40", env=env)
    for rank in range(len(bench.lab.hosts)):
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", done.out)
        assert len(told) == 2 and not any(line.startswith("none") for line in told), done.out
    assert re.search(f"CLASS truncate: .*{another_way(4)}", done.out), done.out + done.err
