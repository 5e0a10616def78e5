"""Tables for people, all of one look."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Column, Table


def left(*headings: str) -> list[Column]:
    """Columns of names, which stay whole. A heading alone makes a column of text that may wrap."""
    return [Column(heading, no_wrap=True) for heading in headings]


def right(*headings: str) -> list[Column]:
    """Columns of figures."""
    return [Column(heading, justify="right", no_wrap=True) for heading in headings]


def ruled_table(title: str | None, *columns: Column | str, pad_edge: bool = True) -> Table:
    """A table with a rule below its headings."""
    return Table(
        *columns,
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=pad_edge,
    )


def plain_table(title: str | None, *columns: Column | str) -> Table:
    """A table without rules."""
    return Table(
        *columns, title=title, title_justify="left", title_style="bold", box=None, pad_edge=False
    )


def widen(console: Console, width: int) -> None:
    """A file has no edge to wrap at: its lines may have this width."""
    if not console.is_terminal:
        console.width = max(console.width, width)
