"""Hosts with several interfaces: the fastest that carries packets is taken, and said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench
from tests.mpi.udp_filters import drop_udp

from allemande.lab import Lab

CLUSTER = Path(__file__).parent / "clusters" / "two-ports.toml"
TALKATIVE = {"ALLEMANDE_LOG": "info"}


@pytest.fixture
def two_ports(programs: Path, mpi: str, tmp_path: Path) -> Iterator[Bench]:
    with Lab.boot(CLUSTER, scale=1, force=True) as lab:
        yield Bench(lab, programs / mpi, mpi, tmp_path)


def said(err: str) -> str:
    (line,) = re.findall("packets leave by .*", err)
    return str(line)


def address_of(bench: Bench, device: str) -> str:
    command = ["ip", "-4", "-oneline", "address", "show", "dev", device]
    shown = bench.lab.exec("h0", command, check=True, capture_output=True, text=True)
    return str(re.findall(r"inet ([0-9.]+)/", shown.stdout)[0])


def test_the_faster_port_is_taken_unless_it_carries_nothing(two_ports: Bench) -> None:
    slow, fast = address_of(two_ports, "eth0"), address_of(two_ports, "eth1")
    done = two_ports.run("repeat", "3", "1000", env=TALKATIVE)
    done.check()
    assert done.stats["communicators_mpi"] == 0
    assert said(done.err) == (
        f"packets leave by {fast}: of the host's links in the cluster file the fastest"
    )
    drop_udp(two_ports.lab, "h2", "eth1")
    done = two_ports.run("repeat", "3", "1000", env=TALKATIVE)
    done.check()
    assert done.stats["communicators_mpi"] == 0 and done.stats["exchanges"] > 0
    assert re.fullmatch(
        f"packets leave by {re.escape(slow)}: .*; not by {re.escape(fast)}, over which h2 has not "
        r"heard h[013]",
        said(done.err),
    )
