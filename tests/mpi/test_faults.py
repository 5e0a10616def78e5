"""Ranks and links that fail amid exchanges: an error that names the host, never a hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mpi.fault_job import STARTED_WITHIN_S, Job, running
from tests.mpi.mpi_job import JOB_TIMEOUT_S, Bench, wait_for
from tests.mpi.udp_filters import lose_udp

from allemande.lab.network import HOST_DEVICE

VICTIM = 4
ENDED_WITHIN_S = 60  # they learn of it in 3 s, on a busy machine some times later


def kill(job: Job) -> None:
    os.kill(job.pid(VICTIM), signal.SIGKILL)


def stop(job: Job) -> None:
    os.kill(job.pid(VICTIM), signal.SIGSTOP)


def cut_link(job: Job) -> None:
    host = job.bench.lab.hosts[VICTIM]
    job.bench.lab.exec(host, ["ip", "link", "set", HOST_DEVICE, "down"], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "fault"),
    [("sync-shuffle", kill), ("sync-shuffle", stop), ("sync-shuffle", cut_link), ("combine", kill)],
)
def test_every_other_rank_ends_naming_the_host(
    own_bench: Bench, fault: Callable[[Job], None], algorithm: str
) -> None:
    with running(own_bench, {"ALLEMANDE_ALGORITHM": algorithm}, "return", victim=VICTIM) as job:
        fault(job)
        job.await_others(ENDED_WITHIN_S)
        for rank in job.others:
            text = job.text(rank)
            lost = f"MPI_Alltoall failed: rank {VICTIM} on h{VICTIM} is lost"
            assert f"ERROR {rank}: allemande: {lost}" in text, text
            assert f"AGAIN {rank}: an error" in text


PROC_FAILED = {"openmpi": 75, "mpich": 101}  # as their mpi.h have it
LONG_S = 60


@pytest.mark.slow
def test_a_death_that_the_library_knows_of_is_no_silence(own_bench: Bench) -> None:
    """Silence alone would tell after a minute."""
    if own_bench.mpi != "openmpi":
        pytest.skip("the library does not tell")
    patient = {"ALLEMANDE_PEER_TIMEOUT_S": str(LONG_S)}
    with running(own_bench, patient, "return", victim=VICTIM) as job:
        kill(job)
        job.await_others(LONG_S / 3)
        for rank in job.others:
            text = job.text(rank)
            assert f"rank {VICTIM} on h{VICTIM} is lost" in text, text
            assert f"CLASS {rank}: {PROC_FAILED[own_bench.mpi]}" in text, text


@pytest.mark.slow
def test_a_rank_that_is_stopped_is_a_failed_process_too(own_bench: Bench) -> None:
    if own_bench.mpi not in PROC_FAILED:
        pytest.skip("its release has no class for that")
    with running(own_bench, {}, "return", victim=VICTIM) as job:
        stop(job)
        job.await_others(ENDED_WITHIN_S)
        for rank in job.others:
            assert f"CLASS {rank}: {PROC_FAILED[own_bench.mpi]}" in job.text(rank), job.text(rank)


PEER_TIMEOUT_S = 3
# Ranks warn after a second, and wait long enough for those of a busy machine.
SILENT_S = 60
PATIENCE = {"ALLEMANDE_PEER_WARNING_S": "1", "ALLEMANDE_PEER_TIMEOUT_S": "90"}
SITES = {"ALLEMANDE_ALGORITHM": "multi-site", "ALLEMANDE_SITES": "rennes=h[0-2]/nancy=h[3-5]"}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["multi-site", "local-group", "coordinator"])
def test_a_site_that_disappears_is_named_with_a_host_of_it(
    own_bench: Bench, algorithm: str
) -> None:
    """Each site is out of the other's reach."""
    env = {
        **SITES,
        "ALLEMANDE_ALGORITHM": algorithm,
        "ALLEMANDE_PEER_TIMEOUT_S": str(PEER_TIMEOUT_S),
    }
    with running(own_bench, env, "return", victim=VICTIM) as job:
        own_bench.lab.degrade("leaf1", "core", down=True)
        wait_for(
            "the end of every rank",
            lambda: all(map(job.ended, range(job.ranks))),
            PEER_TIMEOUT_S + ENDED_WITHIN_S,
        )
        for rank in range(job.ranks):
            site, gone = ("nancy", range(3, 6)) if rank < 3 else ("rennes", range(3))
            lost = [f"rank {other} on h{other} at {site} is lost" for other in gone]
            text = job.text(rank)
            assert any(f"MPI_Alltoall failed: {one}" in text for one in lost), text


