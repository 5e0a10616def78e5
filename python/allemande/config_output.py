"""Every option with its value and origin, as a table for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.console import Console
from rich.table import Column

from allemande.config import Setting
from allemande.tables import left, plain_table


def to_json(settings: Mapping[str, Setting]) -> str:
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
    return json.dumps(rows, indent=2)


def print_table(settings: Mapping[str, Setting]) -> None:
    table = plain_table(None, *left("option", "value", "origin"), Column("meaning", ratio=1))
    for setting in settings.values():
        origin = setting.where or setting.origin
        table.add_row(setting.option.key, setting.value or "-", origin, setting.option.help)
    Console(highlight=False).print(table)
