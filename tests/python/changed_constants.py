"""Constants of experiments that, changed, make a check fail."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allemande.reproduce.checks import points_of
from allemande.reproduce.experiment import Experiment

# Gone when the tests end.
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@dataclass(frozen=True)
class InFile:
    """A constant of a cluster file of the experiment, wherever it stands there."""

    file: str
    old: str
    new: str

    def changed(self, folder: Path) -> str:
        """The path of a file that has the new one."""
        text = (folder / self.file).read_text(encoding="utf-8")
        assert self.old in text, (folder, self.file)
        _FOLDERS.append(tempfile.TemporaryDirectory(prefix="allemande-changed-"))
        other = Path(_FOLDERS[-1].name) / "cluster.toml"
        other.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return str(other)


# A constant of an experiment that, changed, makes a check fail: where it stands, and to what.
CHEAP = {
    "000-fig-3-4": ("options.permutation", "edge-colouring"),
    "000-fig-6": ("module.per_packet_ns", 16000),
    "000-fig-6-probed": ("module.per_packet_ns", 16000),
    "000-table-1": (
        "network.0.cluster",
        InFile("../../clusters/tam-8x4.toml", "down_packets = 43", "down_packets = 50"),
    ),
    "001-fig-10": ("design.2.published", 5),
    "001-fig-3": ("pairs", "distance:4"),
    "001-fig-5": ("options.overheads_ns.g", 24000),
    "001-fig-6": ("pairs", "distance:4"),
    "001-fig-7": ("options.overheads_ns.g", 40000),
    "001-fig-8": ("cluster", "myrinet:9"),
    "001-table-1": ("difference.1.published", 3240),
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

MPICH = "MPICH, simulated TCP: bandwidth at 10 KB against sync+GW+CA"
# The curve of MPICH, the second one that its check needs, by another library's algorithm.
OF_ANOTHER = {"curve.1.algorithm": "openmpi:pairwise"}
BSS = "BSS(12,3), of one path"
OF_HSAM = "BSS(12,3), of HSAM(4)"
TRANSPOSED = "transpositions: BSS(12,3), of one path"
LEARNT = "BSS(12,3): best of 40 visits"
# What a post and a completion cost: 2 us in the experiments.
COSTLY = {"options.post_ns": 32_000, "options.completion_ns": 32_000}
SLOWER = {"options.post_ns": 200_000}
# The numbers of a host in the order of the subnet manager.
PLAIN = {"options.number_order": list(range(16))}
ONCE = {"exchanges": 1, "last": 1}
FEW_VISITS = {"visits": 4, "whole_visits": 1}
UPLINK = "rate_mbit_s = 1000\nqueue_up_packets"


@dataclass(frozen=True)
class Reduced:
    """Of the experiment only what one check needs is run: a point that it judges."""

    point: str
    changes: Mapping[str, Any]  # constants that make the check fail
    smaller: Mapping[str, Any] = field(default_factory=dict)  # it holds with these alone
    slow: bool = False


REDUCED: dict[str, Reduced] = {
    "000-ablation": Reduced(
        "8x2, both: part of the bound at 200 KB", {"curve.0.window_packets": 1}
    ),
    "000-fig-7": Reduced(MPICH, OF_ANOTHER),
    "000-fig-8": Reduced(MPICH, OF_ANOTHER),
    "000-fig-9": Reduced(MPICH, OF_ANOTHER),
    "000-fig-10": Reduced(MPICH, OF_ANOTHER),
    "000-fig-7-10-xor": Reduced(
        "6x4: best bandwidth, of the bound 10.96 MB/s", {"options.permutation": "edge-colouring"}
    ),
    "000-seeds": Reduced(
        "8x2: packets dropped, all sizes, most of 20", {"options.output_frames": 1}
    ),
    "001-fig-11-14": Reduced(
        "all-to-all at bisection 4, Gbit/s", {"link_mbit_s": 300}, {"sizes": [1484]}
    ),
    "002-fig-5.4": Reduced(
        "pairwise, 326 s&f: bandwidth at k=4 against the 8275-416 (the same pattern)",
        {"curve.0.cluster": "../clusters/ibm-326.toml"},
    ),
    "002-fig-5.6": Reduced(
        "sync, one ahead: bandwidth at k=1024 against its own at k=256 (well below 1)",
        {"options.jitter_us": 0},
    ),
    "002-fig-5.8": Reduced(
        "MPICH, simulated TCP: bandwidth at 50 KB, of the shuffle",
        {"curve.2.initial_window": 10},
    ),
    "003-fig-2": Reduced("gamma", {"sample": 50}),
    "003-fig-3": Reduced("largest error, saturated", {"sample": 50}),
    "003-fig-3-tcp": Reduced(
        "gamma",
        {"cluster": InFile("../003-fig-3-tree/cluster.toml", "= 2000", "= 4000")},
        {"hosts": [40]},
    ),
    "003-fig-3-tree": Reduced(
        "gamma", {"cluster": InFile("cluster.toml", "= 2000", "= 4000")}, {"hosts": [40]}
    ),
    "003-fig-4": Reduced("gamma", {"options.routing": "d-mod-k"}, {"hosts": [24]}),
    "003-fig-6": Reduced("Eq 6, openmpi: median error", {"sites": [2, 2]}),
    "003-fig-9-leaves-10-20": Reduced(
        "sync-shuffle: gamma",
        {"run.1.cluster": InFile("site.toml", UPLINK, UPLINK.replace("1000", "2000"))},
    ),
    "003-fig-9-leaves-6-54": Reduced(
        "Eq 7 as printed, local-group, 1024 B: error", {"sites": [30, 30]}
    ),
    "004-allreduce": Reduced("16 MiB: BSS(12,3), of one path", SLOWER, {"seeds": [1]}, slow=True),
    "004-alltoall-32": Reduced("128 KiB: BSS(12,3), of one path", COSTLY),
    "004-alltoall-64": Reduced("128 KiB: BSS(12,3), of one path", COSTLY, slow=True),
    "004-fig-10": Reduced(f"128 KiB: {BSS}", COSTLY, slow=True),
    "004-fig-10-numbers": Reduced(f"128 KiB: {BSS}", COSTLY, slow=True),
    "004-fig-10-posted": Reduced(OF_HSAM, {"options.stripes_as_posted": False}),
    "004-fig-11": Reduced(f"128 KiB: {BSS}", COSTLY, {"seeds": [1]}, slow=True),
    "004-fig-12": Reduced(f"256 KiB: {BSS}", SLOWER),
    "004-fig-13": Reduced("256 KiB: BSS(12,3), of BSS(4,2)", SLOWER, {"seeds": [1]}),
    "004-fig-13-numbers": Reduced(f"256 KiB: {OF_HSAM}", PLAIN, {"seeds": [1]}),
    "004-fig-14": Reduced(LEARNT, SLOWER, FEW_VISITS),
    "004-fig-14-numbers": Reduced(
        "HSAM(4): visits 31 to 40", PLAIN, {"visits": 20, "whole_visits": 1}
    ),
    "004-fig-15": Reduced(LEARNT, SLOWER, FEW_VISITS),
    "004-fig-16": Reduced(TRANSPOSED, SLOWER, ONCE),
    "004-fig-16-64": Reduced(TRANSPOSED, SLOWER, ONCE, slow=True),
    "004-fig-16-numbers": Reduced(TRANSPOSED, PLAIN, ONCE, slow=True),
    "004-fig-17": Reduced(TRANSPOSED, {"options.post_ns": 2_000_000}, ONCE, slow=True),
    "004-fig-17-64": Reduced(TRANSPOSED, SLOWER, ONCE, slow=True),
    "004-sweep": Reduced(
        f"16 us: {BSS}",
        {"options": {"routing": "ecmp", "transport": "stripes", "contention_aware": False}},
        slow=True,
    ),
    "004-sweep-alpha": Reduced(f"alpha 0.95: {BSS}", COSTLY),
    "004-sweep-hashed": Reduced(
        "0 us: BSS(12,6), of one path",
        {"options.routing": "lid", "options.lmc": 4},
        slow=True,
    ),
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
        if isinstance(value, InFile):
            value = value.changed(experiment.folder)
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
