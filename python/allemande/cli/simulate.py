"""`allemande simulate`: what an exchange takes on a network that need not exist."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from allemande.cli.outputs import STDOUT, CsvFile, check_outputs, write_output
from allemande.errors import BadInput

DEFAULT_SIZE = "64KiB"
FAULT_KINDS = ("link-down", "block-port", "slow-host")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def parse_value(text: str) -> Any:
    """An integer, a number, a truth value or a word."""
    if NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return {"true": True, "false": False}.get(text, text)


def parse_fault(text: str) -> dict[str, Any]:
    """`block-port:from=core,to=leaf3,start_us=100,duration_us=50`."""
    kind, _, rest = text.partition(":")
    if kind not in FAULT_KINDS:
        raise BadInput(f"fault {kind!r} is unknown; expected one of {', '.join(FAULT_KINDS)}")
    fault: dict[str, Any] = {"kind": kind}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not value:
            raise BadInput(f"fault {text!r}: {item!r} cannot be read; expected KEY=VALUE")
        fault[key.strip()] = parse_value(value.strip())
    return fault


def parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise BadInput(f"--set {text!r} cannot be read; expected KEY=VALUE")
    return key.strip(), parse_value(value.strip())


def parse_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadInput(f"{text!r} has an empty name; expected names separated by commas")
    return names


def simulated_size(size: str | None, matrix: str | None) -> str:
    from allemande.matrix import parse_matrix

    if matrix is not None and parse_matrix(matrix).has_own_sizes:
        if size is not None:
            raise BadInput("a matrix file says how many bytes; leave out --size")
        return "1"  # one case; the file's mean is what the result names
    return size or DEFAULT_SIZE


def command(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER",
            help="Cluster file, name of a ready-made cluster, or fat-tree:HOSTS.",
        ),
    ],
    algorithm: Annotated[
        str,
        typer.Option(
            help="Separated by commas: sync-shuffle, group-shuffle, pairwise, shift-exchange or "
            "direct."
        ),
    ] = "sync-shuffle",
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
            help="Who sends how much: uniform, zipf:S, hot[:FACTOR], block[:DENSITY], random or "
            "file:PATH (CSV or .npy, bytes, a row per sender).",
        ),
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
    exchanges: Annotated[int, typer.Option(help="So many, one after the other.", min=1)] = 1,
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
            help="link-down:from=A,to=B, block-port:from=A,to=B or slow-host:host=A,factor=F, with "
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
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write JSON; '-' is stdout.")
    ] = None,
    csv: CsvFile = None,
) -> None:
    """Simulate complete exchanges on any network that can be described.

    The protocol is the real one, on a simulated network and clock: the same input gives the same
    figures on any machine. Says how long the exchange takes, how that compares with what the links
    allow, which link was the bottleneck, and where packets queued and were lost. Several algorithms
    or sizes run on all cores.
    """
    from allemande.cli.topology import parse_sizes
    from allemande.simulation.run import make_case

    check_outputs({"--json": json, "--csv": csv, "--trace": str(trace) if trace else None})
    size = simulated_size(size, matrix)
    given: dict[str, Any] = {
        "matrix": matrix,
        "permutation": permutation,
        "contention_aware": contention_aware,
        "omega": omega,
        "window_packets": window_packets,
        "seed": seed,
        "jitter_us": jitter_us,
        "routing": routing,
        "faults": [parse_fault(text) for text in fault or []] or None,
        "trace": True if trace else None,
        **dict(parse_assignment(text) for text in assignments or []),
    }
    options = {key: value for key, value in given.items() if value is not None}
    options["exchanges"] = exchanges
    pairs = list(itertools.product(parse_sizes(size), parse_names(algorithm)))
    if trace is not None and len(pairs) > 1:
        raise BadInput("--trace takes one algorithm and one size")
    first = make_case(cluster, pairs[0][1], pairs[0][0], mode, **options)

    from dataclasses import replace

    from rich.console import Console

    from allemande.simulation import formats
    from allemande.simulation.progress import LateProgress
    from allemande.simulation.sweep import run_cases

    cases = [replace(first, algorithm=name, size=bytes_) for bytes_, name in pairs]
    with LateProgress(f"simulating {first.cluster_name}") as progress:
        results = run_cases(cases, workers, progress)
    formats.print_results(Console(stderr=STDOUT in (json, csv)), results)
    write_output(json, formats.to_json(results))
    write_output(csv, formats.to_csv(results))
    if trace is not None:
        from allemande.simulation.trace import write_result_trace

        count = write_result_trace(trace, first, results[0])
        Console(stderr=True).print(f"{trace}: {count:,} packets at ports", highlight=False)
