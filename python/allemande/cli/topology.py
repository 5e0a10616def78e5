"""`allemande topology`: what a cluster file says, and what an all-to-all can at best do on it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from allemande.formats.recognise import IMPORT_FORMS

DEFAULT_SIZES = "1000,10000,50000,200000"
TRAFFIC = "traffic"  # of --lid-engine


def command(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER",
            help="A cluster file, a ready-made name (tam-8x4), a generated one (fat-tree:128, "
            "leaf-spine:4x4x4, torus:4x4x4, dragonfly:2x4x2, myrinet:4, ib-144), "
            f"{IMPORT_FORMS}.",
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
    price: Annotated[
        bool, typer.Option("--price", help="Show what it costs, by the file's \\[price] table.")
    ] = False,
    lid_tables: Annotated[
        str | None,
        typer.Option(
            "--lid-tables",
            metavar="FILE",
            help="Write LID tables as OpenSM dumps them and reads them; '-' is stdout.",
        ),
    ] = None,
    lmc: Annotated[
        int, typer.Option(help="Of the LID tables: 2^LMC LIDs per host, 0 to 7.", min=0)
    ] = 0,
    lid_engine: Annotated[
        str,
        typer.Option(
            "--lid-engine",
            help="How they are made: minhop or updn, or traffic: for what --pattern says.",
        ),
    ] = "minhop",
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="With --lid-engine traffic: whose messages are to meet least, as simulate has it.",
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="With --pattern: those of its ranks, in their order."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="DUMP", help="Take GUIDs and LIDs from this dump of OpenSM for the same fabric."
        ),
    ] = None,
    as_json_text: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead.")
    ] = False,
) -> None:
    """Show a cluster: its tree, bisection, all-to-all limits and doubtful assumptions.

    What Slurm, a subnet manager, SimGrid or htsim say of a network is shown, and written as a
    cluster file, too: slurm:topology.conf,rate_mbit_s=10000/40000 gives the rates that Slurm does
    not know.
    """
    from allemande.errors import BadInput
    from allemande.output_files import STDOUT, check_outputs, write_output
    from allemande.quantities import parse_sizes
    from allemande.report.cluster_report import as_json, print_report
    from allemande.simulation.networks import find_cluster

    check_outputs(
        {
            "--output": output,
            "--lid-tables": lid_tables,
            "--json": STDOUT if as_json_text else None,
        }
    )
    if lid_tables is None and (lmc or like or lid_engine != "minhop"):
        raise BadInput("--lmc, --lid-engine and --like are of --lid-tables; expected --lid-tables")
    if lid_engine not in (engines := ("minhop", "updn", TRAFFIC)):
        raise BadInput(f"--lid-engine {lid_engine} is not valid; expected {', '.join(engines)}")
    for_traffic = lid_tables is not None and lid_engine == TRAFFIC
    if for_traffic == (pattern is None) or (hosts is not None and not for_traffic):
        raise BadInput(
            "--pattern and --hosts are of --lid-engine traffic, which takes --pattern; expected "
            "both, or neither"
        )
    sizes = parse_sizes(size)
    loaded = find_cluster(cluster)
    if scale != 1.0:
        loaded = loaded.scaled(scale)
    if price and loaded.price is None:
        raise BadInput(f"cluster {loaded.name} has no prices; expected a [price] table in its file")
    write_output(output, loaded.to_toml())
    if lid_tables is not None:
        from allemande.formats.opensm_lfts import make_dump
        from allemande.traffic_tables import tables_for_pattern

        made = None if pattern is None else tables_for_pattern(loaded, hosts, pattern, lmc)
        write_output(lid_tables, make_dump(loaded, lmc, lid_engine, like, made))
    if STDOUT in (output, lid_tables):
        return
    if as_json_text:
        typer.echo(json.dumps(as_json(loaded, sizes, price), indent=2))
    else:
        print_report(loaded, sizes, price)
