"""`allemande bench` end to end, in a lab of four hosts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.benched import calls_made
from tests.lab_processes import command_line

from allemande.errors import Failed
from allemande.formats import emit
from allemande.preload import library_path

pytestmark = pytest.mark.slow


def bench(cluster: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "allemande", "bench", "--lab", str(cluster), "--scale", "1"),
            *("--rounds", "2", "--calls", "2", "--seconds", "0", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_every_stock_candidate_runs_and_stdout_is_one_array(cluster: Path, tmp_path: Path) -> None:
    stock = "openmpi,openmpi:linear,openmpi:pairwise,openmpi:linear-sync,mpich,mpich:ucx"
    page = tmp_path / "report.html"
    done = bench(
        cluster, "--sizes", "100,2K", "--against", stock, "--json", "-", "--html", str(page)
    )
    assert done.returncode == 0, done.stderr
    array = json.loads(done.stdout)
    assert [(entry["candidate"], entry["size"]) for entry in array] == [
        (name, size) for size in (100, 2000) for name in stock.split(",")
    ]
    for entry in array:
        assert entry["stock"]
        assert entry["wrong_bytes"] == 0
        assert calls_made(entry) == 4
        assert entry["fraction_of_limit"] > 0
        assert entry["packets"] > 0
        assert entry["timers"] == "real"
        assert entry["slowest_s"] >= entry["median_s"]
        assert entry["cpu_s_per_call"] > 0
        assert 0 <= entry["tcp_timeouts"] <= entry["tcp_retransmitted"]
    assert "openmpi:linear-sync" in page.read_text()
    assert "every byte was right" in done.stderr


def test_allemande_runs_in_both_libraries(cluster: Path) -> None:
    try:
        library_path("openmpi")
    except Failed as missing:
        pytest.skip(str(missing))
    ours = "allemande+openmpi,allemande+mpich,allemande+mpich:algorithm=pairwise"
    done = bench(cluster, "--sizes", "5000", "--against", f"mpich,{ours}", "--json", "-")
    assert done.returncode == 0, done.stderr
    array = json.loads(done.stdout)
    assert [entry["stock"] for entry in array] == [True, False, False, False]
    for entry in array[1:]:
        assert entry["accelerated"], done.stderr
        assert entry["packets"] >= 2 * 3 * 4 * 12  # calls, partners, ranks, packets per message
        assert entry["wrong_bytes"] == 0


def test_tuning_files_run_beside_the_libraries_own_choice(cluster: Path, tmp_path: Path) -> None:
    """And a rule that fails where it holds, between 4 ranks at 2 KB, is seen to hold."""
    rules, selection = tmp_path / "rules", tmp_path / "selection.json"
    for path, kind, name in (
        (rules, "openmpi-rules", "openmpi:pairwise"),
        (selection, "mpich-selection", "mpich:scattered:throttle=1"),
    ):
        emit.tuning(kind, {(4, 2000): name}, path).write(path)
    names = f"openmpi,openmpi:rules={rules},mpich,mpich:selection={selection}"
    done = bench(cluster, "--sizes", "100,2K", "--against", names, "--json", "-")
    assert done.returncode == 0, done.stderr
    for entry in json.loads(done.stdout):
        assert (entry["wrong_bytes"], calls_made(entry), entry["ranks"]) == (0, 4, 4)
    text = rules.read_text()
    assert text.count("4000 2 0 0 0") == 1
    rules.write_text(text.replace("4000 2 0 0 0", "4000 5 0 0 0"))
    done = bench(cluster, "--sizes", "100,2K", "--against", f"openmpi:rules={rules}", "--json", "-")
    found = {entry["size"]: entry["median_s"] for entry in json.loads(done.stdout)}
    assert done.returncode == 1
    assert found[100] is not None and found[2000] is None


def test_a_skewed_alltoallv_is_right_in_both_libraries(cluster: Path) -> None:
    """The same matrix for all, every byte checked, and our exchange in both libraries."""
    line = ["--collective", "alltoallv", "--matrix", "zipf:1.2", "--seed", "3", "--sizes", "12K"]
    against = "openmpi,mpich,allemande+openmpi,allemande+mpich"
    done = bench(cluster, *line, "--against", against, "--json", "-")
    assert done.returncode == 0, done.stderr
    for entry in json.loads(done.stdout):
        assert (entry["collective"], entry["matrix"], entry["seed"]) == ("alltoallv", "zipf:1.2", 3)
        assert (entry["wrong_bytes"], calls_made(entry), entry["void"]) == (0, 4, False), (
            done.stderr
        )
        assert entry["accelerated"] != entry["stock"]
        assert 0 < entry["fraction_of_limit"] < 1.05


def test_nonblocking_exchanges_are_ours(cluster: Path) -> None:
    line = ["--collective", "ialltoall", "--sizes", "3000"]
    against = "openmpi,allemande+openmpi,allemande+mpich"
    done = bench(cluster, *line, "--against", against, "--json", "-")
    assert done.returncode == 0, done.stderr
    for entry in json.loads(done.stdout):
        assert (entry["collective"], entry["wrong_bytes"]) == ("ialltoall", 0)
        assert (calls_made(entry), entry["void"]) == (4, False), done.stderr
        assert entry["accelerated"] != entry["stock"]


@pytest.mark.parametrize(
    ("ranks", "order", "said"), [("2", "block", 2), ("2,1", "cyclic", "2,1,2,1")]
)
def test_several_ranks_per_host_run_where_they_were_asked_to(
    cluster: Path, ranks: str, order: str, said: int | str
) -> None:
    """Where the ranks ran is checked; what allemande left to the library is void."""
    line = ["--ranks-per-host", ranks, "--rank-order", order, "--sizes", "3000"]
    against = "openmpi,mpich,allemande+openmpi,allemande+mpich"
    done = bench(cluster, *line, "--against", against, "--json", "-")
    assert done.returncode == 0, done.stderr
    for entry in json.loads(done.stdout):
        assert (entry["ranks_per_host"], entry["rank_order"]) == (said, order)
        assert (entry["wrong_bytes"], calls_made(entry)) == (0, 4)
        if not entry["stock"]:
            assert entry["accelerated"] or entry["void"]


def test_a_finished_sweep_is_not_measured_again(cluster: Path, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "allemande.study.sweep", "--clusters", str(cluster)),
        *("--scale", "1", "--sizes", "3,1500", "--rounds", "1", "--trial-calls", "20"),
        *("--against", "openmpi,openmpi:bruck,allemande+openmpi", "--out", str(tmp_path / "out")),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert "worst of default stock / ours" in done.stdout.splitlines()[-1]
    file = tmp_path / "out" / "small.json"
    content = json.loads(file.read_text())
    assert len(content["launches"]) == 6
    for row in content["rows"]:
        assert row["library"] == "openmpi" and row["wrong_bytes"] == 0
        assert row["against_best"] <= row["against_default"]
        assert row["trial_cost"] is not None
    small = [each for each in content["launches"] if each["size"] == 3]
    assert all(len(each["seconds"]) >= 50 for each in small)
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "launches" not in again.stderr
    assert json.loads(file.read_text()) == content


def test_an_interrupt_leaves_nothing_behind(
    cluster: Path, marked_processes: Callable[[], list[int]], nothing_left: Callable[[], None]
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "allemande", "bench", "--lab", str(cluster), "--scale", "1"),
            *("--sizes", "100K", "--against", "mpich", "--calls", "100"),
        ],
        stderr=subprocess.PIPE,
    )
    while not any("alltoall_bench" in command_line(pid) for pid in marked_processes()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    nothing_left()
