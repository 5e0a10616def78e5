"""One exchange of each candidate over the same time: links, queues, drops, TCP's timers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from allemande.bench.timeline import Timeline
from allemande.plot_look import INK, STYLE, save
from allemande.quantities import format_seconds

STRIPS = ("links used", "fullest queue", "drops", "TCP timers")
STOCK_COLOUR, OUR_COLOUR = "#D55E00", "#0072B2"
IDLE_COLOUR = "#f3dcd2"
IDLE_USE = 0.05  # of what the links carry: less is idle
WIDTH_INCHES = 11.0
STRIP_INCHES, TITLE_INCHES, REST_INCHES = 0.62, 0.5, 0.55
LEFT_INCHES, RIGHT_INCHES = 1.45, 0.2
IDLE_WORDS = 0.08  # of the time axis
COUNT_MIN = 4  # the least that a strip of counts reaches to


def idle_spans(timeline: Timeline) -> Iterator[tuple[float, float]]:
    """Where the busiest links carry next to nothing although the call lasts; joined."""
    begin: float | None = None
    end = 0.0
    pairs = zip(timeline.edges_s, timeline.edges_s[1:], strict=False)
    for (left, right), use in zip(pairs, timeline.link_use, strict=True):
        left, right = max(left, 0.0), min(right, timeline.seconds)
        idle = use < IDLE_USE and right > left
        if idle and begin is None:
            begin = left
        if idle:
            end = right
        elif begin is not None:
            yield begin, end
            begin = None
    if begin is not None:
        yield begin, end


def idle_part(timeline: Timeline) -> float:
    """The part of the call in which the level is idle."""
    return sum(end - begin for begin, end in idle_spans(timeline)) / timeline.seconds


def pairs_of(timelines: Sequence[Timeline]) -> list[list[Timeline]]:
    """What is drawn together: the candidates of one library, stock first."""
    groups: dict[str, list[Timeline]] = {}
    for timeline in timelines:
        groups.setdefault(timeline.library, []).append(timeline)
    return [sorted(group, key=lambda one: not one.stock) for group in groups.values()]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def describe(timeline: Timeline) -> str:
    """The same in a line of words."""
    return (
        f"{timeline.candidate}: done after {format_seconds(timeline.seconds)}, "
        f"links idle {idle_part(timeline):.0%} of it, "
        f"{_count(sum(timeline.drops), 'drop')}, {_describe_tcp(timeline)}"
    )


def _describe_tcp(timeline: Timeline) -> str:
    """How connections noticed their losses. Idle links wait for the first two."""
    seen = {name: sum(counts) for name, counts in timeline.tcp.items()}
    words = _count(seen["timeouts"], "time-out")
    if seen["loss_probes"]:
        words += f", {_count(seen['loss_probes'], 'tail loss probe')}"
    if recoveries := seen["sack_recoveries"] + seen["probe_recoveries"]:
        words += f", {recoveries:,} {'recovery' if recoveries == 1 else 'recoveries'}"
    return words


def _time_label(seconds: float, _: object) -> str:
    return "0" if seconds == 0 else format_seconds(seconds)


def _name_idle(axes: Axes, timeline: Timeline, longest_s: float) -> None:
    """In the widest of the idle spans, where there is room for the words."""
    spans = sorted(idle_spans(timeline), key=lambda span: span[1] - span[0])
    if spans and spans[-1][1] - spans[-1][0] > IDLE_WORDS * longest_s:
        axes.text(sum(spans[-1]) / 2, 0.5, "links idle", ha="center", va="center", fontsize=9.5)


def _draw_strip(axes: Axes, timeline: Timeline, strip: int, counts_max: tuple[int, int]) -> None:
    colour = STOCK_COLOUR if timeline.stock else OUR_COLOUR
    values = (timeline.link_use, timeline.queue_fill, timeline.drops, timeline.timers)[strip]
    for begin, end in idle_spans(timeline):
        axes.axvspan(begin, end, color=IDLE_COLOUR, linewidth=0, zorder=0)
    if strip < 2:
        axes.stairs(
            [min(value, 1.0) for value in values],
            timeline.edges_s,
            fill=True,
            color=colour,
            linewidth=0,
        )
        axes.set_ylim(0, 1.05)
        axes.set_yticks((0, 0.5, 1))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        middles = [
            (left + right) / 2
            for left, right in zip(timeline.edges_s, timeline.edges_s[1:], strict=False)
        ]
        at = [(middle, value) for middle, value in zip(middles, values, strict=True) if value]
        if at:
            axes.vlines(*zip(*[(x, 0, y) for x, y in at], strict=True), color=colour, linewidth=2)
        else:
            axes.text(0.004, 0.42, "none", transform=axes.transAxes, fontsize=8.5, color="#5b6577")
        axes.set_ylim(0, max(counts_max[strip - 2], COUNT_MIN) * 1.08)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=2, integer=True))
    axes.axvline(timeline.seconds, color=INK, linewidth=1.2)
    axes.set_ylabel(STRIPS[strip], rotation=0, ha="right", va="center")
    axes.yaxis.set_label_coords(-0.045, 0.5)
    axes.tick_params(axis="y", labelsize=8)


def _draw(timelines: Sequence[Timeline]) -> Canvas:
    rows = len(timelines) * len(STRIPS)
    height = rows * STRIP_INCHES + len(timelines) * TITLE_INCHES + REST_INCHES
    longest_s = max(timeline.seconds for timeline in timelines)
    counts_max = (
        max((count for timeline in timelines for count in timeline.drops), default=0),
        max((count for timeline in timelines for count in timeline.timers), default=0),
    )
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(WIDTH_INCHES, height), facecolor="white")
        top = height
        for timeline in timelines:
            top -= TITLE_INCHES
            for strip in range(len(STRIPS)):
                bottom = top - STRIP_INCHES
                axes = canvas.add_axes(
                    (
                        LEFT_INCHES / WIDTH_INCHES,
                        (bottom + 0.09) / height,
                        (WIDTH_INCHES - LEFT_INCHES - RIGHT_INCHES) / WIDTH_INCHES,
                        (STRIP_INCHES - 0.09) / height,
                    )
                )
                _draw_strip(axes, timeline, strip, counts_max)
                axes.set_xlim(-0.01 * longest_s, 1.02 * longest_s)
                axes.xaxis.set_major_locator(MaxNLocator(nbins=9))
                axes.xaxis.set_major_formatter(FuncFormatter(_time_label))
                axes.tick_params(axis="x", labelbottom=False, length=0)
                if strip == 0:
                    _name_idle(axes, timeline, longest_s)
                    axes.set_title(
                        describe(timeline),
                        loc="left",
                        fontsize=10.5,
                        fontweight="bold",
                    )
                top = bottom
        axes.tick_params(axis="x", labelbottom=True, length=3)
        axes.set_xlabel("time since the call began")
        return canvas


def render_timelines(timelines: Sequence[Timeline], kind: str) -> bytes:
    """The plot as `svg` or `png`."""
    return save(_draw(timelines), kind)
