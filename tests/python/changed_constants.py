"""Constants of experiments that, changed, make a check fail."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from allemande.reproduce.checks import points_of
from allemande.reproduce.experiment import Experiment

# A constant of an experiment that, changed, makes a check fail: where it stands, and to what.
CHEAP = {
    "000-fig-3-4": ("options.permutation", "edge-colouring"),
    "000-fig-6": ("module.per_packet_ns", 16000),
    "000-fig-6-probed": ("module.per_packet_ns", 16000),
    "000-table-1": ("value.0.what", "uplink"),
    "001-fig-10": ("design.2.published", 5),
    "001-fig-3": ("pairs", "distance:4"),
    "001-fig-5": ("options.overheads_ns.g", 24000),
    "001-fig-6": ("pairs", "distance:4"),
    "001-fig-7": ("options.overheads_ns.g", 40000),
    "001-fig-8": ("cluster", "myrinet:9"),
    "001-table-1": ("measure", "bisection"),
    "002-fig-5.2": ("options.piggyback_acks", False),
    "002-table-5.2": ("network.0.options.overheads_ns.o_s", 25000),
    "003-fig-7": ("algorithm", "local-group"),
    "003-fig-9": ("sites", [10, 30]),
    "dctcp-all-to-all": ("size", 250),
}
# The same of what takes longer.
SLOW = {
    "000-fig-5": ("curve.0.algorithm", "direct"),
    "000-fig-7": ("curve.0.window_packets", 1),
    "001-fig-9": ("options.overheads_ns.g", 40000),
    "002-fig-5.3": ("options.overheads_ns.g", 140000),
    "002-fig-5.3-acks": ("options.piggyback_acks", False),
    "002-fig-5.5": ("options.overheads_ns.g", 10000),
    "002-fig-5.7": ("curve.0.cluster", "../clusters/ibm-416.toml"),
    "004-fig-4-5": ("curve.1.options.lmc", 0),
}

FEW = {"hosts": "h[0-11]"}  # one leaf block of 004's switch: nobody meets anybody
MPICH = "MPICH, simulated TCP: bandwidth at 10 KB against sync+GW+CA"
UNHELD = {"options.rto_min_ms": 1, "module.per_packet_ns": 1000}
BSS = "BSS(12,3), of one path"
TRANSPOSED = "transpositions: BSS(12,3), of one path"
LEARNT = "BSS(12,3): best of 40 visits"

# Of these only what one check needs is run: a point that it judges, and the constants that are
# changed.
REDUCED: dict[str, tuple[str, Mapping[str, Any]]] = {
    "000-ablation": ("8x2, both: part of the bound at 200 KB", {"curve.0.window_packets": 1}),
    "000-fig-7": (MPICH, UNHELD),
    "000-fig-8": (MPICH, UNHELD),
    "000-fig-9": (MPICH, UNHELD),
    "000-fig-10": (MPICH, UNHELD),
    "000-fig-7-10-xor": (
        "6x4: best bandwidth, of the bound 10.96 MB/s",
        {"options.permutation": "edge-colouring"},
    ),
    "000-seeds": ("8x2: packets dropped, all sizes, most of 20", {"options.output_frames": 1}),
    "001-fig-11-14": ("all-to-all at bisection 4, Gbit/s", {"link_mbit_s": 300, "sizes": [1484]}),
    "002-fig-5.4": (
        "pairwise, 326 s&f: bandwidth at k=4 against the 8275-416 (the same pattern)",
        {"curve.2.cluster": "../clusters/ibm-326.toml"},
    ),
    "002-fig-5.6": (
        "sync, one ahead: bandwidth at k=1024 against its own at k=256 (well below 1)",
        {"options.jitter_us": 0},
    ),
    "002-fig-5.8": (
        "MPICH, simulated TCP: bandwidth at 50 KB, of the shuffle",
        {"curve.2.initial_window": 10},
    ),
    "003-fig-2": ("gamma", {"sample": 50}),
    "003-fig-3": ("largest error, saturated", {"sample": 50}),
    "003-fig-3-tcp": ("gamma", {"cluster": "../003-fig-3/cluster.toml", "hosts": [40]}),
    "003-fig-3-tree": ("gamma", {"cluster": "../003-fig-3/cluster.toml", "hosts": [40]}),
    "003-fig-4": ("gamma", {"options.routing": "d-mod-k", "hosts": [24]}),
    "003-fig-6": ("Eq 6, openmpi: median error", {"sites": [2, 2]}),
    "003-fig-8": ("the most where the library is below 30 % of the bound", {"ours.0": "openmpi"}),
    "003-fig-9-leaves-10-20": ("sync-shuffle: gamma", {"run.1.cluster": "pair.toml"}),
    "003-fig-9-leaves-6-54": ("sync-shuffle: gamma", {"run.1.cluster": "pair.toml"}),
    "004-allreduce": ("16 MiB: BSS(12,3), of one path", {**FEW, "seeds": [1]}),
    "004-alltoall-32": ("128 KiB: BSS(12,3), of one path", {"hosts": "h[0-7]"}),
    "004-alltoall-64": ("128 KiB: BSS(12,3), of one path", {"hosts": "h[0-7]"}),
    "004-fig-10": (f"128 KiB: {BSS}", FEW),
    "004-fig-10-numbers": (f"128 KiB: {BSS}", FEW),
    "004-fig-10-posted": (BSS, FEW),
    "004-fig-11": (f"128 KiB: {BSS}", {**FEW, "seeds": [1]}),
    "004-fig-12": (f"256 KiB: {BSS}", {**FEW, "options.post_ns": 200_000}),
    "004-fig-13": ("256 KiB: BSS(12,3), of one path", {**FEW, "seeds": [1]}),
    "004-fig-13-numbers": ("256 KiB: BSS(12,3), of HSAM(4)", {**FEW, "seeds": [1]}),
    "004-fig-14": (LEARNT, {"options.post_ns": 200_000, "visits": 4, "whole_visits": 1}),
    "004-fig-14-numbers": (
        "HSAM(4): visits 31 to 40",
        {"options.number_order": list(range(16)), "visits": 20, "whole_visits": 1},
    ),
    "004-fig-15": (LEARNT, {"options.post_ns": 200_000, "visits": 4, "whole_visits": 1}),
    "004-fig-16": (TRANSPOSED, {**FEW, "exchanges": 1, "last": 1}),
    "004-fig-16-64": (TRANSPOSED, {**FEW, "exchanges": 1, "last": 1}),
    "004-fig-16-numbers": (TRANSPOSED, {**FEW, "exchanges": 1, "last": 1}),
    "004-fig-17": (TRANSPOSED, {**FEW, "exchanges": 1, "last": 1}),
    "004-fig-17-64": (TRANSPOSED, {**FEW, "exchanges": 1, "last": 1}),
    "004-sweep": ("16 us: BSS(12,3), of one path", FEW),
    "004-sweep-alpha": (f"alpha 0.95: {BSS}", FEW),
    "004-sweep-hashed": ("0 us: BSS(12,6), of one path", FEW),
}


def changed_one(experiment: Experiment, where: str, value: Any) -> Experiment:
    return changed(experiment, {where: value})


def changed(experiment: Experiment, changes: Mapping[str, Any]) -> Experiment:
    data = copy.deepcopy(experiment.data)
    for where, value in changes.items():
        *way, last = [int(part) if part.isdigit() else part for part in where.split(".")]
        inner: Any = data
        for part in way:
            inner = inner[part]
        assert isinstance(inner, list) or inner.get(last) != value, where
        inner[last] = value
    return replace(experiment, data=data)


def _check_of(data: Mapping[str, Any], point: str) -> Any:
    return next(one for one in data["check"] if points_of(one)[0] == point and "missed" not in one)


def _reduce_curves(data: dict[str, Any], points: list[str]) -> None:
    data["published"] = [p for p in data["published"] if f"{p['curve']}: {p['point']}" in points]
    labels = {p[key] for p in data["published"] for key in ("curve", "against") if key in p}
    places = {p.get(key) for p in data["published"] for key in ("at", "at_against")} - {None}
    data["curve"] = [curve for curve in data["curve"] if curve["label"] in labels]
    for curve in data["curve"]:
        curve["seeds"] = 1
        if all(isinstance(place, int) for place in places):
            curve["values"] = sorted(places)


def _reduce_striping(data: dict[str, Any], points: list[str]) -> None:
    data["row"] = [row for row in data["row"] if row["point"] in points]
    wanted = [tuple(row[key]) for row in data["row"] for key in ("value", "of")]
    data["curve"] = [c for c in data["curve"] if c["label"] in {label for label, _ in wanted}]
    data["values"] = sorted({x for _, x in wanted})


def _reduce_learning(data: dict[str, Any], points: list[str]) -> None:
    data["row"] = [row for row in data["row"] if row["point"] in points]
    labels = {row["curve"] for row in data["row"]}
    data["curve"] = [curve for curve in data["curve"] if curve["label"] in labels]


def _reduce_networks(data: dict[str, Any], points: list[str]) -> None:
    data["published"] = [row for row in data["published"] if row["point"] in points]
    wanted = [row[key] for row in data["published"] for key in ("value", "of") if key in row]
    data["curve"] = [c for c in data["curve"] if c["label"] in {one[0] for one in wanted}]
    data["networks"] = [n for n in data["networks"] if n[0] in {one[1] for one in wanted}]


REDUCE = {
    "curves": _reduce_curves,
    "striping": _reduce_striping,
    "learning": _reduce_learning,
    "networks": _reduce_networks,
}


def reduced(experiment: Experiment, point: str) -> Experiment:
    """What the check of this point needs of it."""
    data = copy.deepcopy(experiment.data)
    check = _check_of(data, point)
    data["check"] = [check]
    if data["kind"] in REDUCE:
        REDUCE[data["kind"]](data, points_of(check))
    return replace(experiment, data=data)
