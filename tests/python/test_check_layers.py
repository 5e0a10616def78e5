"""The layer check refuses what docs/architecture.md forbids."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.check_runs import ROOT, run_check, write


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return run_check("check_layers.py", root)


def write_source(root: Path, name: str, text: str) -> None:
    write(root / "src", name, text)


def test_the_sources_of_this_repository_pass() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "include", "complaint"),
    [
        ("transport/engine.cc", '"topology/cluster.h"', "transport must not use topology"),
        ("transport/engine.cc", '"transport/io/endpoint.h"', "must not use transport/io"),
        ("transport/engine.cc", "<sys/socket.h>", "takes time, randomness"),
        ("transport/engine.h", "<chrono>", "takes time, randomness"),
        ("base/time.h", '"wire/header.h"', "base must not use wire"),
        ("schedule/shift.cc", '"plan/plan.h"', "schedule must not use plan"),
        ("plan/plan.cc", '"transport/channel.h"', "plan must not use transport"),
        ("plan/plan.cc", "<mpi.h>", "know MPI"),
        ("transport/io/udp.cc", "<mpi.h>", "know MPI"),
        ("topology/cluster.cc", "<nanobind/nanobind.h>", "knows Python"),
        ("job/init.cc", "<Python.h>", "knows Python"),
        ("plan/plan.cc", '"plan.h"', "names no module"),
        ("wire/wire_test.cc", '"transport/channel.h"', "wire must not use transport"),
        ("courier/courier.cc", '"communicator/trials.h"', "courier must not use communicator"),
        ("elsewhere/x.cc", "<vector>", "belongs to no module"),
    ],
)
def test_a_bad_include_is_rejected(name: str, include: str, complaint: str, tmp_path: Path) -> None:
    write_source(tmp_path, name, f"// why\n#include {include}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert complaint in done.stderr
    assert f"src/{name}" in done.stderr


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("transport/engine.cc", '"wire/header.h"'),
        ("transport/io/endpoint.cc", "<sys/socket.h>"),
        ("messages/io/mpi_p2p.cc", "<mpi.h>"),
        ("job/init.cc", '"transport/io/driver.h"'),
        ("bindings/module.cc", "<nanobind/nanobind.h>"),
        ("topology/cluster.cc", '"base/result.h"'),
        ("transport/engine_test.cc", "<random>"),
    ],
)
def test_an_allowed_include_passes(name: str, include: str, tmp_path: Path) -> None:
    write_source(tmp_path, name, f"#include {include}\n")
    done = check(tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_arrow_that_nothing_uses_is_rejected(tmp_path: Path) -> None:
    source = (ROOT / "tools/check_layers.py").read_text()
    arrow = '"wire": {"topology"},'
    assert '"wire": set(),' in source
    tool = tmp_path / "check_layers.py"
    tool.write_text(source.replace('"wire": set(),', arrow, 1))
    done = subprocess.run([sys.executable, tool, ROOT], capture_output=True, text=True)
    assert done.returncode == 1
    assert "nothing in wire includes topology" in done.stderr


def test_a_long_file_is_warned_of_and_then_refused(tmp_path: Path) -> None:
    write_source(tmp_path, "base/long.cc", "int x;\n" * 550)
    done = check(tmp_path)
    assert (done.returncode, "550 lines" in done.stderr) == (0, True)
    write_source(tmp_path, "base/long.cc", "int x;\n" * 601)
    assert check(tmp_path).returncode == 1


def test_a_room_that_has_grown_too_large_is_refused(tmp_path: Path) -> None:
    for i in range(8):
        write_source(tmp_path, f"base/part{i}.h", "\n" * 450)
        write_source(tmp_path, f"base/part{i}_test.cc", "\n" * 450)
    assert check(tmp_path).returncode == 0
    write_source(tmp_path, "base/more.h", "\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert "base: 3601 lines without tests" in done.stderr
