"""`allemande config`: every option, its value and where the value comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from allemande import config


def command(
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set an option, as a flag would."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead.")] = False,
) -> None:
    """Show every option, its value and where it comes from.

    Strongest first: flag, environment, configuration file, built-in.
    """
    from allemande.config_output import print_table, to_json

    settings = config.load(config.parse_flags(assignments or []))
    if as_json:
        typer.echo(to_json(settings))
    else:
        print_table(settings)
