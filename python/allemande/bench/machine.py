"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from allemande import __version__
from allemande.bench.formats import Setting
from allemande.topology import Cluster


def processor(text: str) -> str:
    """The model in /proc/cpuinfo's text."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return platform.machine()


def describe_machine() -> str:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return f"{os.cpu_count()} x {processor(cpuinfo)}, Linux {platform.release()}"


def format_rate(mbit_s: float) -> str:
    return f"{mbit_s / 1000:g} Gbit/s" if mbit_s >= 1000 else f"{mbit_s:g} Mbit/s"


def host_link_rates(cluster: Cluster) -> str:
    hosts = {host.name for host in cluster.hosts}
    rates = [
        rate
        for link in cluster.links
        if link.from_ in hosts or link.to in hosts
        for rate in (link.rate_up_mbit_s, link.rate_down_mbit_s)
    ]
    low, high = format_rate(min(rates)), format_rate(max(rates))
    return f"host links {low}" if low == high else f"host links {low} to {high}"


def short_version(version: str) -> str:
    """`Open MPI v5.0.11, package: …` and `MPICH Version:      5.0.2`, shortened."""
    return " ".join(version.partition(",")[0].replace("Version:", "").split())


def describe_setting(
    cluster: Cluster,
    scale: float,
    congestion_control: str,
    mpi_versions: Sequence[str],
    workload: str | None = None,
) -> Setting:
    return Setting(
        cluster=cluster.name,
        hosts=len(cluster.hosts),
        scale=scale,
        host_link=host_link_rates(cluster.scaled(scale)),
        congestion_control=congestion_control,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=describe_machine(),
        workload=workload,
        versions=(f"allemande {__version__}", *(short_version(text) for text in mpi_versions)),
    )
