"""What was found, as a table for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from allemande.model.profile import MEASURED
from allemande.probe.cluster_output import CORE, MEGA, leaf_name
from allemande.probe.estimate import Estimate
from allemande.probe.network_findings import ACROSS, LEAF, Findings
from allemande.probe.overload import PortFinding
from allemande.topology import compress_hostlist

MICRO = 1e6


def _range(values: Sequence[float], unit: str, digits: int = 3) -> str:
    low, middle, high = min(values), float(np.median(values)), max(values)
    if high - low < 0.005 * middle:
        return f"{middle:.{digits + 1}g} {unit}"
    return f"{middle:.{digits + 1}g} {unit} ({low:.{digits + 1}g} to {high:.{digits + 1}g})"


def _ports_line(findings: Sequence[PortFinding]) -> str:
    held = [
        one.buffer_packets.value
        for one in findings
        if one.state == MEASURED and one.buffer_packets is not None
    ]
    rates = [one.rate_bit_s.value / MEGA for one in findings if one.rate_bit_s is not None]
    bound = any(one.lower_bound for one in findings)
    parts = []
    if rates:
        parts.append(("at least " if bound else "") + _range(rates, "Mbit/s"))
    if held:
        parts.append("hold " + _range(held, "packets"))
    for state in sorted({one.state for one in findings} - {MEASURED}):
        count = sum(one.state == state for one in findings)
        parts.append(state if count == len(findings) else f"{count} {state}")
    return "; ".join(parts)


def lines(found: Findings) -> list[tuple[str, str]]:
    """Question and answer."""
    out = [("links of hosts, up", _range([one.value / MEGA for one in found.up], "Mbit/s"))]
    if found.host_ports:
        out.append(("ports of hosts", _ports_line(found.host_ports)))
    leaves = found.groups.leaves
    if leaves is None:
        out.append(("leaves", f"undetermined: {found.groups.reason}"))
    else:
        names = [compress_hostlist([found.hosts[r] for r in leaf]) for leaf in leaves]
        out.append(("leaves", f"{len(leaves)}: {' '.join(names)}"))
    if found.leaf_pool_packets is not None:
        out.append(("ports of a leaf share", f"{found.leaf_pool_packets} packets"))
    if found.core_pool_packets is not None:
        out.append(("ports of the core share", f"{found.core_pool_packets} packets"))
    if found.uplinks:
        out.append(("leaf to core", _ports_line(found.uplinks)))
        out.append(("core to leaf", _ports_line(found.downlinks)))
    for key, answer in found.answers.items():
        out.append((key.replace("_", " "), answer))
    for one in found.quantities:
        if one.name == "gap":
            continue
        unit = "ns/B" if one.name == "beta" else "us"
        factor = 1e9 if one.name == "beta" else MICRO
        where = f"{one.name} {one.carrier} {one.level}"
        value = one.estimate
        out.append(
            (
                where,
                f"{value.value * factor:.4g} {unit} "
                f"({value.low * factor:.4g} to {value.high * factor:.4g})",
            )
        )
    ways = sorted({one.candidate for one in found.samples})
    if ways:
        out.append(("ways timed", f"{len(found.samples)} samples of {', '.join(ways)}"))
    out.append(("took", f"{sum(found.spent_s.values()):.0f} s"))
    return out


def _estimate(one: Estimate | None, factor: float = 1.0) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"value": one.value * factor, "low": one.low * factor, "high": one.high * factor}


def _port(from_: str, to: str, one: PortFinding) -> dict[str, Any]:
    return {
        "from": from_,
        "to": to,
        "state": one.state,
        "rate_mbit_s": _estimate(one.rate_bit_s, 1 / MEGA),
        "lower_bound": one.lower_bound,
        "buffer_packets": _estimate(one.buffer_packets),
    }


def to_json(found: Findings) -> str:
    """One object; figures as value, low, high."""
    leaves = found.groups.leaves
    ports = [_port("switch", found.hosts[rank], one) for rank, one in enumerate(found.host_ports)]
    for k, (up, down) in enumerate(zip(found.uplinks, found.downlinks, strict=True)):
        ports += [_port(leaf_name(k), CORE, up), _port(CORE, leaf_name(k), down)]
    result = {
        "hosts": list(found.hosts),
        "mpi": found.mpi,
        "time_scale": found.time_scale,
        "simulated": found.simulated,
        "up_mbit_s": [_estimate(one, 1 / MEGA) for one in found.up],
        "leaves": None if leaves is None else [[found.hosts[r] for r in leaf] for leaf in leaves],
        "leaves_undetermined": found.groups.reason if leaves is None else None,
        "leaf_pool_packets": found.leaf_pool_packets,
        "core_pool_packets": found.core_pool_packets,
        "ports": ports,
        "flows": {
            level: [{"flows": count, "mbit_s": bit_s / MEGA} for count, bit_s in curve]
            for level, curve in ((LEAF, found.local), (ACROSS, found.across))
        },
        "found": found.answers,
        "parameters": [
            {
                "name": one.name,
                "level": one.level,
                "carrier": one.carrier,
                "bytes": one.bytes,
                **(_estimate(one.estimate) or {}),
            }
            for one in found.quantities
        ],
        "samples": [
            {
                "candidate": one.candidate,
                "hosts": [found.hosts[rank] for rank in one.members],
                "bytes": one.bytes,
                "times_s": list(one.times_s),
            }
            for one in found.samples
        ],
        "spent_s": found.spent_s,
    }
    return json.dumps(result, indent=2) + "\n"
