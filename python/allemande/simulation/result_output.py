"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from allemande.quantities import format_part, format_rate, format_seconds, format_size
from allemande.simulation.case import JSON_KEYS, Result
from allemande.tables import left, right, ruled_table, widen

CSV_COLUMNS = (*JSON_KEYS, "mode", "cluster", "ranks_per_host", "goodput_mb_s")
FIGURES = (
    *("size", "time", "limit", "of limit", "bound", "of bound"),
    *("dropped", "sent again", "packet-hops"),
)


def _result_table(results: Sequence[Result]) -> Table:
    first = results[0]
    of_ranks = f" of {first.ranks_per_host} ranks" if first.ranks_per_host > 1 else ""
    title = f"{first.cluster}: {first.hosts} hosts{of_ranks}, simulated ({first.mode} level)"
    columns = (*left("algorithm"), *right(*FIGURES), *left("bottleneck"), *right("CPU"))
    table = ruled_table(title, *columns)
    best = {
        size: min((r.time_s for r in results if r.size == size), default=0.0)
        for size in {result.size for result in results}
    }
    for result in results:
        packets = result.mode == "packet"
        several = sum(other.size == result.size for other in results) > 1
        table.add_row(
            result.algorithm,
            format_size(result.size),
            format_seconds(result.time_s),
            format_seconds(result.limit_s),
            format_part(result.fraction_of_limit),
            format_seconds(result.bound_s),
            format_part(result.fraction_of_bound),
            Text(f"{result.dropped:,}", style="red" if result.dropped else ""),
            f"{result.retransmitted:,}",
            f"{result.packet_hops:,}" if packets else "",
            result.bottleneck,
            format_seconds(result.cpu_s),
            style="green" if several and result.time_s == best[result.size] else "",
        )
    return table


def _queue_table(result: Result) -> Table | None:
    """Where packets queued and were lost; None where they did not."""
    ports = result.busiest_queues()
    if not ports:
        return None
    title = f"queues of {result.algorithm}, {format_size(result.size)}"
    table = ruled_table(title, *left("port"), *right("longest queue", "dropped", "busy"))
    for port in ports:
        table.add_row(
            port.name,
            f"{port.queue_high_water}",
            Text(f"{port.dropped:,}", style="red" if port.dropped else ""),
            format_part(port.busy),
        )
    return table


def _share_table(result: Result) -> Table:
    """What each job and each flow got of what is theirs."""
    title = f"shares of {result.algorithm}, {format_size(result.size)}"
    table = ruled_table(title, *left("who"), *right("got", "fair", "sent again", "time-outs"))
    shares = result.shares
    for number, job in enumerate(shares["jobs"], 1):
        resent = job["retransmitted"] / max(1, job["data_packets"])
        fair = format_seconds(shares["fair_share_s"])
        table.add_row(f"job {number}", format_seconds(job["time_s"]), fair, format_part(resent), "")
    table.add_row("jobs together", format_part(shares["together_fraction"]), "100.0%", "", "")
    for flow in shares["background"]:
        table.add_row(
            f"{flow['from']} to {flow['to']}",
            format_rate(round(flow["mbit_s"], 1)),
            format_rate(round(flow["fair_mbit_s"], 1)),
            format_part(flow["retransmitted"] / max(1, flow["packets"])),
            str(flow["timeouts"]),
        )
    return table


def _tcp_table(results: Sequence[Result]) -> Table:
    """How calls over TCP went: those in which a connection waited, and the others."""
    headings = ("size", "calls", "that wait", "median", "others' median", "time-outs", "probes")
    table = ruled_table("TCP", *left("algorithm"), *right(*headings, "marked"))
    for result in results:
        waits = result.tcp["exchange_waits"]
        times = result.raw["exchange_s"]
        with_wait = [time for time, count in zip(times, waits, strict=True) if count]
        without = [time for time, count in zip(times, waits, strict=True) if not count]
        table.add_row(
            result.algorithm,
            format_size(result.size),
            str(len(times)),
            Text(str(len(with_wait)), style="red" if with_wait else ""),
            format_seconds(median(with_wait)) if with_wait else "",
            format_seconds(median(without)) if without else "",
            f"{result.tcp['timeouts']:,}",
            f"{result.tcp['probes']:,}",
            f"{result.tcp['marked']:,}",
        )
    return table


def print_results(console: Console, results: Sequence[Result]) -> None:
    widen(console, 160)
    console.print(_result_table(results))
    over_tcp = [result for result in results if result.tcp]
    if over_tcp:
        console.print(_tcp_table(over_tcp))
    for warning in dict.fromkeys(text for result in results for text in result.warnings):
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    for result in results:
        if result.shares:
            console.print(_share_table(result))
        queues = _queue_table(result)
        if queues is not None and (len(results) == 1 or result.dropped):
            console.print(queues)
