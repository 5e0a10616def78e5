"""`allemande plan`: what to take on a network that was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allemande.cli.predict import DEFAULT_SIZES
from allemande.cli.shared_options import SizesOption
from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs, write_output


def command(
    profile: Annotated[
        str, typer.Argument(metavar="PROFILE", help="What `allemande probe -o` wrote.")
    ],
    hosts: Annotated[
        int | None,
        typer.Option(help="The first so many hosts of the profile. Default: all.", min=2),
    ] = None,
    size: SizesOption = DEFAULT_SIZES,
    measured: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What `allemande bench --json` wrote of the same hosts: its medians outrank "
            "predictions.",
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(help="Simulate the best of our ways at each size, where that takes seconds."),
    ] = True,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the plan as JSON; '-' is stdout.")
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="With -o, write the plan for others: openmpi-rules or mpich-selection, of the "
            "library's fastest algorithms; json, goal, msccl or htsim, of our fastest way; "
            "rankfile, the hosts in random order.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Of --emit; '-' is stdout."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the order of a rankfile.")] = 1,
    cluster_out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the profile's network as a cluster file; '-' is stdout."
        ),
    ] = None,
    libmpi: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="For mpich-selection: the site's libmpi.so.12. Default: that of `make setup`.",
        ),
    ] = None,
) -> None:
    """Rank all candidates at each size, and set the global window and the grain.

    The window W_g and the length of trains follow from the network that the profile describes, as
    in the preloaded library.
    """
    from rich.console import Console

    from allemande.model import plan_output
    from allemande.model.planning import make_plan
    from allemande.model.predict import doubts
    from allemande.model.profile import load_profile
    from allemande.model.samples import with_measured
    from allemande.quantities import parse_sizes
    from allemande.row_text import json_text

    if (emit is None) != (output is None):
        raise BadInput("--emit and --output belong together; expected both, or neither")
    outputs = {"--json": json, "--output": output, "--cluster-out": cluster_out}
    check_outputs(outputs, [profile, measured])
    loaded = load_profile(profile)
    if cluster_out is not None and loaded.cluster is None:
        raise BadInput(f"{profile} has no network; expected a [cluster] table for --cluster-out")
    count = len(loaded.network.hosts) if hosts is None else hosts
    if measured is not None:
        loaded = with_measured(loaded, measured, loaded.first_hosts(count))
    made = make_plan(loaded, count, parse_sizes(size), simulate)
    for doubt in doubts(loaded):
        typer.echo(f"allemande: {doubt}", err=True)
    emitted = None
    if emit is not None and output is not None:
        from allemande.model.plan_emission import emit_plan

        emitted = emit_plan(made, loaded, emit, Path(output), libmpi, seed)
    plan_output.print_plan(Console(stderr=STDOUT in (json, output, cluster_out), width=160), made)
    write_output(json, json_text(made.as_json()))
    if cluster_out is not None and loaded.cluster is not None:
        write_output(cluster_out, loaded.cluster.to_toml())
    if emitted is not None and output is not None:
        emitted.deliver(output)
