"""`allemande bench` under the conditions of real programs, in a lab of four hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.benched import calls_made
from tests.lab_processes import command_line

from allemande.errors import Failed
from allemande.preload import library_path

pytestmark = pytest.mark.slow

SIZE = 5000


@pytest.fixture(autouse=True)
def everything_ends(nothing_left: Callable[[], None]) -> Any:
    yield
    nothing_left()


def measure(cluster: Path, *arguments: str) -> list[dict[str, Any]]:
    """One round with Open MPI, stock and, where it is built, ours."""
    against = "openmpi"
    try:
        library_path("openmpi")
        against += ",allemande+openmpi"
    except Failed:
        pass
    done = subprocess.run(
        [
            *(sys.executable, "-m", "allemande", "bench", "--lab", str(cluster), "--scale", "1"),
            *("--rounds", "1", "--calls", "3", "--seconds", "0", "--sizes", str(SIZE)),
            *("--against", against, "--json", "-", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    array: list[dict[str, Any]] = json.loads(done.stdout)
    assert [entry["candidate"] for entry in array] == against.split(",")
    for entry in array:
        assert (entry["wrong_bytes"], entry["void"]) == (0, False), done.stderr
        assert entry["accelerated"] != entry["stock"]
    return array


@pytest.mark.alone  # void calls are left out, and counted
def test_cold_calls_are_the_first_of_their_jobs(cluster: Path) -> None:
    for entry in measure(cluster, "--cold"):
        assert (entry["cold"], calls_made(entry)) == (True, 3)
        assert entry["rounds"] == 1
        assert entry["median_s"] > entry["limit_s"]


def test_idle_time_lies_between_the_calls_and_not_in_them(cluster: Path) -> None:
    begin = time.monotonic()
    for entry in measure(cluster, "--idle", "600"):
        assert (entry["idle_ms"], calls_made(entry)) == (600, 3)
    assert time.monotonic() - begin > 2 * 3 * 0.6


def test_background_flows_carry_what_they_may(cluster: Path) -> None:
    for entry in measure(cluster, "--background", "1", "--calls", "10"):
        assert entry["background"] == "1"
        assert len(entry["background_mbit_s"]) == len(entry["background_share"]) == 2
        for rate, share in zip(entry["background_mbit_s"], entry["background_share"], strict=True):
            assert 0 < rate < 3
            assert rate == pytest.approx(share)  # 1 Mbit/s is less than the fair share


@pytest.mark.parametrize("layout", ["interleaved", "split"])
def test_jobs_run_at_once(cluster: Path, layout: str) -> None:
    for entry in measure(cluster, "--jobs", "2", "--job-layout", layout, "--background", "full"):
        assert (entry["jobs"], entry["job_layout"]) == (2, layout)
        assert calls_made(entry) >= 2 * 3
        assert len(entry["job_median_s"]) == 2
        assert entry["together_fraction"] > 0
        ratio = entry["fair_share_s"] / entry["limit_s"]
        assert ratio == pytest.approx(2 if layout == "interleaved" else 1)


def test_cold_calls_of_jobs_begin_together(cluster: Path) -> None:
    for entry in measure(cluster, "--jobs", "2", "--cold", "--calls", "1"):
        assert (calls_made(entry), len(entry["job_median_s"])) == (2, 2)


def test_a_late_host_makes_every_call_longer(cluster: Path) -> None:
    for entry in measure(cluster, "--slow", "h3:100"):
        assert entry["slow"] == "h3:100"
        # What h3 sends takes three messages on a link of 5 Mbit/s.
        assert entry["limit_s"] > 0.1 + 3 * SIZE * 8 / 5e6
        assert entry["median_s"] > 0.1


def test_a_host_at_half_its_rate_is_the_limit(cluster: Path) -> None:
    (before, *_), (entry, *_) = measure(cluster), measure(cluster, "--half-rate", "h3")
    assert (before["half_rate"], entry["half_rate"]) == (None, "h3")
    assert entry["limit_s"] == pytest.approx(2 * before["limit_s"])
    # A full token bucket lets two frames through at once.
    assert entry["median_s"] > 0.9 * entry["limit_s"]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_flows_end_with_the_command(
    cluster: Path,
    marked_processes: Callable[[], list[int]],
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "allemande", "bench", "--lab", str(cluster), "--scale", "1"),
            *("--sizes", "100K", "--against", "mpich", "--calls", "100"),
            *("--background", "full", "--jobs", "2"),
        ],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # a killed command cannot remove its folders
    )
    while not any("alltoall_bench" in command_line(pid) for pid in marked_processes()):
        assert process.poll() is None
        time.sleep(0.05)
    assert any("bulk_flow" in command_line(pid) for pid in marked_processes())
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
