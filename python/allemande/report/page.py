"""One self-contained HTML page: the plot, the table, and everything needed to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from allemande.bench.figure_output import best_of, by_size, shared_cells, shared_headings
from allemande.bench.figures import Figure, warnings
from allemande.bench.setting import Setting
from allemande.quantities import (
    MISSING,
    TIMES,
    format_part,
    format_ratio,
    format_seconds,
    format_size,
    format_spread,
)

STYLE = """
:root { color-scheme: light; --ink: #1c2330; --soft: #5b6577; --line: #e3e7ee; --ours: #0b5a94;
  --best: #eaf4fb; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f9; color: var(--ink); font: 16px/1.55 system-ui, -apple-system,
  "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1060px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 0 0 .7rem; }
p { margin: 0; }
.lead { font-size: 1.1rem; color: var(--soft); margin-bottom: 1.6rem; }
section { background: #fff; border: 1px solid var(--line); border-radius: 12px; padding: 1.4rem;
  margin-bottom: 1.2rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 1rem;
  background: none; border: 0; padding: 0; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: 12px; padding: 1rem
  1.2rem; }
.tile b { display: block; font-size: 1.8rem; line-height: 1.2; color: var(--ours); }
.tile span { color: var(--soft); font-size: .92rem; }
.plot svg { width: 100%; height: auto; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th { text-align: right; font-size: .82rem; font-weight: 600; color: var(--soft);
  border-bottom: 1px solid var(--ink); padding: .35rem .5rem; white-space: nowrap; }
td { text-align: right; padding: .3rem .5rem; white-space: nowrap; }
th.name, td.name { text-align: left; }
tbody { border-bottom: 1px solid var(--line); }
tr.limit td { color: var(--soft); font-style: italic; }
tr.ours td { font-weight: 600; }
tr.best td { background: var(--best); }
tr.void td { color: #9aa3b2; }
tr.wrong td { color: #b00020; font-weight: 700; }
.warning { border-left: 4px solid #b00020; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
code { background: #eef1f5; border-radius: 4px; padding: .1em .35em; font-size: .9em; }
"""

COLUMNS = (
    ("message", "bytes to each other rank"),
    ("candidate", "what ran"),
    ("median", "of all timed calls; a call lasts until the slowest rank is done"),
    ("slowest", "of the timed calls"),
    ("spread", "half the distance between the quartiles, of the median"),
    ("of the limit", "limit / median"),
    ("vs best stock", "fastest stock median / this median: above 1 is faster"),
    ("calls", "timed calls, every byte of each checked"),
    ("packets", "sent by all hosts, warm-up included: TCP segments, or allemande's packets"),
    ("TCP time-outs", "of all hosts in the timed calls"),
    ("sent again", "TCP segments in the timed calls; allemande's packets, warm-up included"),
    ("lost", "Ethernet frames that a full switch queue dropped"),
    ("CPU per call", "user and system time of all ranks' processes in a timed call"),
    ("CPU idle", "of all processors, during the timed calls"),
)

SHARED_COLUMNS = {
    "each job": "median of each job",
    "together": "part of what the links carry that all jobs together used",
    "flows": "mean rate of a background TCP flow during the calls",
    "of share": "the same, of the flow's fair share of its narrowest link",
}

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


def _table_row(figure: Figure, label: str, best: bool) -> str:
    classes = [
        name
        for name, applies in (
            ("ours", not figure.stock),
            ("best", best),
            ("void", figure.void),
            ("wrong", figure.wrong_bytes > 0),
        )
        if applies
    ]
    idle = MISSING if figure.cpu_idle is None else f"{figure.cpu_idle:.0%}"
    name = escape(figure.candidate) + (" (void)" if figure.void else "")
    cells = (
        format_seconds(figure.median_s),
        format_seconds(figure.slowest_s),
        format_spread(figure.spread),
        format_part(figure.fraction_of_limit),
        format_ratio(figure.ratio_to_best_stock),
        f"{figure.calls}",
        f"{figure.packets:,}",
        f"{figure.tcp_timeouts:,}",
        f"{figure.resent:,}",
        f"{figure.dropped:,}",
        format_seconds(figure.cpu_s_per_call),
        idle,
        *shared_cells(figure),
    )
    return (
        f'<tr class="{" ".join(classes)}"><td>{label}</td><td class="name">{name}</td>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def _table(figures: Sequence[Figure]) -> str:
    columns = (*COLUMNS, *((name, SHARED_COLUMNS[name]) for name in shared_headings(figures)))
    heads = "".join(
        f'<th{" class=name" if name == "candidate" else ""} title="{escape(text)}">{name}</th>'
        for name, text in columns
    )
    bodies = []
    for size, group in by_size(figures):
        best = best_of(group)
        limit = (
            f'<tr class="limit"><td>{format_size(size)}</td><td class="name">physical limit</td>'
            f"<td>{format_seconds(group[0].limit_s)}</td><td></td><td></td><td>100.0%</td>"
            + "<td></td>" * (len(columns) - 6)
            + "</tr>"
        )
        rows = [_table_row(figure, "", figure is best) for figure in group]
        bodies.append(f"<tbody>{limit}{''.join(rows)}</tbody>")
    return f"<table><thead><tr>{heads}</tr></thead>{''.join(bodies)}</table>"


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


def _facts(setting: Setting, command: str) -> str:
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


def build_page(figures: Sequence[Figure], setting: Setting, plot_svg: bytes, command: str) -> str:
    svg = plot_svg.decode("utf-8")
    svg = svg[svg.index("<svg") :]  # an XML declaration may not stand inside HTML
    wrong = sum(figure.wrong_bytes for figure in figures)
    calls = sum(figure.calls for figure in figures)
    checked = "every received byte was right" if wrong == 0 else f"{wrong:,} BYTES WERE WRONG"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>allemande: MPI_Alltoall on {escape(setting.cluster)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>MPI_Alltoall on a network that congests</h1>
<p class="lead">{setting.hosts} hosts on {escape(setting.cluster)}, {escape(setting.host_link)}:
the same MPI libraries, with and without allemande preloaded. {calls:,} timed calls, {checked}.</p>
{_warning_section(figures)}
{_tiles(figures)}
<section class="plot">{svg}</section>
<section class="wide"><h2>Figures</h2>{_table(figures)}</section>
<section><h2>What the limit is</h2><p>{LIMIT_TEXT}</p></section>
<section><h2>How it was measured</h2><p>{METHOD_TEXT}</p></section>
<section><h2>Where and when</h2>{_facts(setting, command)}</section>
</main>
</body>
</html>
"""
