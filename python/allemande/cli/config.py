"""`allemande config`: every option, its value and where the value comes from."""

from __future__ import annotations

import json
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
    settings = config.load(config.parse_flags(assignments or []))
    if as_json:
        rows = [
            {
                "key": setting.option.key,
                "variable": setting.option.variable,
                "value": setting.value,
                "origin": setting.origin,
                "where": setting.where,
                "default": setting.option.default,
                "valid": setting.option.valid,
                "shared": setting.option.shared,
                "help": setting.option.help,
            }
            for setting in settings.values()
        ]
        typer.echo(json.dumps(rows, indent=2))
        return

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("option", no_wrap=True)
    table.add_column("value", no_wrap=True)
    table.add_column("origin", no_wrap=True)
    table.add_column("meaning", ratio=1)
    for setting in settings.values():
        origin = setting.where or setting.origin
        table.add_row(setting.option.key, setting.value or "-", origin, setting.option.help)
    Console(highlight=False).print(table)
