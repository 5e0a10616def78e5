"""`allemande simulate`: what an exchange takes on a network that need not exist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from allemande.cli.shared_options import CsvFile, JsonArrayFile
from allemande.errors import BadInput
from allemande.formats.recognise import IMPORT_FORMS
from allemande.output_files import STDOUT, check_outputs, write_rows

EXCHANGES_MAX = 1_000_000  # as src/scenario/options.def has it: each keeps its times


def command(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER",
            help="Cluster file, name of a ready-made cluster, fat-tree:HOSTS, "
            f"lossless-fat-tree:HOSTS, ib-144, {IMPORT_FORMS}.",
        ),
    ],
    algorithm: Annotated[
        str,
        typer.Option(
            help="Separated by commas: sync-shuffle, group-shuffle[:PARTNERS], pairwise, "
            "shift-exchange, direct, grid[:AxB], bruck[:AxB], one-way-bruck[:RADIX] or "
            "recursive-doubling; between sites local-group, coordinator or multi-site. With "
            "--transport tcp those of MPI libraries: openmpi:linear, openmpi:linear-sync[:reqs=N], "
            "openmpi:pairwise, openmpi:bruck, mpich:scattered[:throttle=N], mpich:pairwise or "
            "mpich:bruck[:k=N]; or query, where all ask all at once."
        ),
    ] = "sync-shuffle",
    transport: Annotated[
        str | None,
        typer.Option(
            help="udp: our protocol (the default); messages, on lossless networks; stripes; tcp, "
            "tcp:cubic, tcp:newreno or tcp:dctcp: the MPI libraries' algorithms.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            help="Bytes to each other host, separated by commas; KB, KiB, MB, MiB. With --matrix: "
            "the mean. Default: 64KiB."
        ),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Who sends how much: uniform, zipf:S, hot[:FACTOR], block[:DENSITY], random, "
            "shift:D, pairs:D, permutation, rotate, incast:K, one-to-all, all-to-one or file:PATH "
            "(CSV or .npy, bytes, a row per sender).",
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Steps, one after the other, each timed: drc, alltoall-phased, one-to-all-tree, "
            "allgather-ring, allreduce or ft:CLASS.",
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="HOSTLIST", help="Which take part, in rank order: h[0-23]."),
    ] = None,
    permutation: Annotated[
        str | None, typer.Option(help="balanced, shift, xor or edge-colouring.")
    ] = None,
    contention_aware: Annotated[
        bool | None,
        typer.Option(
            "--contention-aware/--plain", help="Whether ranks are remapped by the switches."
        ),
    ] = None,
    omega: Annotated[
        int | None, typer.Option(help="Group shuffle: partners per round.", min=1)
    ] = None,
    window_packets: Annotated[
        int | None,
        typer.Option(help="Packets a host may have outstanding; default: from the cluster file."),
    ] = None,
    ranks_per_host: Annotated[
        int | None,
        typer.Option(help="On every host; they share one message to each other host.", min=1),
    ] = None,
    exchanges: Annotated[
        int, typer.Option(help="So many, one after the other.", min=1, max=EXCHANGES_MAX)
    ] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(help="So many jobs at once, each with its own exchanges.", min=1),
    ] = None,
    job_layout: Annotated[
        str | None,
        typer.Option(
            help="interleaved: every job on all hosts (the default); split: each has every n-th."
        ),
    ] = None,
    background: Annotated[
        str | None,
        typer.Option(
            metavar="[LINKS:]RATE",
            help="Bulk TCP flows beside the exchanges: Mbit/s or full, from every leaf to the "
            "next, or between two hosts (h0..h12:full).",
        ),
    ] = None,
    told: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="What the job's own cluster file says, where that is not the network: what does a "
            "wrong file cost?",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    jitter_us: Annotated[
        float | None, typer.Option(help="Mean delay with which a host enters an exchange.", min=0)
    ] = None,
    routing: Annotated[
        str | None, typer.Option(help="Among equal paths: ecmp, d-mod-k or source.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(help="packet: the real protocol; flow: fair shares of the links, faster."),
    ] = "packet",
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:KEY=VALUE,...",
            help="link-down:from=A,to=B, lossy-link:from=A,to=B,part=P, block-port:from=A,to=B or "
            "slow-host:host=A,factor=F, with "
            "start_us and duration_us.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any option of docs/simulator.md."),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Processes for several runs; 0: one per core.", min=0)
    ] = 0,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every packet and queue for ui.perfetto.dev."),
    ] = None,
    json: JsonArrayFile = None,
    csv: CsvFile = None,
) -> None:
    """Simulate complete exchanges on any network that can be described.

    The protocol is the real one, on a simulated network and clock: the same input gives the same
    figures on any machine. Says how long the exchange takes, how that compares with what the links
    allow, which link was the bottleneck, and where packets queued and were lost. Several algorithms
    or sizes run on all cores.
    """
    from dataclasses import replace

    from rich.console import Console

    from allemande.progress_bar import LateProgress
    from allemande.simulation import result_output
    from allemande.simulation.arguments import case_options, parse_runs
    from allemande.simulation.case import make_case
    from allemande.simulation.parallel import run_cases

    check_outputs({"--json": json, "--csv": csv, "--trace": str(trace) if trace else None})
    runs = parse_runs(size, algorithm, matrix, pattern)
    if trace is not None and len(runs) > 1:
        raise BadInput("--trace takes one algorithm and one size")
    given: dict[str, Any] = {
        "matrix": matrix,
        "pattern": pattern,
        "hosts": hosts,
        "permutation": permutation,
        "contention_aware": contention_aware,
        "omega": omega,
        "window_packets": window_packets,
        "ranks_per_host": ranks_per_host,
        "seed": seed,
        "jitter_us": jitter_us,
        "routing": routing,
        "transport": transport,
        "trace": True if trace else None,
    }
    given |= {"jobs": jobs, "job_layout": job_layout}
    if background is not None:
        from allemande.simulation.neighbours import background_flows
        from allemande.simulation.networks import find_cluster

        given["background"] = background_flows(background, find_cluster(cluster))
    options = case_options(given, fault or [], assignments or []) | {"exchanges": exchanges}
    first = make_case(cluster, runs[0][1], runs[0][0], mode, told, **options)
    cases = [replace(first, algorithm=name, size=bytes_) for bytes_, name in runs]
    with LateProgress(f"simulating {first.cluster.name}") as progress:
        results = run_cases(cases, workers, progress)
    result_output.print_results(Console(stderr=STDOUT in (json, csv)), results)
    write_rows(results, result_output.CSV_COLUMNS, json, csv)
    if trace is not None:
        from allemande.simulation.trace import write_result_trace

        count = write_result_trace(trace, first, results[0])
        Console(stderr=True).print(f"{trace}: {count:,} packets at ports", highlight=False)
