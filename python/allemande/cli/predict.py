"""`allemande predict`: what every candidate will take on a network that was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allemande.cli.shared_options import CsvFile, JsonArrayFile, SizesOption
from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs, write_rows, writing

if TYPE_CHECKING:
    from allemande.model.predict import Row
    from allemande.model.profile import Profile

DEFAULT_SIZES = "100,1000,10000,50000,200000"


def _parse_hosts(text: str | None, most: int) -> list[int]:
    """`8,16,32`; nothing: all there are."""
    if text is None:
        return [most]
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 7 for word in words):
        raise BadInput(f"--hosts {text!r} cannot be read; expected numbers, as in 16,32")
    return [int(word) for word in words]


def _simulated(profile: Profile, rows: list[Row]) -> list[Row]:
    """Each ranking of hosts that the profile has, all of our ways simulated."""
    from itertools import groupby

    from allemande.model.simulated_rows import simulate_best

    out: list[Row] = []
    for (ranks, _), some in groupby(rows, key=lambda row: (row.ranks, row.size)):
        if ranks > len(profile.network.hosts):
            raise BadInput(f"--simulate takes hosts that the profile has; --hosts asks for {ranks}")
        members = profile.first_hosts(ranks)
        out += simulate_best(profile, members, list(some), every_way=True)
    return out


def _print_models(
    profile: Profile, numbers: list[int], sizes: list[int], json: str | None, csv: str | None
) -> None:
    from rich.console import Console

    from allemande.model import published_output
    from allemande.model.published import COLUMNS, Published, published

    found = published(profile, numbers, sizes)
    lacks = Published(profile, profile.first_hosts(numbers[0])).left_out()
    if not found:
        raise BadInput(f"the profile has nothing that a model needs: {'; '.join(lacks)}")
    for why in lacks:
        typer.echo(f"allemande: left out: {why}", err=True)
    published_output.print_models(Console(stderr=STDOUT in (json, csv), width=200), found)
    write_rows(found, COLUMNS, json, csv)


def command(
    profile: Annotated[
        str, typer.Argument(metavar="PROFILE", help="What `allemande probe -o` wrote.")
    ],
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="The first so many hosts of the profile, separated by commas; more than it has: "
            "as if the network went on as it is. Default: all.",
        ),
    ] = None,
    size: SizesOption = DEFAULT_SIZES,
    against: Annotated[
        str | None,
        typer.Option(metavar="CANDIDATES", help="Only these, separated by commas. Default: all."),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Simulate our ways at each size, and algorithms of MPI libraries that were not "
            "measured there, where that takes seconds.",
        ),
    ] = False,
    models: Annotated[
        bool,
        typer.Option("--models", help="What the models of the five papers say, beside ours."),
    ] = False,
    json: JsonArrayFile = None,
    csv: CsvFile = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw time and bandwidth against size, with crossovers: FILE.svg or FILE.png.",
        ),
    ] = None,
) -> None:
    """Predict what MPI_Alltoall will take, for every candidate that the profile knows.

    Candidates are named as in `allemande bench`. A time is measured where the profile has a sample
    of it, fitted between sizes and hosts that were measured, and extrapolated beyond. Nine calls in
    ten are meant to lie in the interval.
    """
    from rich.console import Console

    from allemande.model import prediction_output
    from allemande.model.predict import COLUMNS, doubts, left_out, nothing_known, predict
    from allemande.model.profile import load_profile
    from allemande.quantities import parse_sizes

    check_outputs({"--json": json, "--csv": csv, "--plot": plot}, [profile])
    if plot is not None and Path(plot).suffix not in (".svg", ".png"):
        raise BadInput(f"--plot {plot}: expected a file that ends with .svg or .png")
    loaded = load_profile(profile)
    numbers = _parse_hosts(hosts, len(loaded.network.hosts))
    if plot is not None and len(numbers) > 1:
        raise BadInput("--plot takes one number of hosts")
    sizes = parse_sizes(size)
    if models:
        if plot is not None or against is not None or simulate:
            raise BadInput("--models takes neither --plot nor --against nor --simulate")
        _print_models(loaded, numbers, sizes, json, csv)
        return
    rows = predict(loaded, numbers, sizes)
    if simulate:
        rows = _simulated(loaded, rows)
    if not rows:
        raise nothing_known(loaded, profile)
    unknown = left_out(loaded, rows, len(numbers) * len(sizes))
    if against is not None:
        from allemande.bench.candidates import split_list

        wanted = split_list(against)
        known = {row.candidate for row in rows}
        unknown = {name: why for name, why in unknown.items() if name in wanted}
        for name in wanted:
            if name not in known and name in unknown:
                raise BadInput(unknown[name])
            if name not in known:
                raise BadInput(
                    f"the profile says nothing of {name!r}; expected some of: "
                    f"{', '.join(sorted(known))}"
                )
        rows = [row for row in rows if row.candidate in wanted]
    for why in (*unknown.values(), *doubts(loaded)):
        typer.echo(f"allemande: {why}", err=True)
    prediction_output.print_rows(Console(stderr=STDOUT in (json, csv), width=160), rows)
    write_rows(rows, COLUMNS, json, csv)
    if plot is not None:
        from allemande.report.prediction_plot import render

        title = f"Predicted for {numbers[0]} hosts of {profile}"
        with writing(plot):
            Path(plot).write_bytes(render(rows, title, Path(plot).suffix[1:]))