@pytest.mark.slow
def test_a_site_that_comes_back_in_time_costs_only_the_time(own_bench: Bench) -> None:
    with running(own_bench, {**SITES, **PATIENCE}, "return", victim=VICTIM) as job:
        own_bench.lab.degrade("leaf1", "core", down=True)
        everywhere = range(job.ranks)
        wait_for("warnings", lambda: all("silent" in job.text(r) for r in everywhere), SILENT_S)
        own_bench.lab.restore("leaf1", "core")

        def crossed() -> int:
            ports = own_bench.lab.stats().ports
            return sum(port.sent_packets for port in ports if port.node == "core")

        begin = crossed()
        wait_for("exchanges that go on", lambda: crossed() > begin + 2000, ENDED_WITHIN_S)
        assert not any(map(job.ended, everywhere))


@pytest.mark.slow
def test_with_the_default_error_handler_the_job_ends(own_bench: Bench) -> None:
    with running(own_bench, {}, victim=VICTIM) as job:
        stop(job)
        wait_for("the end of the job", job.over, ENDED_WITHIN_S)


@pytest.mark.slow
def test_a_stopped_rank_that_goes_on_costs_only_the_time(own_bench: Bench) -> None:
    with running(own_bench, PATIENCE, "return", victim=VICTIM) as job:
        victim = job.pid(VICTIM)
        os.kill(victim, signal.SIGSTOP)
        silent = f"rank {VICTIM} on h{VICTIM} silent"
        wait_for("warnings", lambda: all(silent in job.text(r) for r in job.others), SILENT_S)
        assert not any(job.ended(rank) for rank in job.others)
        os.kill(victim, signal.SIGCONT)
        time.sleep(2.5)
        assert not any(job.ended(rank) for rank in job.others)


def test_exit_right_after_the_last_exchange_under_loss(own_bench: Bench) -> None:
    for host in own_bench.lab.hosts:
        lose_udp(own_bench.lab, host, 0.05)
    for _ in range(3):
        done = own_bench.run("repeat", "20", "20000")
        done.check()
        assert done.stats["communicators_udp"] == len(own_bench.lab.hosts)
        assert done.stats["retransmitted"] > 0


def udp_ports(bench: Bench, host: str) -> list[int]:
    """The ports of the sockets open on a host, from the kernel's table."""
    table = bench.lab.exec(
        host, ["cat", "/proc/net/udp", "/proc/net/udp6"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in table.splitlines() if ":" in line.split()[0]]
    return [int(row[1].rpartition(":")[2], 16) for row in rows]


def test_datagrams_from_outside_are_dropped_and_unanswered(own_bench: Bench) -> None:
    stats = own_bench.folder / "stats.json"
    command = own_bench.command(
        [own_bench.program("repeat"), "300", "20000"], env={"ALLEMANDE_STATS": str(stats)}
    )
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        wait_for("sockets", lambda: bool(udp_ports(own_bench, "h3")), STARTED_WITHIN_S)
        ports = [str(port) for port in udp_ports(own_bench, "h3")]
        target = own_bench.lab.network.ipv4("h3")
        noise = own_bench.lab.exec(
            "h5",
            [sys.executable, str(Path(__file__).with_name("send_noise.py")), target, *ports],
            capture_output=True,
            text=True,
            check=True,
        )
        out, err = job.communicate(timeout=JOB_TIMEOUT_S)
    assert job.returncode == 0 and "CORRECT" in out, err
    assert noise.stdout.strip() == "answers: 0"
    counters = json.loads(stats.read_text())
    rejected = [counters[f"rejected_{why}"] for why in ("unknown", "checksum", "malformed")]
    assert sum(rejected) > 100, counters
    assert counters["rejected_checksum"] > 0, counters
