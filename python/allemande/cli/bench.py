"""`allemande bench`: candidates side by side in one emulated cluster."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from allemande.bench.defaults import SIZES
from allemande.bench.request_text import RequestText
from allemande.cli.request_options import with_request
from allemande.cli.shared_options import CsvFile, JsonArrayFile, TimersOption
from allemande.errors import BadInput
from allemande.formats.recognise import IMPORT_FORMS
from allemande.output_files import STDOUT, check_outputs, write_output, write_rows

CONDITIONS = "Conditions of real programs"

# What RequestText has, in the order of --help.
OPTIONS: dict[str, Any] = {
    "lab": Annotated[
        str,
        typer.Option(
            metavar="CLUSTER",
            help=f"Cluster file, name of a ready-made cluster, {IMPORT_FORMS}.",
        ),
    ],
    "collective": Annotated[
        str,
        typer.Option(help="alltoall, alltoallv or alltoallw; ialltoall and so on: up to MPI_Wait."),
    ],
    "matrix": Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="For v and w, who sends how much: uniform, zipf:S, hot[:FACTOR], block[:DENSITY], "
            "random, shift:D, pairs:D, permutation, rotate, incast:K, one-to-all, all-to-one or "
            "file:PATH (CSV or .npy, bytes, a row per sender).",
        ),
    ],
    "pattern": Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="A call is several steps of MPI_Alltoallv, each timed: drc, alltoall-phased, "
            "one-to-all-tree or allgather-ring.",
        ),
    ],
    "start": Annotated[
        str | None,
        typer.Option(
            metavar="barrier|clock",
            help="What the ranks of a call begin by: a barrier before it, or after that the clock "
            "of the machine, which all hosts share. Default: the clock where links have a latency.",
        ),
    ],
    "seed": Annotated[int, typer.Option(help="Of the matrix; every candidate gets the same.")],
    "ranks_per_host": Annotated[
        str,
        typer.Option(metavar="N[,N...]", help="Ranks on each host; 4,2: on every other host 2."),
    ],
    "rank_order": Annotated[
        str, typer.Option(help="block: a host is filled before the next; cyclic: in turn.")
    ],
    "scale": Annotated[
        float | None,
        typer.Option(
            help="Every link rate times this; 0.1 makes 100 Mbit/s 10 Mbit/s. Default: the largest "
            "up to 1 that the processors carry."
        ),
    ],
    "timers": TimersOption,
    "sizes": Annotated[
        str | None,
        typer.Option(
            help="Bytes to each other rank, separated by commas; K and M allowed. With --matrix: "
            f"the mean. Default: {SIZES}."
        ),
    ],
    "against": Annotated[
        list[str] | None,
        typer.Option(
            help="Candidates, separated by commas; those with allemande take options: "
            "allemande+openmpi:window_packets=7; stock ones tuning files: openmpi:rules=FILE, "
            "mpich:selection=FILE. Default: all."
        ),
    ],
    "rounds": Annotated[int, typer.Option(help="How often the candidates take turns.")],
    "calls": Annotated[int, typer.Option(help="Timed calls per size and round, at least.")],
    "seconds": Annotated[
        float, typer.Option(help="Seconds of timed calls per size and round, at least.")
    ],
    "warmup": Annotated[
        int | None, typer.Option(help="Calls before the timed ones, per size. Default: 1.")
    ],
    "cold": Annotated[
        bool,
        typer.Option(
            "--cold",
            help="Each timed call is the first of a job of its own: connections and bring-up "
            "included, no --warmup. --calls jobs per size and round.",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "idle": Annotated[
        float,
        typer.Option(
            metavar="MS",
            help="Milliseconds at full speed in which nobody calls, before each timed call.",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "background": Annotated[
        str | None,
        typer.Option(
            metavar="[LINKS:]RATE",
            help="Bulk TCP flows while calls are timed. RATE: Mbit/s at full speed, or 'full'. "
            "LINKS: a flow from each leaf to the next (uplinks, the default), those that cross a "
            "switch (core:200), or one between two hosts (h0..h12:full).",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "jobs": Annotated[
        int,
        typer.Option(help="So many jobs of the candidate at once.", rich_help_panel=CONDITIONS),
    ],
    "job_layout": Annotated[
        str | None,
        typer.Option(
            help="interleaved: every job on all hosts (the default); split: two jobs have every "
            "other host each.",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "slow": Annotated[
        str | None,
        typer.Option(
            metavar="HOST:MS[,...]",
            help="The ranks of a host come so many milliseconds (at full speed) late to every "
            "call: h3:5 or h3:5,h[8-15]:2.",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "half_rate": Annotated[
        str | None,
        typer.Option(
            metavar="HOSTS",
            help="The links of these hosts at half their rate: h3 or h[0-3],h7.",
            rich_help_panel=CONDITIONS,
        ),
    ],
    "congestion_control": Annotated[
        str, typer.Option(metavar="NAME", help="TCP's, on all hosts: cubic, reno or bbr.")
    ],
    "forwarding": Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Switches forward as bridges (a path per destination) or routers (ECMP); default: "
            "routers where a switch has several shortest paths to a host.",
        ),
    ],
}


@with_request(RequestText, OPTIONS)
def command(
    asked: RequestText,
    json: JsonArrayFile = None,
    csv: CsvFile = None,
    markdown: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a Markdown table; '-' is stdout.")
    ] = None,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a page with a plot; '-' is stdout.")
    ] = None,
    timeline: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Show on the page of --html what links, queues and TCP did over one exchange of "
            "this size, one of --sizes; takes another launch of each candidate.",
        ),
    ] = None,
) -> None:
    """Measure candidates for MPI_Alltoall, or for v and w, side by side in an emulated cluster.

    The candidates take turns in one lab, so that every ratio comes from one run. Every byte of
    every call is checked; a wrong one makes the command exit with 1.

    Conditions can be combined. Their times and rates are those of full speed: rates take the
    --scale, and times are divided by it with --timers scaled.
    """
    check_outputs({"--json": json, "--csv": csv, "--markdown": markdown, "--html": html})
    if timeline is not None and html is None:
        raise BadInput("--timeline draws on the page; name one with --html FILE")

    from rich.console import Console

    from allemande.bench import figure_output
    from allemande.bench.comparison import compare
    from allemande.bench.request import read_request
    from allemande.simulation.networks import as_cluster_file

    request = read_request(replace(asked, timeline=timeline))
    with as_cluster_file(request.cluster) as file:
        result = compare(replace(request, cluster=file))

    console = Console(stderr=STDOUT in (json, csv, markdown, html))
    figure_output.print_result(console, result.figures, result.setting, result.warnings)
    write_rows(result.figures, figure_output.CSV_COLUMNS, json, csv)
    write_output(markdown, figure_output.markdown(result.figures, result.setting))
    if html is not None:
        from allemande.report.figure_plot import render
        from allemande.report.page import build_page

        svg = render(result.figures, "svg")
        line = shlex.join(["allemande", *sys.argv[1:]])
        page = build_page(result.figures, result.setting, svg, line, result.timelines)
        write_output(html, page)
    if result.failed:
        raise typer.Exit(1)
