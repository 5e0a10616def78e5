"""A plan for people."""

from __future__ import annotations

from rich.console import Console

from allemande.model.planning import Plan
from allemande.model.prediction_output import print_rows
from allemande.quantities import format_seconds, format_size


def print_plan(console: Console, plan: Plan) -> None:
    print_rows(console, plan.rows)
    tuning = plan.tuning
    if tuning is not None:
        port = f", at the port {tuning.contended_port}" if tuning.contended_port else ""
        single = tuning.single_window_packets
        console.print(
            f"window: {tuning.window_packets} packets{port}; "
            f"{tuning.window_packets_min} keep a host busy"
            + (f"; {single} where blocks are single packets" if single else ""),
            highlight=False,
        )
        console.print(f"grain: {tuning.grain_packets} packets", highlight=False)
        if plan.saturates_from is not None:
            console.print(
                f"from {plan.saturates_from} hosts on links between switches are the limit",
                highlight=False,
            )
        for warning in tuning.warnings:
            console.print(f"[yellow]{warning}[/yellow]", highlight=False)
    for size, row in sorted(plan.best().items()):
        way = f" ({row.way})" if row.way else ""
        close = "" if plan.is_certain(size) else "; others may be as fast"
        console.print(
            f"{format_size(size)}: {row.candidate}{way}, {format_seconds(row.time_s)}, "
            f"{row.basis}{close}",
            highlight=False,
        )
