"""004 Figures 10 to 13, 16 and 17: what an exchange takes over stripes, by path policy.

kind = "striping"
cluster = "ib-144"
hosts = "h[0-47]"
x = "size" | "cost_ns" | "alpha"    what `values` are: bytes per pair, the processor time of a post
values = [65536, 131072]            and of a completion, or the alpha of 004's Eq 3
size = 131072                       where x is not the size
algorithm = "shift-exchange"        or options.pattern
steps = "shift" | "xor" | "ring"    who sends at once: what the bound of the routes is worked out by
exchanges = 8                       in one simulation, so that weights are learnt;
last = 3                            the mean of so many of them counts
seeds = [1]                         with options.mapping = "random": the mean over these mappings
[options]                           of every run; number_order as well (number_order.py)
[[curve]]                           the first one is what the plot's times are divided by; lines,
                                    or bars where there is one value
label = "one path"
algorithm = "sync-shuffle"          instead of the common one
options = { path_policy = "one" }
[[row]]
point = "BSS(12,3), of one path"
value = ["BSS(12,3)", 131072]       curve and x: a time
of = ["one path", 131072]           what it is a part of; "bound": the part of the LP bound reached,
published = 0.5                     "routes": that of the bound of the curve's own routes
share = 0.25                        the part of a program's time that `of` is: the row is the gain
gain = 0.11                         of the program; or the share that gives such a gain
computing_ms = 28.8                 what a host computes between two exchanges, in place of `share`;
                                    with it: how many times as long it computes by that share
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from allemande import _core
from allemande.errors import BadInput
from allemande.plot_look import COLOURS, save, styled_canvas
from allemande.quantities import format_size
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.line_plot import draw_lines
from allemande.reproduce.number_order import order_numbers
from allemande.simulation.case import Case, Result
from allemande.simulation.parallel import run_cases
from allemande.topology import Cluster, expand_hostlist

LABELS = {
    "size": "bytes per pair",
    "cost_ns": "processor time of a post and of a completion, \N{MICRO SIGN}s",
    "alpha": "\N{GREEK SMALL LETTER ALPHA} of Eq 3",
}

Runs = Mapping[tuple[str, float], Sequence[Result]]  # by curve and x, one for each seed


def _case(
    cluster: Cluster, data: dict[str, Any], curve: dict[str, Any], x: float, seed: int
) -> Case:
    options = {
        "seed": seed,
        "hosts": expand_hostlist(data["hosts"]),
        "exchanges": data.get("exchanges", 1),
        **order_numbers(cluster, {**data.get("options", {}), **curve.get("options", {})}),
    }
    size = int(x) if data["x"] == "size" else int(data["size"])
    if data["x"] == "cost_ns":
        options |= {"post_ns": x, "completion_ns": x}
    elif data["x"] == "alpha":
        options["stripe_alpha"] = x
    algorithm = curve.get("algorithm", data.get("algorithm", "sync-shuffle"))
    return Case(cluster, algorithm, size, "packet", options)


def _times(result: Result) -> list[float]:
    """The time of each exchange, or of each pass through a pattern."""
    if result.step_s is not None:
        return [sum(steps) for steps in result.visits_s or [result.step_s]]
    return list(result.raw["exchange_s"])


def _routes_bound_s(
    experiment: Experiment, cluster: Cluster, curve: dict[str, Any], result: Result
) -> float:
    """The sum over the steps of what the fullest port carries, if each pair's first path is used
    and everybody waits for the slowest in each step."""
    data = experiment.data
    options = {**data.get("options", {}), **curve.get("options", {})}
    routes = _core.make_routes(cluster, options["routing"], options.get("lmc", 0))
    hosts = result.raw["host_order"]
    count = len(hosts)
    one_s = cluster.framed_bytes(result.size) * 8e-6 / cluster.links[0].rate_up_mbit_s
    if data["steps"] == "ring":
        steps = [[(i, (i + 1) % count) for i in range(count)]] * (count - 1)
    elif data["steps"] == "xor":
        steps = [[(i, i ^ step) for i in range(count)] for step in range(1, count)]
    else:
        steps = [[(i, (i + step) % count) for i in range(count)] for step in range(1, count)]
    total = 0
    for step in steps:
        flows: dict[str, int] = {}
        for i, j in step:
            for port in routes.path(hosts[i], hosts[j], 0):
                flows[port] = flows.get(port, 0) + 1
        total += max(flows.values())
    return total * one_s


def _size_name(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return format_size(size)


class _Figure:
    def __init__(self, experiment: Experiment, runs: Runs) -> None:
        self.experiment = experiment
        self.data = experiment.data
        self.runs = runs

    def seconds(self, where: Sequence[Any]) -> float:
        label, x = where
        last = int(self.data.get("last", 1))
        return fmean(fmean(_times(result)[-last:]) for result in self.runs[str(label), float(x)])

    def value(self, row: dict[str, Any]) -> float:
        seconds = self.seconds(row["value"])
        key = (str(row["value"][0]), float(row["value"][1]))
        if row["of"] == "bound":
            return fmean(result.limit_s for result in self.runs[key]) / seconds
        if row["of"] == "routes":
            curve = next(one for one in self.data["curve"] if one["label"] == key[0])
            cluster = find_experiment_cluster(self.experiment, self.data["cluster"])
            bounds = [
                _routes_bound_s(self.experiment, cluster, curve, result)
                for result in self.runs[key]
            ]
            return fmean(bounds) / seconds
        of_s = self.seconds(row["of"])
        ratio = seconds / of_s
        if "computing_ms" in row:
            computing_s = float(row["computing_ms"]) * 1e-3
            if "share" in row:
                share = float(row["share"])
                return of_s * (1 - share) / share / computing_s
            return of_s / (of_s + computing_s) * (1 - ratio)
        if "share" in row:
            return float(row["share"]) * (1 - ratio)
        if "gain" in row:
            return float(row["gain"]) / (1 - ratio)
        return ratio

    def rows(self) -> list[Row]:
        figure = self.experiment.figure
        return [
            Row(row.get("figure", figure), row["point"], row.get("published"), self.value(row))
            for row in self.data["row"]
        ]

    def draw(self, kind: str) -> bytes:
        return self._draw_bars(kind) if len(self.data["values"]) == 1 else self._draw_lines(kind)

    def _draw_bars(self, kind: str) -> bytes:
        """Bars, one for each curve, at the only x."""
        (x,) = self.data["values"]
        labels = [curve["label"] for curve in self.data["curve"]]
        parts = [self.seconds((label, x)) / self.seconds((labels[0], x)) for label in labels]
        with styled_canvas(6.4, 3.2) as canvas:
            axes = canvas.subplots()
            bars = axes.barh(labels, parts, color=COLOURS[: len(labels)], height=0.6)
            axes.bar_label(bars, [f"{part:.2f}" for part in parts], padding=4)
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y")
            axes.set_xlim(0, 1.1 * max(parts))
            axes.set_xlabel(f"time, of that of {labels[0]}")
            canvas.suptitle(self.experiment.title, x=0.01, ha="left", fontsize=12)
            return save(canvas, kind)

    def _draw_lines(self, kind: str) -> bytes:
        x, values = self.data["x"], self.data["values"]
        first = self.data["curve"][0]["label"]

        def dress(axes: Axes) -> None:
            names = {
                "size": [_size_name(int(v)) for v in values],
                "cost_ns": [f"{v / 1000:g}" for v in values],
                "alpha": [f"{v:g}" for v in values],
            }
            axes.set_xticks(range(len(values)), names[x])
            axes.set_xlabel(LABELS[x])
            axes.set_ylabel(f"time, of that of {first}")
            axes.set_ylim(top=min(axes.get_ylim()[1], 2.0))

        lines = [
            (
                curve["label"],
                range(len(values)),
                [self.seconds((curve["label"], v)) / self.seconds((first, v)) for v in values],
            )
            for curve in self.data["curve"]
        ]
        return draw_lines(self.experiment.title, lines, dress, kind)


def run_striping(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    data = experiment.data
    if data["x"] not in LABELS:
        raise BadInput(
            f"{experiment.folder}: x {data['x']!r} is unknown; expected {', '.join(LABELS)}"
        )
    cluster = find_experiment_cluster(experiment, data["cluster"])
    keys: list[tuple[str, float]] = []
    cases: list[Case] = []
    for curve in data["curve"]:
        for x in data["values"]:
            for seed in data.get("seeds", [1]):
                keys.append((curve["label"], float(x)))
                cases.append(_case(cluster, data, curve, x, seed))
    runs: dict[tuple[str, float], list[Result]] = {}
    for key, result in zip(keys, run_cases(cases, workers, watcher), strict=True):
        runs.setdefault(key, []).append(result)
    figure = _Figure(experiment, runs)
    return Outcome(figure.rows(), figure.draw)
