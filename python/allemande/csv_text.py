"""Rows as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A line with the names of the columns, then a line a row. Raises ValueError where a row has a
    key that is no column."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
