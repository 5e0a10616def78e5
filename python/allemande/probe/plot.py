"""Pictures of what figures were made from: rates and queues of ports, flows across, exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allemande.plot_look import COLOURS, MARKERS, save, styled_canvas
from allemande.probe.cluster_output import MEGA
from allemande.probe.estimate import Estimate
from allemande.probe.network_findings import Findings
from allemande.probe.overload import PortFinding


def _links(axes: Any, found: Findings) -> None:
    kinds: list[tuple[str, list[Estimate | None]]] = [
        ("host to leaf", list(found.up)),
        ("leaf to host", [one.rate_bit_s for one in found.host_ports]),
        ("leaf to core", [one.rate_bit_s for one in found.uplinks]),
        ("core to leaf", [one.rate_bit_s for one in found.downlinks]),
    ]
    for k, (label, rates) in enumerate(kinds):
        points = [
            (number, sample / MEGA)
            for number, rate in enumerate(rates)
            if rate is not None
            for sample in rate.samples
        ]
        if points:
            axes.plot(*zip(*points, strict=True), MARKERS[k], color=COLOURS[k], label=label)
    axes.set_xlabel("host, or leaf")
    axes.set_ylabel("Mbit/s")
    axes.set_ylim(bottom=0)
    axes.legend()


def _queues(axes: Any, found: Findings) -> None:
    kinds: Sequence[tuple[str, Sequence[PortFinding]]] = (
        ("leaf to host", found.host_ports),
        ("leaf to core", found.uplinks),
        ("core to leaf", found.downlinks),
    )
    for k, (label, ports) in enumerate(kinds):
        samples = [
            sample
            for one in ports
            if one.buffer_packets is not None
            for sample in one.buffer_packets.samples
        ]
        if samples:
            axes.plot(samples, MARKERS[k], color=COLOURS[k], markersize=3, label=label)
    axes.set_xlabel("lost packet")
    axes.set_ylabel("packets before it")
    axes.set_yscale("log")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _across(axes: Any, found: Findings) -> None:
    for k, (label, curve) in enumerate((("across", found.across), ("local", found.local))):
        if curve:
            flows, bit_s = zip(*curve, strict=True)
            axes.plot(
                flows,
                [one / MEGA for one in bit_s],
                color=COLOURS[k],
                marker=MARKERS[k],
                label=label,
            )
    axes.set_xlabel("concurrent flows")
    axes.set_ylabel("Mbit/s of payload")
    axes.set_ylim(bottom=0)
    axes.legend()


def _exchanges(axes: Any, found: Findings) -> None:
    most = max(len(one.members) for one in found.samples)
    names = sorted({one.candidate for one in found.samples})
    for k, name in enumerate(names):
        points = [
            (one.bytes, time_s)
            for one in found.samples
            if one.candidate == name and len(one.members) == most
            for time_s in one.times_s
        ]
        if points:
            style = {"color": COLOURS[k % len(COLOURS)], "markersize": 4, "label": name}
            axes.plot(*zip(*points, strict=True), MARKERS[k % len(MARKERS)], **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"bytes per pair, {most} hosts")
    axes.set_ylabel("seconds")
    axes.legend()


def draw(found: Findings, target: str) -> None:
    """Writes a .svg or .png file."""
    parts = [_links]
    if any(one.buffer_packets for one in found.host_ports):
        parts.append(_queues)
    if found.across:
        parts.append(_across)
    if found.samples:
        parts.append(_exchanges)
    with styled_canvas(6.4, 3.6 * len(parts)) as canvas:
        for part, axes in zip(parts, canvas.subplots(len(parts), squeeze=False), strict=True):
            part(axes[0], found)
        data = save(canvas, target.rpartition(".")[2])
    with open(target, "wb") as file:
        file.write(data)
