"""`allemande emit`: tuning files for stock libraries, schedules for simulators and GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs

SCHEDULES = "Schedules: json, goal, msccl, htsim"
TUNING = "Tuning files: openmpi-rules, mpich-selection"
_SCHEDULE = {"algorithm", "size", "cluster", "permutation", "contention_aware"}
# Options that say something, by format; --ranks and --output do for all.
OPTIONS = {
    "openmpi-rules": {"times", "mpi_version"},
    "mpich-selection": {"times", "libmpi"},
    "goal": _SCHEDULE | {"overhead_ns"},
    **dict.fromkeys(("json", "msccl", "htsim"), _SCHEDULE),
}
SPELLED = {"contention_aware": "contention-aware and --plain"}


def command(
    context: typer.Context,
    format_name: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="openmpi-rules, mpich-selection, json, goal, msccl or htsim.",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="'-' is stdout.")
    ] = STDOUT,
    ranks: Annotated[
        int | None,
        typer.Option(help="How many; for tuning files, where the rows do not say.", min=2),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(help="As `allemande simulate` names them.", rich_help_panel=SCHEDULES),
    ] = "sync-shuffle",
    size: Annotated[
        str,
        typer.Option(
            metavar="BYTES", help="From every rank to every other.", rich_help_panel=SCHEDULES
        ),
    ] = "64KiB",
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="A rank on each of its hosts, or on the first --ranks; as `allemande simulate` "
            "takes it. Default: one switch.",
            rich_help_panel=SCHEDULES,
        ),
    ] = None,
    permutation: Annotated[
        str,
        typer.Option(help="balanced, shift, xor or edge-colouring.", rich_help_panel=SCHEDULES),
    ] = "balanced",
    contention_aware: Annotated[
        bool,
        typer.Option(
            "--contention-aware/--plain",
            help="Whether ranks are remapped by the switches.",
            rich_help_panel=SCHEDULES,
        ),
    ] = True,
    overhead_ns: Annotated[
        int,
        typer.Option(
            help="GOAL: what a packet costs the processor, o.", min=0, rich_help_panel=SCHEDULES
        ),
    ] = 0,
    times: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON array of times, as `allemande bench --json` writes it.",
            rich_help_panel=TUNING,
        ),
    ] = None,
    mpi_version: Annotated[
        str | None,
        typer.Option(
            metavar="RELEASE",
            help="The Open MPI that will read the rules, as in 4.1.4. Default: 5.0.7.",
            rich_help_panel=TUNING,
        ),
    ] = None,
    libmpi: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The site's MPICH, libmpi.so.12. Default: that of `make setup`.",
            rich_help_panel=TUNING,
        ),
    ] = None,
) -> None:
    """Write what other programs read.

    Tuning files make a stock MPI library take the fastest of its own algorithms: out of times, the
    library's own choice and beyond what was timed stays. The variables that make the file count
    are printed, and written beside it as FILE.env. Schedules say who sends what to whom and when,
    for the simulators LogGOPSim (goal) and htsim, for GPUs (msccl), or as plain data (json).
    """
    from allemande.formats import emit

    emit.check_format(format_name)
    for name in sorted(set().union(*OPTIONS.values()) - OPTIONS[format_name]):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            spelled = SPELLED.get(name, name.replace("_", "-"))
            raise BadInput(f"--{spelled} says nothing for {format_name}")
    check_outputs({"--output": output}, [None if times is None else str(times)])
    if format_name in emit.TUNING_FORMATS:
        if times is None:
            raise BadInput(f"{format_name} needs times to choose by; expected --times FILE")
        from allemande.formats.choices import read_rows

        emitted = emit.tuning_of_rows(
            format_name,
            read_rows(times),
            Path(output),
            source=str(times),
            ranks=ranks,
            mpi_version=mpi_version or emit.OPENMPI_VERSION,
            libmpi=libmpi,
        )
    else:
        from allemande.formats.schedule import make_schedule
        from allemande.quantities import parse_sizes
        from allemande.simulation.networks import find_cluster

        sizes = parse_sizes(size)
        if len(sizes) != 1:
            raise BadInput(f"--size {size}: a schedule has one size")
        made = make_schedule(
            algorithm,
            sizes[0],
            ranks=ranks,
            cluster=None if cluster is None else find_cluster(cluster),
            permutation=permutation,
            contention_aware=contention_aware,
        )
        emitted = emit.schedule(format_name, made, overhead_ns)
    emitted.deliver(output)
