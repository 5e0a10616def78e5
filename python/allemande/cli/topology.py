"""`allemande topology`: what a cluster file says, and what an all-to-all can at best do on it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

DEFAULT_SIZES = "1000,10000,50000,200000"


def command(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER",
            help="A cluster file, a ready-made name (tam-8x4), fat-tree:HOSTS, slurm:FILE or "
            "ibnetdiscover:FILE.",
        ),
    ],
    size: Annotated[
        str,
        typer.Option(metavar="BYTES", help="Bytes per pair to give limits for, comma-separated."),
    ] = DEFAULT_SIZES,
    scale: Annotated[
        float, typer.Option(help="Multiply every rate, as an emulated cluster does.")
    ] = 1.0,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write it as a cluster file; '-' is stdout."
        ),
    ] = None,
    as_json_text: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead.")
    ] = False,
) -> None:
    """Show a cluster: its tree, bisection, all-to-all limits and doubtful assumptions.

    What Slurm or a subnet manager say of a network is shown, and written as a cluster file, too:
    slurm:topology.conf,rate_mbit_s=10000/40000 gives the rates that Slurm does not know.
    """
    from allemande.output_files import STDOUT, check_outputs, write_output
    from allemande.quantities import parse_sizes
    from allemande.report.cluster_report import as_json, print_report
    from allemande.simulation.networks import find_cluster

    check_outputs({"--output": output, "--json": STDOUT if as_json_text else None})
    sizes = parse_sizes(size)
    loaded = find_cluster(cluster)
    if scale != 1.0:
        loaded = loaded.scaled(scale)
    write_output(output, loaded.to_toml())
    if output == STDOUT:
        return
    if as_json_text:
        typer.echo(json.dumps(as_json(loaded, sizes), indent=2))
    else:
        print_report(loaded, sizes)
