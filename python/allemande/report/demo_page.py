"""The demo's page: in short, then each comparison with its plots and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from allemande.bench.comparison import Comparison
from allemande.report.demo_summary import Summary, to_html
from allemande.report.figure_plot import render
from allemande.report.page import checked_calls, explanations, facts, figure_sections
from allemande.report.page_frame import frame


def _part(result: Comparison) -> str:
    setting = result.setting
    return (
        f'<h2 class="part">{escape(setting.cluster)}: {setting.hosts} hosts, '
        f"{escape(setting.host_link)}</h2>"
        + figure_sections(result.figures, render(result.figures, "svg"), result.timelines)
    )


def build_demo_page(summary: Summary, results: Sequence[Comparison], command: str) -> str:
    figures = [figure for result in results for figure in result.figures]
    places = "".join(
        f"<section><h2>Where and when: {escape(result.setting.cluster)}</h2>"
        f"{facts(result.setting, command)}</section>"
        for result in results
    )
    return frame(
        "allemande: the demo",
        f"""<h1>MPI_Alltoall on networks that congest</h1>
<p class="lead">The same MPI libraries with and without allemande preloaded, on
{len(results)} emulated clusters. {checked_calls(figures)}</p>
{to_html(summary)}
{"".join(map(_part, results))}
{explanations()}
{places}""",
    )
