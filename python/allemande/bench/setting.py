"""Where and when figures were measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from allemande import __version__
from allemande.lab.timers import Timers
from allemande.quantities import format_rate
from allemande.topology import Cluster

REAL_TIMERS = Timers()


@dataclass(frozen=True)
class Setting:
    """Shown with the figures, always."""

    cluster: str
    hosts: int
    scale: float
    host_link: str
    congestion_control: str  # TCP's, under the stock libraries
    date: str
    machine: str
    versions: tuple[str, ...]
    workload: str | None = None  # where it is not MPI_Alltoall with one rank per host
    timers: Timers = REAL_TIMERS
    conditions: tuple[str, ...] = ()  # lines; where they are not those of one warm job alone

    @property
    def tcp(self) -> str:
        return f"TCP {self.congestion_control}, minimum RTO {self.timers.rto_min_text}"

    def lines(self) -> list[str]:
        return [
            f"{self.cluster}: {self.hosts} emulated hosts, scale {self.scale:g} "
            f"({self.host_link}, {self.tcp})",
            *([note] if (note := self.timers.note(self.scale)) else []),
            *([self.workload] if self.workload else []),
            *self.conditions,
            f"{self.date}, {self.machine}",
            *self.versions,
        ]


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


def _host_link_rates(cluster: Cluster) -> str:
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
    timers: Timers = REAL_TIMERS,
    conditions: Sequence[str] = (),
) -> Setting:
    return Setting(
        cluster=cluster.name,
        hosts=len(cluster.hosts),
        scale=scale,
        host_link=_host_link_rates(cluster.scaled(scale)),
        congestion_control=congestion_control,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=describe_machine(),
        workload=workload,
        timers=timers,
        conditions=tuple(conditions),
        versions=(f"allemande {__version__}", *(short_version(text) for text in mpi_versions)),
    )
