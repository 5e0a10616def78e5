"""A cluster file that is wrong is pointed out, with its line, at the end of the job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

from allemande.lab import Lab

# So slow that a switch more on the way shows on a busy machine, too.
TRUE = """\
format = 1
name = "far-leaves"
[[switch]]
name = "leaf[0-1],core"
[[host]]
name = "h[0-5]"
[[link]]
from = "h[0-2]"
to = "leaf0"
rate_mbit_s = 4
queue_down_packets = 60
[[link]]
from = "h[3-5]"
to = "leaf1"
rate_mbit_s = 4
queue_down_packets = 60
[[link]]
from = "leaf[0-1]"
to = "core"
rate_mbit_s = 20
latency_us = 10000
queue_up_packets = 60
queue_down_packets = 200
"""
LINE_OF_FIRST_HOSTS = 8
LINE_OF_LATENCY = 21


@pytest.fixture
def far(programs: Path, mpi: str, tmp_path: Path) -> Iterator[Bench]:
    path = tmp_path / "far-leaves.toml"
    path.write_text(TRUE)
    with Lab.boot(path, scale=1, force=True) as lab:
        yield Bench(lab, programs / mpi, mpi, tmp_path)


def told(bench: Bench, text: str) -> tuple[str, list[str]]:
    """The name of a file with this text, and what a job with it warns of."""
    path = bench.folder / "told.toml"
    path.write_text(text)
    # The lab has a network for launchers, too, which is faster.
    env = {"ALLEMANDE_CLUSTER": str(path), "ALLEMANDE_INTERFACE": "eth0"}
    done = bench.run("repeat", "3", "1000", env=env)
    done.check()
    return str(path), done.warnings


def test_what_round_trips_refute_is_named_with_its_line(far: Bench) -> None:
    assert told(far, TRUE)[1] == []
    moved = TRUE.replace('"h[0-2]"', '"h[0-1,3]"').replace('"h[3-5]"', '"h[2,4-5]"')
    path, warnings = told(far, moved)
    assert len(warnings) == 1, warnings
    (warning,) = warnings
    assert f"{path}:{LINE_OF_FIRST_HOSTS}: h3 does not hang on leaf0: " in warning or (
        f"{path}:{LINE_OF_FIRST_HOSTS + 5}: h2 does not hang on leaf1: " in warning
    )
    assert re.search("so it is with h[23]. Correct the file.", warning)
    for latency_us, wrong in ((1000, "low"), (100_000, "high")):
        path, (warning,) = told(far, TRUE.replace("= 10000", f"= {latency_us}"))
        assert f"{path}:{LINE_OF_LATENCY}: the latency of leaf" in warning
        assert f"-> core, {latency_us} us, is too {wrong}: " in warning
