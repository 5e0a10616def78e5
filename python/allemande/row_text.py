"""Rows as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol


class Row(Protocol):
    """One of several things that programs are told of alike."""

    def as_json(self) -> Mapping[str, Any]: ...


def json_text(value: object) -> str:
    """The value as a file of JSON."""
    return json.dumps(value, indent=2) + "\n"


def json_rows(rows: Iterable[Row]) -> str:
    """An array of objects, one for each row."""
    return json_text([row.as_json() for row in rows])


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A line with the names of the columns, then a line a row. Raises ValueError where a row has a
    key that is no column."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def csv_rows(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """The columns of each row, as JSON has them."""
    values = (row.as_json() for row in rows)
    return csv_text(columns, [{name: one[name] for name in columns} for one in values])
