"""One self-contained HTML page: the plot, the table, and everything needed to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from allemande.bench.figure_output import best_of, by_size
from allemande.bench.figures import Figure, warnings
from allemande.bench.setting import Setting
from allemande.bench.timeline import Timeline
from allemande.quantities import TIMES, format_seconds, format_size
from allemande.report.page_frame import frame, inline_svg
from allemande.report.page_tables import cost_table, shared_table, speed_table
from allemande.report.timeline_plot import IDLE_USE, describe, pairs_of, render_timelines

LIMIT_TEXT = """
No program can be faster than the links. For every directed link, the <b>limit</b> counts the bytes
that an all-to-all must carry across it and divides them by the link's rate; the slowest link
decides. Framing is the least there is: 1472 bytes of payload in a frame of 1514 (IPv4, UDP and
Ethernet headers), with no acknowledgement, no protocol header and no waiting.
"""

METHOD_TEXT = """
Candidates took turns in one emulated cluster: each round runs all of them once, so that every ratio
compares runs made under the same conditions. Each host is a network namespace, each switch port a
shaped link with a queue as shallow as the real switch's. The stock libraries run at their best
settings (no processor binding, waiting ranks yield, traffic over the emulated network alone). Each
call starts at a barrier; its time is the largest over the ranks. Every received byte of every call
is compared with what was sent. A run in which the machine itself (not the network) dropped packets
is void and is repeated. A figure counts only while the processors are at least 20&nbsp;% idle under
allemande: then the links are the limit.
"""


def _tiles(figures: Sequence[Figure]) -> str:
    """Per size, the fastest of ours against the stock library it is preloaded into."""
    parts = []
    for size, group in by_size(figures):
        best = best_of([figure for figure in group if not figure.stock])
        if best is None or best.median_s is None:
            continue
        base = next(
            (f for f in group if f.stock and f.candidate == best.library and f.median_s), None
        )
        if base is None or base.median_s is None:
            continue
        ratio = base.median_s / best.median_s
        name = {"openmpi": "Open MPI", "mpich": "MPICH"}[base.library]
        parts.append(
            f'<div class="tile"><b>{ratio:.1f}{TIMES}</b>'
            f"<span>{name} with allemande against {name} alone at {format_size(size)}: "
            f"{format_seconds(best.median_s)} instead of "
            f"{format_seconds(base.median_s)}, {best.fraction_of_limit:.0%} of the limit"
            "</span></div>"
        )
    return f'<section class="tiles">{"".join(parts)}</section>' if parts else ""


def _warning_section(figures: Sequence[Figure]) -> str:
    lines = warnings(figures)
    if not lines:
        return ""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section class="warning"><h2>Read this first</h2><ul>{items}</ul></section>'


def facts(setting: Setting, command: str) -> str:
    pairs = (
        (
            "cluster",
            f"{escape(setting.cluster)}: {setting.hosts} emulated hosts, "
            f"{escape(setting.host_link)} (scale {setting.scale:g}), "
            f"{escape(setting.tcp)}",
        ),
        *([("timers", escape(note))] if (note := setting.timers.note(setting.scale)) else []),
        *([("calls", escape(setting.workload))] if setting.workload else []),
        *([("conditions", escape(". ".join(setting.conditions)))] if setting.conditions else []),
        ("machine", escape(setting.machine)),
        ("date", escape(setting.date)),
        ("versions", escape(", ".join(setting.versions))),
        ("made by", f"<code>{escape(command)}</code>"),
    )
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in pairs) + "</dl>"


def _timeline_sections(timelines: Sequence[Timeline]) -> str:
    """A plot for each library: stock above ours, over the same time."""
    if not timelines:
        return ""
    first = timelines[0]
    period = format_seconds(first.period_s)
    part = max(timeline.processor_part for timeline in timelines)
    words = (
        f"One call of {format_size(first.size)}, of median length among some that were made for "
        f"this plot alone. Links used: the links that this exchange asks most of, all together "
        f"(level: {escape(first.level)}). Shaded: less than {IDLE_USE:.0%} of them is used "
        "although the call is not over. Fullest queue: of all ports of switches, as "
        f"seen every {period}; drops are counted exactly. TCP timers: time-outs and probes for a "
        "lost tail, each of which ends a wait of some connection; recoveries begin without a wait, "
        "by answers to later packets. Looking took up to "
        f"{part:.0%} of one processor."
    )
    plots = "".join(
        f'<div class="plot" role="img" aria-label="{escape("; ".join(map(describe, pair)))}">'
        f"{inline_svg(render_timelines(pair, 'svg'))}</div>"
        for pair in pairs_of(timelines)
    )
    return f'<section><h2>What the network did</h2><p class="note">{words}</p>{plots}</section>'


def figure_sections(
    figures: Sequence[Figure], plot_svg: bytes, timelines: Sequence[Timeline] = ()
) -> str:
    """All that one comparison shows."""
    return f"""{_warning_section(figures)}
{_tiles(figures)}
<section class="plot">{inline_svg(plot_svg)}</section>
{_timeline_sections(timelines)}
<section><h2>Figures</h2>{speed_table(figures)}
<h3>What they cost</h3>{cost_table(figures)}{shared_table(figures)}</section>
"""


def explanations() -> str:
    return f"""<section><h2>What the limit is</h2><p>{LIMIT_TEXT}</p></section>
<section><h2>How it was measured</h2><p>{METHOD_TEXT}</p></section>"""


def checked_calls(figures: Sequence[Figure]) -> str:
    wrong = sum(figure.wrong_bytes for figure in figures)
    calls = sum(figure.calls for figure in figures)
    checked = "every received byte was right" if wrong == 0 else f"{wrong:,} BYTES WERE WRONG"
    return f"{calls:,} timed calls, {checked}."


def build_page(
    figures: Sequence[Figure],
    setting: Setting,
    plot_svg: bytes,
    command: str,
    timelines: Sequence[Timeline] = (),
) -> str:
    return frame(
        f"allemande: MPI_Alltoall on {setting.cluster}",
        f"""<h1>MPI_Alltoall on a network that congests</h1>
<p class="lead">{setting.hosts} hosts on {escape(setting.cluster)}, {escape(setting.host_link)}:
the same MPI libraries, with and without allemande preloaded. {checked_calls(figures)}</p>
{figure_sections(figures, plot_svg, timelines)}
{explanations()}
<section><h2>Where and when</h2>{facts(setting, command)}</section>""",
    )
