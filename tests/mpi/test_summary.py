"""ALLEMANDE_SUMMARY, and what `allemande compare` needs of the library."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from tests.mpi.mpi_job import Bench

CALLS = 5  # of programs/ends.c, 1000 bytes to each rank


def line_of(text: str) -> str:
    """The line of the summary on what the program exchanges."""
    found = re.search(r"^.*MPI_Alltoall  .*$", text, re.MULTILINE)
    assert found, text
    return found[0]


def test_a_summary_on_standard_error(bench: Bench) -> None:
    done = bench.run("ends", env={"ALLEMANDE_SUMMARY": "1"})
    done.check()
    assert done.err.count("allemande: summary of rank 0 of ") == 1
    assert "at MPI_Finalize: " in done.err and f"{CALLS} exchanges in " in done.err
    line = line_of(done.err)
    assert re.search(rf"512-1023 +{CALLS} ", line) and line.endswith("over UDP")
    part = re.search(r"([0-9.]+) %", line)
    assert part and 0 < float(part[1]) <= 100


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("abort", "summary of rank 1 of [0-9]+, at MPI_Abort"),
        ("crash", "summary of rank 0 of [0-9]+, ended by SIG"),
        ("exit", "summary of rank 0 of [0-9]+, at the end, without MPI_Finalize"),
    ],
)
def test_jobs_that_end_early_have_a_summary(bench: Bench, end: str, said: str) -> None:
    if bench.mpi == "mpich" and end == "exit":
        pytest.skip("Hydra waits for the other ranks, with or without allemande")
    done = bench.run("ends", end, env={"ALLEMANDE_SUMMARY": "1"})
    assert done.code != 0
    assert re.search(said, done.err), done.err
    assert re.search(rf"512-1023 +{CALLS} ", line_of(done.err))


def test_a_file_for_each_rank(bench: Bench) -> None:
    path = bench.folder / "summary-%r.txt"
    bench.run("ends", env={"ALLEMANDE_SUMMARY": str(path)}).check()
    for rank in range(len(bench.lab.hosts)):
        text = (bench.folder / f"summary-{rank}.txt").read_text()
        assert f"summary of rank {rank} of {len(bench.lab.hosts)}, at MPI_Finalize" in text
    assert not list(bench.folder.glob("*.part"))


def test_what_passes_through_is_explained(bench: Bench) -> None:
    done = bench.run("ends", env={"ALLEMANDE_SUMMARY": "1", "ALLEMANDE_DISABLE": "on"})
    done.check()
    assert line_of(done.err).endswith("library: ALLEMANDE_DISABLE")


def test_both_sides_are_timed_alike(bench: Bench) -> None:
    """Switched off, the library writes the same counters."""
    for env, carried in (({}, CALLS), ({"ALLEMANDE_DISABLE": "on"}, 0)):
        done = bench.run("ends", env=env)
        done.check()
        ranks = len(bench.lab.hosts)
        assert done.stats["exchanges"] == carried * ranks
        (line,) = done.stats["calls"]
        assert (line["function"], line["bytes_least"]) == ("MPI_Alltoall", 512)
        assert line["calls"] == CALLS * ranks and line["seconds"] > 0


def test_a_program_is_compared_in_a_lab(bench: Bench) -> None:
    told = bench.folder / "compared.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "allemande", "compare", "--lab", bench.lab.name),
            *("--mpi", bench.platform.launcher, "--rounds", "2", "--stdout"),
            *("--json", str(told), "--set", "trials=off", "--", bench.program("ends")),
        ],
        cwd=bench.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(told.read_text())
    assert [one["calls"] for one in found["classes"]] == [CALLS]
    assert found["classes"][0]["way"].endswith("over UDP")
    assert [one["verdict"] for one in found["outputs"]] == ["equal"]
    assert not list(bench.folder.glob(".allemande-compare-*"))
