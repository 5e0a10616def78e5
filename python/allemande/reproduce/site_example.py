"""The phases of local group between two small sites (003 Figure 7), and what they take.

sites: numbers of hosts, the smaller first; algorithm: one of local group; message: the origin and
the destination of the block that the figure follows. Times are those of a file measured in the lab
(lab, site_times.py), part `grid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from allemande import _core
from allemande.plot_look import COLOURS, INK, save, share_legend, styled_canvas
from allemande.quantities import format_size
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.site_gain import PART, short_name
from allemande.reproduce.site_times import KeptSites, read_sites

Block = tuple[int, int]  # origin, destination


@dataclass(frozen=True)
class Message:
    sender: int
    receiver: int
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Example:
    """The messages of the two phases."""

    n1: int
    local: Sequence[Message]
    crossing: Sequence[Message]

    def steps(self) -> list[list[tuple[int, int]]]:
        """The pairs that exchange in the second phase, the host of the smaller site first."""
        out: list[list[tuple[int, int]]] = []
        for host in range(self.n1):
            partners = [m.receiver for m in self.crossing if m.sender == host]
            for step, partner in enumerate(partners):
                if step == len(out):
                    out.append([])
                out[step].append((host, partner))
        return out

    def stored_at(self, block: Block) -> int:
        """Which host of its own site sends a block to the other site."""
        return next(m.sender for m in self.crossing if block in m.blocks)

    @property
    def largest(self) -> int:
        """Blocks of the largest message between the sites."""
        return max(len(m.blocks) for m in self.crossing)


def make_example(n1: int, n2: int, algorithm: str) -> Example:
    ranks = n1 + n2
    site_of = [0] * n1 + [1] * n2
    phases: list[list[Message]] = [[], []]
    for rank in range(ranks):
        plan = _core.make_plan(ranks, rank, algorithm, site_of=site_of)
        for phase, messages in zip(phases, plan.phases, strict=True):
            phase += [Message(rank, peer, blocks) for peer, blocks in messages]
    return Example(n1, *phases)


def run_site_example(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    return site_example_of_lab(experiment, read_sites(experiment.folder / experiment.data["lab"]))


def site_example_of_lab(experiment: Experiment, kept: KeptSites) -> Outcome:
    """The figure, and what was measured."""
    data = experiment.data
    n1, n2 = data["sites"]
    origin, destination = data["message"]
    example = make_example(n1, n2, data["algorithm"])
    steps = example.steps()
    published = data["published"]
    rows = [
        experiment.row(
            f"step {number}: pairs of the paper",
            float(len(expected)),
            float(len({tuple(pair) for pair in expected} & set(found))),
        )
        for number, (expected, found) in enumerate(zip(published["steps"], steps, strict=True), 1)
    ]
    figures: tuple[tuple[str, float | None, float], ...] = (
        ("steps", float(len(published["steps"])), float(len(steps))),
        (
            f"host that keeps M {origin},{destination}",
            float(published["stored_at"]),
            float(example.stored_at((origin, destination))),
        ),
        ("messages between the sites", float(published["messages"]), float(len(example.crossing))),
        ("blocks in the largest of them", float(published["largest"]), float(example.largest)),
        (
            "the same by the balanced rule",
            None,
            float(make_example(n1, n2, "local-group").largest),
        ),
    )
    rows += [experiment.row(*figure) for figure in figures]
    for candidate in dict.fromkeys(point.candidate for point in kept.points):
        for size, point in kept.of(PART, candidate).items():
            text = f"lab, {short_name(candidate)}, {format_size(size)}: part of the bound"
            rows.append(experiment.row(text, None, point.of_bound))
    return Outcome(rows, lambda kind: _draw(experiment, example, kind))


def _draw_messages(
    axes: Axes, n1: int, hosts: int, messages: Sequence[tuple[int, int, int, str]]
) -> None:
    """`messages`: from, to, colour, label."""
    height = [-(host if host < n1 else host - n1) for host in range(hosts)]
    place = [(0 if host < n1 else 1, height[host]) for host in range(hosts)]
    for sender, receiver, colour, label in messages:
        bend = 0.0 if place[sender][0] != place[receiver][0] else 0.5
        axes.annotate(
            "",
            place[receiver],
            place[sender],
            arrowprops={
                "arrowstyle": "->",
                "color": COLOURS[colour],
                "connectionstyle": f"arc3,rad={bend}",
                "shrinkA": 9,
                "shrinkB": 9,
            },
        )
        axes.plot([], [], color=COLOURS[colour], label=label)
    for host, (x, y) in enumerate(place):
        axes.plot(x, y, "o", color="white", markeredgecolor=INK, markersize=16)
        axes.text(x, y, str(host), ha="center", va="center", fontsize=9)
    axes.set_xlim(-0.6, 1.6)
    axes.set_ylim(min(height) - 0.7, 0.7)
    axes.set_axis_off()


def _draw(experiment: Experiment, example: Example, kind: str) -> bytes:
    """Left where the block of the figure goes first, right the steps between the sites."""
    n1, n2 = experiment.data["sites"]
    origin, destination = experiment.data["message"]
    keeper = example.stored_at((origin, destination))
    name = f"M {origin},{destination}"
    with styled_canvas(8, 4.8) as canvas:
        left, right = canvas.subplots(1, 2)
        _draw_messages(left, n1, n1 + n2, [(origin, keeper, 0, f"{name}, first phase")])
        _draw_messages(
            right,
            n1,
            n1 + n2,
            [
                (host, partner, 1 + step, f"step {step + 1}")
                for step, pairs in enumerate(example.steps())
                for host, partner in pairs
            ],
        )
        share_legend(canvas, experiment.title)
        return save(canvas, kind)
