"""Where a command's figures go: files named by options, or standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from allemande.errors import BadInput, Failed
from allemande.row_text import Row, csv_rows, json_rows

STDOUT = "-"


def check_outputs(outputs: dict[str, str | None]) -> None:
    """At most one on standard output, and files where files can be."""
    on_stdout = [name for name, target in outputs.items() if target == STDOUT]
    if len(on_stdout) > 1:
        raise BadInput(f"{' and '.join(on_stdout)} cannot both be '-'; expected one, or files")
    for name, target in outputs.items():
        if target is not None and target != STDOUT:
            _check_file(name, target)


def _check_file(name: str, target: str) -> None:
    path = Path(target).resolve()
    if path.is_dir():
        raise BadInput(f"{name} {target}: is a folder; expected a file")
    if not path.parent.is_dir():
        raise BadInput(f"{name} {target}: its folder does not exist; expected a writable file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"{name} {target}: must not be written to; expected a writable file")


def standard_output() -> TextIO:
    """Failed where the process was started without one."""
    if sys.stdout is None:
        raise Failed("standard output is closed; open it, or name a file in place of '-'")
    return sys.stdout


@contextlib.contextmanager
def writing(target: str | os.PathLike[str]) -> Iterator[None]:
    """Failed, which names the file, where the system does not take what is written in the block."""
    try:
        yield
    except OSError as error:
        raise Failed(f"{target}: cannot be written: {error.strerror or error}") from None


def write_output(target: str | None, text: str) -> None:
    if target == STDOUT:
        out = standard_output()
        out.write(text)
        out.flush()
    elif target is not None:
        with writing(target):
            Path(target).write_text(text, encoding="utf-8")


def write_rows(
    rows: Sequence[Row], columns: Sequence[str], json: str | None, csv: str | None
) -> None:
    """An array of objects, and a table of these columns of theirs."""
    write_output(json, json_rows(rows))
    write_output(csv, csv_rows(columns, rows))
