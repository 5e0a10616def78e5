"""`allemande topology`: what a cluster file says, and what an all-to-all can at best do on it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

DEFAULT_SIZES = "1000,10000,50000,200000"


def command(
    cluster: Annotated[
        str, typer.Argument(metavar="FILE", help="A cluster file, or a ready-made name (tam-8x4).")
    ],
    size: Annotated[
        str,
        typer.Option(metavar="BYTES", help="Bytes per pair to give limits for, comma-separated."),
    ] = DEFAULT_SIZES,
    scale: Annotated[
        float, typer.Option(help="Multiply every rate, as an emulated cluster does.")
    ] = 1.0,
    as_json_text: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead.")
    ] = False,
) -> None:
    """Show a cluster file: its tree, bisection, all-to-all limits and doubtful assumptions."""
    from allemande.quantities import parse_sizes
    from allemande.report.cluster_report import as_json, print_report
    from allemande.topology import load_cluster

    sizes = parse_sizes(size)
    loaded = load_cluster(cluster)
    if scale != 1.0:
        loaded = loaded.scaled(scale)
    if as_json_text:
        typer.echo(json.dumps(as_json(loaded, sizes), indent=2))
    else:
        print_report(loaded, sizes)
