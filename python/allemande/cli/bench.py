"""`allemande bench`: candidates side by side in one emulated cluster."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from allemande.bench.defaults import CONGESTION_CONTROL, LAB, SIZES
from allemande.cli.shared_options import CsvFile, JsonArrayFile, TimersOption
from allemande.errors import BadInput
from allemande.formats.recognise import IMPORT_FORMS
from allemande.output_files import STDOUT, check_outputs, write_output

CONDITIONS = "Conditions of real programs"


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} {value:g} is not valid; expected {low:g} to {high:g}")


def _timeline_size(text: str, sizes: Sequence[int], html: str | None) -> int:
    from allemande.bench.message_sizes import parse_sizes

    if html is None:
        raise BadInput("--timeline draws on the page; name one with --html FILE")
    found = parse_sizes(text)
    if len(found) != 1 or found[0] not in sizes:
        raise BadInput(
            f"--timeline {text} is not valid; expected one of --sizes: "
            f"{', '.join(map(str, sizes))} bytes"
        )
    return found[0]


def command(
    lab: Annotated[
        str,
        typer.Option(
            metavar="CLUSTER",
            help=f"Cluster file, name of a ready-made cluster, {IMPORT_FORMS}.",
        ),
    ] = LAB,
    collective: Annotated[
        str,
        typer.Option(help="alltoall, alltoallv or alltoallw; ialltoall and so on: up to MPI_Wait."),
    ] = "alltoall",
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="For v and w, who sends how much: uniform, zipf:S, hot[:FACTOR], block[:DENSITY], "
            "random, shift:D, pairs:D, permutation, rotate, incast:K, one-to-all, all-to-one or "
            "file:PATH (CSV or .npy, bytes, a row per sender).",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="A call is several steps of MPI_Alltoallv, each timed: drc, alltoall-phased, "
            "one-to-all-tree or allgather-ring.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="barrier|clock",
            help="What the ranks of a call begin by: a barrier before it, or after that the clock "
            "of the machine, which all hosts share. Default: the clock where links have a latency.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the matrix; every candidate gets the same.")] = 1,
    ranks_per_host: Annotated[
        str,
        typer.Option(metavar="N[,N...]", help="Ranks on each host; 4,2: on every other host 2."),
    ] = "1",
    rank_order: Annotated[
        str, typer.Option(help="block: a host is filled before the next; cyclic: in turn.")
    ] = "block",
    scale: Annotated[
        float | None,
        typer.Option(
            help="Every link rate times this; 0.1 makes 100 Mbit/s 10 Mbit/s. Default: the largest "
            "up to 1 that the processors carry."
        ),
    ] = None,
    timers: TimersOption = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Bytes to each other rank, separated by commas; K and M allowed. With --matrix: "
            f"the mean. Default: {SIZES}."
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Candidates, separated by commas; those with allemande take options: "
            "allemande+openmpi:window_packets=7; stock ones tuning files: openmpi:rules=FILE, "
            "mpich:selection=FILE. Default: all."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(help="How often the candidates take turns.")] = 3,
    calls: Annotated[int, typer.Option(help="Timed calls per size and round, at least.")] = 2,
    seconds: Annotated[
        float, typer.Option(help="Seconds of timed calls per size and round, at least.")
    ] = 1.0,
    warmup: Annotated[
        int | None, typer.Option(help="Calls before the timed ones, per size. Default: 1.")
    ] = None,
    cold: Annotated[
        bool,
        typer.Option(
            "--cold",
            help="Each timed call is the first of a job of its own: connections and bring-up "
            "included, no --warmup. --calls jobs per size and round.",
            rich_help_panel=CONDITIONS,
        ),
    ] = False,
    idle: Annotated[
        float,
        typer.Option(
            metavar="MS",
            help="Milliseconds at full speed in which nobody calls, before each timed call.",
            rich_help_panel=CONDITIONS,
        ),
    ] = 0.0,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="[LINKS:]RATE",
            help="Bulk TCP flows while calls are timed. RATE: Mbit/s at full speed, or 'full'. "
            "LINKS: a flow from each leaf to the next (uplinks, the default), those that cross a "
            "switch (core:200), or one between two hosts (h0..h12:full).",
            rich_help_panel=CONDITIONS,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(help="So many jobs of the candidate at once.", rich_help_panel=CONDITIONS),
    ] = 1,
    job_layout: Annotated[
        str | None,
        typer.Option(
            help="interleaved: every job on all hosts (the default); split: two jobs have every "
            "other host each.",
            rich_help_panel=CONDITIONS,
        ),
    ] = None,
    slow: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:MS[,...]",
            help="The ranks of a host come so many milliseconds (at full speed) late to every "
            "call: h3:5 or h3:5,h[8-15]:2.",
            rich_help_panel=CONDITIONS,
        ),
    ] = None,
    half_rate: Annotated[
        str | None,
        typer.Option(
            metavar="HOSTS",
            help="The links of these hosts at half their rate: h3 or h[0-3],h7.",
            rich_help_panel=CONDITIONS,
        ),
    ] = None,
    congestion_control: Annotated[
        str, typer.Option(metavar="NAME", help="TCP's, on all hosts: cubic, reno or bbr.")
    ] = CONGESTION_CONTROL,
    forwarding: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Switches forward as bridges (a path per destination) or routers (ECMP); default: "
            "routers where a switch has several shortest paths to a host.",
        ),
    ] = None,
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
    from allemande.bench.candidates import parse_candidates
    from allemande.bench.message_sizes import parse_sizes
    from allemande.bench.pattern_workload import check_pattern
    from allemande.bench.workload import check_collective
    from allemande.matrix import parse_matrix
    from allemande.patterns import parse_pattern

    if scale is not None:
        _check_range("--scale", scale, 1e-4, 1000)
    _check_range("--rounds", rounds, 1, 1000)
    _check_range("--calls", calls, 1, 10000)
    _check_range("--seconds", seconds, 0, 3600)
    if warmup is not None:
        _check_range("--warmup", warmup, 0, 1000)
    if cold and warmup:
        raise BadInput("--cold has no --warmup: the timed call is the first of its job")
    check_outputs({"--json": json, "--csv": csv, "--markdown": markdown, "--html": html})
    _check_range("--seed", seed, 0, 2**32)
    check_collective(collective)
    pattern_spec = None if pattern is None else parse_pattern(pattern)
    if pattern_spec is not None:
        if matrix is not None or timeline is not None:
            raise BadInput("--pattern says who sends when; leave out --matrix and --timeline")
        if collective == "alltoall":
            collective = "alltoallv"
        check_pattern(pattern_spec, collective)
    candidates = parse_candidates(against or [], collective)
    spec = None if matrix is None else parse_matrix(matrix)
    if spec is not None and spec.has_own_sizes and sizes is not None:
        raise BadInput("a matrix file says how many bytes; leave out --sizes")
    size_list = parse_sizes(sizes or SIZES)
    timeline_size = None if timeline is None else _timeline_size(timeline, size_list, html)

    from rich.console import Console

    from allemande.bench import figure_output
    from allemande.bench.comparison import ConditionOptions, compare
    from allemande.bench.runner import Effort
    from allemande.bench.timeline import Request
    from allemande.simulation.networks import as_cluster_file

    effort = Effort(
        rounds=rounds,
        warmup=1 if warmup is None else warmup,
        calls=calls,
        calls_max=max(calls, Effort.calls_max),
        seconds=seconds,
        seconds_max=max(seconds, Effort.seconds_max),
    )
    with as_cluster_file(lab) as file:
        result = compare(
            file,
            scale,
            size_list,
            candidates,
            effort,
            congestion_control,
            collective=collective,
            matrix=spec,
            seed=seed,
            ranks_per_host=ranks_per_host,
            rank_order=rank_order,
            timers=None if timers is None else timers.value,
            options=ConditionOptions(cold, idle, background, jobs, job_layout, slow, half_rate),
            timeline=None if timeline_size is None else Request(timeline_size),
            forwarding=forwarding,
            pattern=pattern_spec,
            start=start,
        )

    console = Console(stderr=STDOUT in (json, csv, markdown, html))
    figure_output.print_result(console, result.figures, result.setting, result.warnings)
    write_output(json, figure_output.to_json(result.figures))
    write_output(csv, figure_output.to_csv(result.figures))
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
