"""What a cluster file says, and what an all-to-all can at best do on it: as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from math import isclose
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Column

from allemande.errors import BadInput
from allemande.flow_limit import FlowLimit, alltoall_limits, bound_s
from allemande.partition import Halves, bisection
from allemande.quantities import format_rate, format_size
from allemande.report.cluster_outline import Outline
from allemande.tables import plain_table
from allemande.topology import Cluster, LevelLimit, Tuning, tune

LINE_MAX = 400


def _count(number: int, noun: str) -> str:
    """1 link, 2 links, 3 switches."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number} {noun if number == 1 else plural}"


def format_limit(seconds: float) -> str:
    """Three digits, zeros included: 5.10 s, 25.8 ms, 880 us."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        value = seconds * factor
        if value >= 1 or unit == "us":
            digits = 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def _bisection_or_reason(cluster: Cluster) -> tuple[Halves | None, str]:
    """The bisection, or None and why it is not known."""
    try:
        return bisection(cluster), ""
    except BadInput as error:
        return None, str(error)


def _merged(limits: Iterable[LevelLimit]) -> list[tuple[str, LevelLimit]]:
    """Rows to print: the two directions of a level share one where they need the same time."""
    rows: list[tuple[str, LevelLimit]] = []
    for limit in limits:
        level, _, direction = limit.level.rpartition(" ")
        if rows and direction in ("down", "in"):
            before = rows[-1][1]
            if before.level.startswith(level) and before.seconds == limit.seconds:
                rows[-1] = (f"{level}, each way", before)
                continue
        rows.append((limit.level, limit))
    return rows


def _price_json(cluster: Cluster) -> dict[str, Any]:
    """What the parts cost, and all of them."""
    price, cost = cluster.price, cluster.cost()
    assert price is not None and cost is not None
    return {
        "currency": price.currency,
        "hosts": cost.hosts,
        "switches": cost.switches,
        "links": cost.links,
        "total": cost.total,
    }


def _limit_json(cluster: Cluster, size: int, limit: FlowLimit) -> dict[str, Any]:
    return {
        "size": size,
        "seconds": limit.seconds,
        "method": limit.method,
        "bound_s": bound_s(cluster, None, size, limit.seconds),
        "levels": [
            {
                "level": level.level,
                "busiest": level.busiest,
                "rate_mbit_s": level.rate_mbit_s,
                "framed_bytes": level.bytes,
                "seconds": level.seconds,
            }
            for level in cluster.level_limits(None, size)
        ],
    }


def as_json(cluster: Cluster, sizes: list[int], price: bool = False) -> dict[str, Any]:
    """The same facts for programs."""
    halves, _ = _bisection_or_reason(cluster)
    tuning = tune(cluster)
    return {
        **({"price": _price_json(cluster)} if price else {}),
        "name": cluster.name,
        "description": cluster.description,
        "mtu_bytes": cluster.mtu_bytes,
        "link_header_bytes": cluster.link_header_bytes,
        "root_switch": cluster.root_switch(),
        "hosts": [
            {"name": host.name, "address": host.address, "interface": host.interface}
            for host in cluster.hosts
        ],
        "switches": [
            {
                "name": switch.name,
                "architecture": switch.architecture,
                "switching": switch.switching,
                "flow_control": switch.flow_control,
                "buffer_packets": switch.buffer_packets,
                "backplane_mbit_s": switch.backplane_mbit_s,
                **({"site": switch.site} if switch.site else {}),
            }
            for switch in cluster.switches
        ],
        "links": [
            {
                "from": link.from_,
                "to": link.to,
                "rate_up_mbit_s": link.rate_up_mbit_s,
                "rate_down_mbit_s": link.rate_down_mbit_s,
                "latency_us": link.latency_us,
                "queue_up_packets": link.queue_up_packets,
                "queue_down_packets": link.queue_down_packets,
                "bidirectional_cap_mbit_s": link.bidirectional_cap_mbit_s,
                "one_way": link.one_way,
            }
            for link in cluster.links
        ],
        "bisection": halves
        and {"links": halves.links, "mbit_s": halves.mbit_s, "exact": halves.exact},
        "limits": [
            _limit_json(cluster, size, limit)
            for size, limit in zip(sizes, alltoall_limits(cluster, sizes), strict=True)
        ],
        "tuning": {
            "window_packets": tuning.window_packets,
            "window_with_acks": tuning.window_with_acks,
            "window_packets_min": tuning.window_packets_min,
            "window_packets_max": tuning.window_packets_max,
            "grain_packets": tuning.grain_packets,
            "nu": tuning.nu,
            "contended_port": tuning.contended_port or None,
        },
        "warnings": cluster.warnings() + tuning.warnings,
    }


def _binding(levels: Iterable[LevelLimit], seconds: float) -> str:
    """The link, or the links around one place, that give this limit."""
    names = [one.busiest for one in levels if isclose(one.seconds, seconds, rel_tol=1e-6)]
    return names[0] if names else "no single place"


def _print_limits(console: Console, cluster: Cluster, sizes: list[int]) -> None:
    """The table of limits: a row per level, a column per size, the binding level in bold."""
    by_size = [_merged(cluster.level_limits(None, size)) for size in sizes]
    longest = [max(limit.seconds for _, limit in column) for column in by_size]
    console.print("All-to-all limit, by level of links and bytes per pair:")
    headings = ("rate", *map(format_size, sizes))
    figures = [Column(heading, justify="right") for heading in headings]
    table = plain_table(None, "level", "busiest link", *figures)
    for row, (level, limit) in enumerate(by_size[0]):
        cells = []
        for column, most in zip(by_size, longest, strict=True):
            seconds = column[row][1].seconds
            text = format_limit(seconds)
            cells.append(f"[bold]{text}[/bold]" if seconds == most else text)
        table.add_row(level, limit.busiest, format_rate(limit.rate_mbit_s), *cells)
    flows = alltoall_limits(cluster, sizes)
    limiting = _binding((limit for _, limit in by_size[-1]), flows[-1].seconds)
    if not cluster.is_tree():
        if any(flow.method == "flow" for flow in flows):
            texts = [f"[bold]{format_limit(flow.seconds)}[/bold]" for flow in flows]
            table.add_row("all paths together", limiting, "", *texts)
        if any(flow.method == "cuts only" for flow in flows):
            table.caption = "Too large for the flow over all paths: the limit may be longer."
            table.caption_justify = "left"
    pairs = zip(sizes, flows, strict=True)
    texts = [format_limit(bound_s(cluster, None, size, flow.seconds)) for size, flow in pairs]
    table.add_row("bound, with the ways of packets", limiting, "", *texts)
    console.print(table)


def _window_text(cluster: Cluster, tuning: Tuning) -> str:
    """The window and the port that gives it, or why no port does."""
    if len(cluster.hosts) < 2:
        return "none, because one host has nobody to send to"
    if not tuning.contended_port:
        names = {host.name for host in cluster.hosts}
        ends = [end for link in cluster.links for end in (link.from_, link.to) if end in names]
        reason = "hosts have several links" if len(ends) > len(names) else "no queue fills up"
        return f"{_count(tuning.window_packets, 'packet')} per host, as {reason}"
    return (
        f"{_count(tuning.window_packets, 'packet')} per host "
        f"({tuning.nu:.3g} meet at {tuning.contended_port} in an average step); "
        f"{tuning.window_packets_min} are under way where a host sends at full rate"
    )


def _print_price(console: Console, cluster: Cluster) -> None:
    price, cost = cluster.price, cluster.cost()
    assert price is not None and cost is not None
    console.print(
        f"Price: {cost.total:,.0f} {escape(price.currency)}: {cost.hosts:,.0f} for hosts, "
        f"{cost.switches:,.0f} for switches, {cost.links:,.0f} for links"
    )


def print_report(cluster: Cluster, sizes: list[int], price: bool = False) -> None:
    """The report for people."""
    # Lines keep their length: a terminal wraps them, a file or a pipe gets them whole.
    console = Console(width=LINE_MAX, highlight=False)
    console.print(f"[bold]{cluster.name}[/bold]: {escape(cluster.description) or 'no description'}")
    console.print(
        f"{_count(len(cluster.hosts), 'host')}, {_count(len(cluster.switches), 'switch')}, "
        f"{_count(len(cluster.links), 'link')}; MTU {cluster.mtu_bytes}, "
        f"link header {cluster.link_header_bytes} bytes"
    )
    drawing = Outline(cluster)
    console.print(drawing.tree())
    further = drawing.further()
    if further:
        console.print("Further links:")
        for line in further:
            console.print(f"  {escape(line)}")
    halves, reason = _bisection_or_reason(cluster)
    if halves:
        console.print(
            f"Bisection: {'' if halves.exact else 'at most '}{_count(halves.links, 'link')}, "
            f"{format_rate(halves.mbit_s)} each way"
        )
    else:
        console.print(f"Bisection: not known: {escape(reason)}")
    if price:
        _print_price(console, cluster)
    tuning = tune(cluster)
    console.print(f"Window: {escape(_window_text(cluster, tuning))}")
    console.print()
    _print_limits(console, cluster, sizes)
    for warning in cluster.warnings() + tuning.warnings:
        console.print(f"[yellow]warning:[/yellow] {escape(warning)}")
