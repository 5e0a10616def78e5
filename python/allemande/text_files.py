"""Files that users give, read in one way: bounded in size, UTF-8, told by file and line.

Whatever stands in a file, a reader ends with what it holds or with BadInput. So nothing here and in
the readers may depend on how deep, how long or how well-formed a text is.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from allemande.control_characters import CONTROL
from allemande.errors import BadInput

MIB = 2**20
BYTES_MAX = 16 * MIB  # of a text; a dump of InfiniBand has about 90 bytes a port
TOML_BYTES_MAX = MIB
CLUSTER_BYTES_MAX = 32 * MIB  # as the core has it
_INTEGER_MIN, _INTEGER_MAX = -(2**63), 2**63 - 1  # as TOML has them
DIGITS_MAX = 20  # of an integer of 64 bits
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def shown(path: str | os.PathLike[str]) -> str:
    """A path, or another text of users, as messages have it: what is no text in it, escaped."""
    text = os.fspath(path)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file can be there; names that no file can have are none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long, not to be looked at, with a zero byte
        return False


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether anything is there."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: str | os.PathLike[str], expected: str, bytes_max: int) -> bytes:
    """All of a file; BadInput for what cannot be read or is longer than `bytes_max`."""
    name = shown(path)
    try:
        with open(path, "rb") as file:
            data = file.read(bytes_max + 1)
    except OSError as error:
        raise BadInput(
            f"{name}: cannot be read: {error.strerror or error}; expected {expected}"
        ) from None
    except ValueError as error:
        raise BadInput(f"{name}: cannot be read: {error}; expected {expected}") from None
    if len(data) > bytes_max:
        raise BadInput(
            f"{name}: has more than {bytes_max // MIB} MiB; expected {expected}, which has less"
        )
    return data


def read_text(path: str | os.PathLike[str], expected: str, bytes_max: int | None = None) -> str:
    """The text of a file; lines end in "\\n" alone. `expected` says what the file should be.

    Raises BadInput for what cannot be read, is longer than `bytes_max` (BYTES_MAX if it is None),
    is not UTF-8, or has control characters.
    """
    data = read_bytes(path, expected, BYTES_MAX if bytes_max is None else bytes_max)
    name = shown(path)
    if data.startswith(_UTF_16):
        raise BadInput(f"{name}: is UTF-16; expected {expected}, saved as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{name}:{line}: byte {data[error.start]:#04x} is not UTF-8; expected {expected}, "
            "which is text"
        ) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if found := CONTROL.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise BadInput(
            f"{name}:{line}: has the control character {found[0]!r}; expected {expected}, "
            "without control characters"
        )
    return text


def parse_json(text: str, source: str, expected: str) -> Any:
    """What JSON says; BadInput, with the line, for what is none, and for what is nested too deep
    or has numbers that are too long to count."""
    try:
        return json.loads(text, parse_int=_json_integer)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{source}:{error.lineno}: not valid JSON: {error.msg}; expected {expected}"
        ) from None
    except RecursionError:
        raise BadInput(f"{source}: not valid JSON: nested too deep; expected {expected}") from None
    except ValueError as error:
        raise BadInput(f"{source}: not valid JSON: {error}; expected {expected}") from None


def _json_integer(text: str) -> int:
    if len(text.lstrip("-")) > DIGITS_MAX:
        raise ValueError(f"the integer {text[:DIGITS_MAX]}... has more than {DIGITS_MAX} digits")
    return int(text)


def read_json(path: str | os.PathLike[str], expected: str, bytes_max: int | None = None) -> Any:
    """The same from a file."""
    return parse_json(read_text(path, expected, bytes_max), shown(path), expected)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """What TOML says; BadInput, with the line where there is one, for what is none."""
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{source}: not valid TOML: nested too deep") from None
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        line = re.search(r"at line (\d+)", str(error))
        if '"""' not in text and "'''" not in text:  # the core takes no strings of several lines
            _check_toml(text, source)
        number = line[1] if line else str(max(1, len(text.splitlines())))
        raise BadInput(f"{source}:{number}: not valid TOML: {error}") from None
    if _has_long_integer(table):
        _check_toml(text, source)
        raise BadInput(f"{source}: not valid TOML: an integer of more than 64 bits")
    return table


def _check_toml(text: str, source: str) -> None:
    """BadInput with what was expected, where the core finds it, too."""
    from allemande import _core

    _core.check_toml(text, source)


def _has_long_integer(table: dict[str, Any]) -> bool:
    """Whether an integer is no integer of TOML: hexadecimal ones may have any length in Python."""
    left: list[Any] = [table]
    while left:
        one = left.pop()
        if isinstance(one, int) and not _INTEGER_MIN <= one <= _INTEGER_MAX:
            return True
        if isinstance(one, (dict, list)):
            left.extend(one.values() if isinstance(one, dict) else one)
    return False
