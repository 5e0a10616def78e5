"""The labs that run and their counters, as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from allemande.lab import registry
from allemande.lab.stats import EmulatorStats, Stats
from allemande.tables import left, plain_table, right

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
    name, cluster, *others = LAB_COLUMNS
    table = plain_table(None, *left(name), cluster, *left(*others))
    for row in rows:
        table.add_row(*(f"{row[column]}" for column in LAB_COLUMNS))
    Console(highlight=False).print(table)


def print_stats(counted: Stats, every: bool) -> None:
    columns = right("Mbit/s", "sent", "dropped", "lost", "queue high-water", "of")
    ports = plain_table("ports", *left("port"), *columns)
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
    columns = right("UDP sent", "UDP received", "receive-buffer drops", "TCP retransmitted", "RTOs")
    hosts = plain_table("hosts", *left("host"), *columns)
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
    columns = right("cpu", "softnet packets", "softnet dropped", "softnet squeezed")
    cpus = plain_table("processors", *columns)
    for cpu in counted.cpus:
        counts = (cpu.cpu, cpu.softnet_processed, cpu.softnet_dropped, cpu.softnet_squeezed)
        cpus.add_row(*map(str, counts))
    degraded = plain_table("degraded links", *left("link"), *right("rate", "loss", "withdrawn"))
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
