"""`allemande probe`: measures a running cluster, or a simulated one."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allemande.errors import BadInput, Failed
from allemande.output_files import STDOUT, check_outputs, write_output

if TYPE_CHECKING:
    from allemande.probe.bed import Bed
    from allemande.probe.network_findings import Findings
    from allemande.probe.probing import Wishes

SIMULATOR = "Simulated"


def _seconds(text: str) -> float:
    """`120s`, `2min` or `120`."""
    for suffix, factor in (("min", 60.0), ("s", 1.0), ("", 1.0)):
        number = text.removesuffix(suffix)
        if suffix and number == text:
            continue
        try:
            value = float(number) * factor
        except ValueError:
            continue
        if 0 <= value <= 86400:
            return value
    raise BadInput(f"--budget {text} is not valid; expected a time such as 120s or 5min")


def _communicator() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise Failed(
            f"mpi4py cannot be imported ({error}); `allemande probe` runs one rank per host under "
            "mpirun and needs it: pip install mpi4py"
        ) from None
    if MPI.COMM_WORLD.Get_size() < 2:
        raise BadInput(
            "one process alone measures no network; start one on each host: "
            "mpirun -n HOSTS allemande probe -o net.toml, or try --simulate CLUSTER"
        )
    return MPI.COMM_WORLD


def _library() -> str:
    from mpi4py import MPI

    # Its first clause, as jobs tell it: MPICH puts a tab behind "MPICH Version:".
    return " ".join(MPI.Get_library_version().split("\n")[0].split(",")[0].split())


def command(
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the profile; '-' is stdout."),
    ] = None,
    cluster_out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the network as a cluster file; '-' is stdout."),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write what was found as a JSON object; '-' is stdout."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw what the figures were made from: .svg or .png."),
    ] = None,
    repeat: Annotated[
        int, typer.Option(help="How often each small measurement is repeated.")
    ] = 100,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="For samples of exchanges, at most: 120s or 2min.")
    ] = "120s",
    no_overload: Annotated[
        bool,
        typer.Option(
            "--no-overload",
            help="Leave the queues alone: no port gets more than it carries. Leaves and buffers "
            "remain unknown.",
        ),
    ] = False,
    simulate: Annotated[
        str | None,
        typer.Option(
            metavar="CLUSTER",
            help="Measure a simulated network: whatever `allemande simulate` takes.",
            rich_help_panel=SIMULATOR,
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the simulator, such as jitter_us=20.",
            rich_help_panel=SIMULATOR,
        ),
    ] = None,
) -> None:
    """Measure the network of a running cluster: one rank on each host, started by mpirun.

    It says what it will send before it sends anything. docs/probe.md tells administrators exactly
    what that is. A port is overloaded for milliseconds only, and not at all with --no-overload.
    """
    check_outputs(
        {"--output": output, "--cluster-out": cluster_out, "--json": json, "--plot": plot}
    )
    if not 1 <= repeat <= 100000:
        raise BadInput(f"--repeat {repeat} is not valid; expected 1 to 100000")
    if assignments and simulate is None:
        raise BadInput("--set belongs to --simulate")
    if plot is not None and not plot.endswith((".svg", ".png")):
        raise BadInput(f"--plot {plot}: expected a name that ends with .svg or .png")

    from allemande.probe.probing import Wishes

    wishes = Wishes(overload=not no_overload, repeat=repeat, budget_s=_seconds(budget))
    found: Findings | None
    if simulate is not None:
        from allemande.probe.simulated_bed import SimulatedBed
        from allemande.simulation.arguments import case_options

        found = _probe(SimulatedBed(simulate, case_options({}, [], assignments or [])), wishes)
    else:
        found = _probe_job(wishes)
    if found is not None:
        _write(found, output, cluster_out, json, plot)


def _probe_job(wishes: Wishes) -> Findings | None:
    """This rank's part; what was found at rank 0, None elsewhere."""
    from allemande.probe.job_bed import JobBed

    communicator = _communicator()
    bed = JobBed(communicator)
    if bed.rank != 0:
        # One voice is enough, also for what goes wrong.
        sys.stderr.flush()
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        bed.serve()
        return None
    try:
        found = _probe(bed, wishes)
        found.mpi = _library()
    finally:
        bed.end()
    return found


def _probe(bed: Bed, wishes: Wishes) -> Findings:
    from rich.console import Console

    from allemande.probe.announcement import announcement
    from allemande.probe.probing import Probing

    console = Console(stderr=True, highlight=False)
    console.print(announcement(bed, wishes), markup=False)
    return Probing(bed, wishes, lambda text: console.print(text, markup=False)).run()


def _write(
    found: Findings,
    output: str | None,
    cluster_out: str | None,
    json: str | None,
    plot: str | None,
) -> None:
    from rich.console import Console
    from rich.table import Table

    from allemande.probe.cluster_output import cluster_text
    from allemande.probe.summary import lines, to_json

    table = Table(show_header=False, box=None)
    for question, answer in lines(found):
        table.add_row(question, answer)
    Console(stderr=STDOUT in (output, cluster_out, json), highlight=False).print(table)
    if output is not None:
        from allemande.model.fits import with_fits
        from allemande.model.profile import format_profile
        from allemande.probe.profile_output import make_profile

        date = None if found.simulated else datetime.now(UTC).replace(microsecond=0)
        # With fits, so that the preloaded library needs no statistics of its own.
        write_output(output, format_profile(with_fits(make_profile(found, date))))
    write_output(cluster_out, cluster_text(found))
    write_output(json, to_json(found))
    if plot is not None:
        from allemande.probe.plot import draw

        draw(found, plot)
