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


def check_outputs(outputs: dict[str, str | None], inputs: Sequence[str | None] = ()) -> None:
    """At most one on standard output, and files where files can be.

    No two outputs are one file, and none is one of the `inputs`: it would be lost.
    """
    on_stdout = [name for name, target in outputs.items() if target == STDOUT]
    if len(on_stdout) > 1:
        raise BadInput(f"{' and '.join(on_stdout)} cannot both be '-'; expected one, or files")
    taken: dict[Path, str] = {}
    for name, target in outputs.items():
        if target is None or target == STDOUT:
            continue
        path = _check_file(name, target)
        if path.exists() and not path.is_file():
            continue  # a device or a pipe takes what comes
        if path in taken:
            raise BadInput(f"{taken[path]} and {name} cannot both be {target}; expected two files")
        if str(path) in [os.path.realpath(given) for given in inputs if given is not None]:
            raise BadInput(f"{name} {target}: is a file that is read; expected another one")
        taken[path] = name


def _check_file(name: str, target: str) -> Path:
    try:
        path = Path(target).resolve()
        if path.is_dir():
            raise BadInput(f"{name} {target}: is a folder; expected a file")
        if not path.parent.is_dir():
            raise BadInput(f"{name} {target}: its folder does not exist; expected a writable file")
        writable = os.access(path if path.exists() else path.parent, os.W_OK)
    except OSError as error:  # a name that is too long, a folder that must not be looked into
        reason = error.strerror or str(error)
        raise BadInput(f"{name} {target}: {reason}; expected a writable file") from None
    if not writable:
        raise BadInput(f"{name} {target}: must not be written to; expected a writable file")
    return path


def check_folder(name: str, target: Path) -> None:
    """A folder that is there and can be written to, or that can be made."""
    try:
        there = target.resolve()
        while not there.exists():
            there = there.parent
        usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"{name} {target}: {reason}; expected a folder") from None
    if not there.is_dir():
        raise BadInput(f"{name} {target}: {there} is no folder; expected one, or a new name")
    if not usable:
        raise BadInput(f"{name} {target}: {there} must not be written to; expected another folder")


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
