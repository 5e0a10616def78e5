"""The labs that run and their counters, as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from allemande.lab import registry
from allemande.lab.stats import EmulatorStats, Stats

LAB_COLUMNS = ("name", "cluster", "scale", "timers", "hosts", "pid")


def describe_labs() -> list[dict[str, Any]]:
    return [
        {
            "name": state["name"],
            "cluster": state["cluster"],
            "scale": state["scale"],
            "timers": state["timers"]["name"],
            "hosts": len([holder for holder in state["holders"] if holder["host"]]),
            "persistent": state["persistent"],
            "directory": state["directory"],
            "pid": state["init"]["pid"],
        }
        for state in registry.running()
    ]


def print_labs(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in LAB_COLUMNS:
        table.add_column(column, no_wrap=column != "cluster")
    for row in rows:
        table.add_row(*(f"{row[column]}" for column in LAB_COLUMNS))
    Console(highlight=False).print(table)


def print_stats(counted: Stats, every: bool) -> None:
    ports = Table(box=None, pad_edge=False, title="ports", title_justify="left")
    ports.add_column("port", no_wrap=True)
    for column in ("Mbit/s", "sent", "dropped", "lost", "queue high-water", "of"):
        ports.add_column(column, justify="right", no_wrap=True)
    for port in counted.ports:
        if every or port.sent_packets or port.dropped_packets:
            ports.add_row(
                f"{port.node} -> {port.peer}",
                f"{port.rate_mbit_s:g}" if port.rate_mbit_s else "-",
                f"{port.sent_packets}",
                f"{port.dropped_packets}",
                f"{port.lost_packets}",
                f"{port.queue_high_water}",
                f"{port.queue_limit_packets}" if port.queue_limit_packets else "-",
            )
    hosts = Table(box=None, pad_edge=False, title="hosts", title_justify="left")
    hosts.add_column("host", no_wrap=True)
    for column in ("UDP sent", "UDP received", "receive-buffer drops", "TCP retransmitted", "RTOs"):
        hosts.add_column(column, justify="right", no_wrap=True)
    for host in counted.hosts:
        numbers = (
            host.udp_sent,
            host.udp_received,
            host.receive_buffer_drops,
            host.tcp_retransmitted,
            host.tcp_timeouts,
        )
        if every or any(numbers):
            hosts.add_row(host.host, *map(str, numbers))
    cpus = Table(box=None, pad_edge=False, title="processors", title_justify="left")
    for column in ("cpu", "softnet packets", "softnet dropped", "softnet squeezed"):
        cpus.add_column(column, justify="right", no_wrap=True)
    for cpu in counted.cpus:
        cpus.add_row(
            str(cpu.cpu),
            str(cpu.softnet_processed),
            str(cpu.softnet_dropped),
            str(cpu.softnet_squeezed),
        )
    degraded = Table(box=None, pad_edge=False, title="degraded links", title_justify="left")
    degraded.add_column("link", no_wrap=True)
    for column in ("rate", "loss", "withdrawn"):
        degraded.add_column(column, justify="right", no_wrap=True)
    for row in counted.degraded:
        degraded.add_row(
            row["link"],
            f"{row['rate']:g}",
            "all" if row["loss"] == 1 else f"{row['loss']:g}",
            "yes" if row["withdrawn"] else "no",
        )
    console = Console(highlight=False)
    for table in (ports, hosts, cpus, *([degraded] if counted.degraded else [])):
        console.print(table)
        console.print()
    if counted.emulator is not None:
        console.print(_describe_emulator(counted.emulator), soft_wrap=True)


def _describe_emulator(counted: EmulatorStats) -> str:
    text = (
        f"emulator: {counted.frames_in} frames in, {counted.frames_out} out, "
        f"{counted.lost_frames} lost by the machine; late by {1e6 * counted.lateness_s:.0f} us on "
        f"average and {counted.late_ns_max / 1000:.0f} us at most, {counted.late_frames} by more "
        f"than a frame's time; {counted.cpu_ns / 1e9:.1f} s of a processor, "
        f"{'before all others' if counted.realtime else 'without real-time priority'}"
    )
    if counted.lost_frames or counted.is_late():
        text += "\nfigures taken meanwhile are void: the machine did not keep up with the network"
    return text
