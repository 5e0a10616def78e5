"""Ranks that do not agree: nobody hangs, and one message says who differs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from tests.mpi.mpi_job import ALWAYS_OURS, Bench

ABORT_WITHIN_S = 20


def differing(bench: Bench, program: str, what: str) -> str:
    """A script that runs the program with `what` done first on ranks 1 and 3."""
    return bench.script("differing", f'case $RANK in 1|3) {what} ;; esac\nexec {program} "$@"')


def test_a_half_preloaded_job_ends_with_the_reason(bench: Bench) -> None:
    script = differing(bench, bench.program("repeat"), "unset LD_PRELOAD")
    start = time.monotonic()
    done = bench.run(script, "3", "1000", env={"ALLEMANDE_INIT_TIMEOUT_S": "3"})
    assert time.monotonic() - start < ABORT_WITHIN_S
    assert done.code != 0
    assert "CORRECT" not in done.out
    assert "did not forward LD_PRELOAD" in done.err
    assert "allemande run -- mpirun" in done.err


# As containers may be that were made from one image.
def test_hosts_of_one_name_are_told_apart(bench: Bench) -> None:
    rename = "echo worker > /proc/sys/kernel/hostname"
    program = bench.program("repeat")
    script = bench.script(
        "renamed", f'exec unshare --uts sh -c \'{rename}; exec {program} "$@"\' sh "$@"'
    )
    done = bench.run(script, "3", "1000", env={"ALLEMANDE_CLUSTER": "", **ALWAYS_OURS})
    done.check()
    assert done.stats["exchanges"] == 3 * len(bench.lab.hosts)
    assert done.stats["communicators_udp"] == len(bench.lab.hosts)
    assert not done.warnings


def test_unequal_options_pass_through(bench: Bench) -> None:
    script = differing(bench, bench.program("repeat"), "export ALLEMANDE_WINDOW_PACKETS=7")
    done = bench.run(script, "3", "1000")
    done.check()
    assert len(done.warnings) == 1
    assert "options or cluster file differ on ranks 1 (h1), 3 (h3)" in done.warnings[0]
    assert not done.stats


def test_unequal_cluster_files_pass_through(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(bench.lab.cluster_file.read_text().replace("200", "201"))
    script = differing(bench, bench.program("repeat"), f"export ALLEMANDE_CLUSTER={other}")
    done = bench.run(script, "3", "1000")
    done.check()
    assert len(done.warnings) == 1
    assert "differ on ranks 1 (h1), 3 (h3)" in done.warnings[0]


def test_equal_contents_of_different_files_agree(bench: Bench, tmp_path: Path) -> None:
    copy = tmp_path / "copy.toml"
    copy.write_text(bench.lab.cluster_file.read_text())
    script = differing(bench, bench.program("repeat"), f"export ALLEMANDE_CLUSTER={copy}")
    done = bench.run(script, "3", "1000")
    done.check()
    assert not done.warnings


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("ALLEMANDE_WINDOW_PACKETS=many", "ALLEMANDE_WINDOW_PACKETS: `many` is not valid"),
        ("ALLEMANDE_WINDOWS=3", "ALLEMANDE_WINDOWS: unknown"),
        ("ALLEMANDE_CLUSTER=/no/such.toml", "/no/such.toml: cannot be read"),
    ],
)
def test_invalid_options_on_one_rank(bench: Bench, setting: str, message: str) -> None:
    script = bench.script(
        "invalid", f'[ $RANK = 2 ] && export {setting}\nexec {bench.program("repeat")} "$@"'
    )
    done = bench.run(script, "3", "1000")
    done.check()
    assert len(done.warnings) == 2
    assert any("rank 2 (h2): error" in line and message in line for line in done.warnings)
    assert any("is not valid on rank 2 (h2)" in line for line in done.warnings)


def test_malformed_cluster_file(bench: Bench, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('format = 1\nname = "broken"\n[[link]]\nfrom = 3\n')
    done = bench.run("repeat", "3", "1000", env={"ALLEMANDE_CLUSTER": str(broken)})
    done.check()
    assert f"{broken}:" in done.err
    assert "every call passes through" in done.err


def test_hosts_missing_from_the_cluster_file(bench: Bench, tmp_path: Path) -> None:
    smaller = tmp_path / "smaller.toml"
    smaller.write_text(
        'format = 1\nname = "smaller"\n[[switch]]\nname = "s"\n[[host]]\nname = "h[0-3]"\n'
        '[[link]]\nfrom = "h[0-3]"\nto = "s"\nrate_mbit_s = 200\n'
    )
    done = bench.run("repeat", "3", "1000", env={"ALLEMANDE_CLUSTER": str(smaller)})
    done.check()
    assert len(done.warnings) == 1
    assert "does not name hosts h[4-5]" in done.warnings[0]
    assert "does without a cluster file" in done.warnings[0]
    assert done.stats["passed_through"] == 0


def test_all_ranks_on_one_host(bench: Bench) -> None:
    command = bench.command([bench.program("repeat"), "3", "1000"], ranks=2)
    flag, hosts = {
        "openmpi": ("--hostfile", ["--host", "h0:2"]),
        "mpich": ("-f", ["-hosts", "h0"]),
    }[bench.mpi]
    at = command.index(flag)
    command[at : at + 2] = hosts
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "all 2 ranks are on h0; every call passes through" in done.stderr
