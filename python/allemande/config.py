"""Options, as the C++ side reads them (src/base/options.cc): flag > environment > file > built-in.

The table itself is `allemande.option_table`, made from src/base/options.def.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from allemande.errors import BadInput
from allemande.option_table import OPTIONS, Option
from allemande.text_files import (
    DIGITS_MAX,
    TOML_BYTES_MAX,
    exists,
    parse_toml,
    read_text,
    shown,
)

PREFIX = "ALLEMANDE_"
CONFIG_VARIABLE = "ALLEMANDE_CONFIG"
NUMBER_FORMAT = ".10g"
SHOWN_MAX = 80  # characters of a value that is refused

Origin = Literal["built-in", "file", "environment", "flag"]

_BY_KEY = {option.key: option for option in OPTIONS}
_TRUE = {"on", "true", "yes", "1"}
_FALSE = {"off", "false", "no", "0"}

# Values that have another name now.
_RENAMED_VALUES = {("algorithm", "grid"): "combine"}


@dataclass(frozen=True)
class Setting:
    option: Option
    value: str  # as text; empty: not set
    origin: Origin
    where: str  # the variable, the file and line, or the flag; empty for built-in


def check_value(option: Option, where: str, text: str) -> str:
    """The value in its normal spelling, or BadInput that says what is valid."""
    if option.kind == "integer":
        if not (_is_whole(text) and _in_ranges(int(text), option.valid)):
            raise _bad_value(where, text, f"an integer in {option.valid}")
        return str(int(text))
    if option.kind == "number":
        low, _, high = option.valid.partition("..")
        good = re.fullmatch(r"[0-9]+\.?[0-9]*|\.[0-9]+", text)
        if not (good and float(low) <= float(text) <= float(high)):
            raise _bad_value(where, text, f"a number in {option.valid}")
        return format(float(text), NUMBER_FORMAT)
    if option.kind == "flag":
        if text in _TRUE | _FALSE:
            return "on" if text in _TRUE else "off"
        raise _bad_value(where, text, "on or off")
    if option.kind == "choice":
        choices = option.valid.split("|")
        if (option.key, text) in _RENAMED_VALUES:
            new_name = _RENAMED_VALUES[option.key, text]
            raise _bad_value(where, text, f"its new name, {new_name}")
        if not any(_is_choice(text, choice) for choice in choices):
            raise _bad_value(where, text, f"one of {', '.join(choices)}")
    if option.kind == "path" and text == "off":
        return ""
    return text


def _bad_value(where: str, text: str, expected: str) -> BadInput:
    spelled = text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
    return BadInput(f"{where}: `{spelled}` is not valid; expected {expected}")


def _is_choice(text: str, choice: str) -> bool:
    """`choice`: a word, or a range of numbers in their usual spelling."""
    if ".." not in choice:
        return text == choice
    number = _is_whole(text) and str(int(text)) == text
    return number and _in_ranges(int(text), choice)


def _is_whole(text: str) -> bool:
    """A whole number; Python refuses to count those of thousands of digits."""
    return text.isascii() and text.isdigit() and len(text.lstrip("0")) <= DIGITS_MAX


def _in_ranges(value: int, ranges: str) -> bool:
    for one in ranges.split(","):
        low, _, high = one.partition("..")
        if int(low) <= value <= int(high or low):
            return True
    return False


def _config_path(environment: Mapping[str, str]) -> Path | None:
    """The configuration file to read, if there is one."""
    named = environment.get(CONFIG_VARIABLE, "")
    if named:
        if not exists(named):
            raise BadInput(
                f"{CONFIG_VARIABLE}: the configuration file {named} does not exist; "
                "create it, or unset the variable"
            )
        return Path(named)
    home = environment.get("HOME", "")
    path = Path(home, ".config/allemande/config.toml")
    return path if home and exists(path) else None


def _line_of(text: str, key: str) -> int:
    """Where a top-level key is set; tomllib does not tell."""
    pattern = re.compile(rf"^\s*\[?\s*[\"']?{re.escape(key)}[\"']?\s*[=\].]")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line):
            return number
    return 1


def _read_file(path: Path) -> dict[str, Setting]:
    text = read_text(path, "a configuration file", TOML_BYTES_MAX)
    table = parse_toml(text, shown(path))
    settings: dict[str, Setting] = {}
    for key, value in table.items():
        place = f"{shown(path)}:{_line_of(text, key)}"
        where = f"{place}: key `{key}`"
        option = _BY_KEY.get(key)
        if option is None:
            raise BadInput(f"{where}: unknown key; valid keys are {', '.join(_BY_KEY)}")
        if isinstance(value, bool):
            spelled = "on" if value else "off"
        elif isinstance(value, float):
            spelled = format(value, NUMBER_FORMAT)
        elif isinstance(value, (str, int)):
            spelled = str(value)
        else:
            raise BadInput(f"{where}: expected a string, a number or a boolean")
        settings[key] = Setting(option, check_value(option, where, spelled), "file", place)
    return settings


def variable_text(option: Option, value: str) -> str:
    """What a variable says for the value: one that is empty counts as not set."""
    return "off" if option.kind == "path" and not value else value


def _check_names(environment: Mapping[str, str]) -> None:
    valid = [CONFIG_VARIABLE, *(option.variable for option in OPTIONS)]
    for name in environment:
        if name.startswith(PREFIX) and name not in valid:
            raise BadInput(
                f"{name}: unknown environment variable; valid names are {', '.join(valid)}"
            )


def parse_flags(assignments: list[str]) -> dict[str, str]:
    """`["key=value", ...]`, as given to `--set`, checked against the table."""
    flags: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        option = _BY_KEY.get(key)
        if option is None or not equals:
            raise BadInput(
                f"--set {assignment}: expected KEY=VALUE with one of the keys {', '.join(_BY_KEY)}"
            )
        flags[key] = check_value(option, f"--set {key}", value)
    return flags


def load(
    flags: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, Setting]:
    """The effective value of every option, in the order of the table."""
    if environment is None:
        environment = os.environ
    _check_names(environment)
    path = _config_path(environment)
    from_file = _read_file(path) if path else {}
    settings: dict[str, Setting] = {}
    for option in OPTIONS:
        key, variable = option.key, option.variable
        text = environment.get(variable, "")
        if flags and key in flags:
            where = f"--set {key}"
            settings[key] = Setting(option, check_value(option, where, flags[key]), "flag", where)
        elif text:
            value = check_value(option, variable, text)
            settings[key] = Setting(option, value, "environment", variable)
        else:
            built_in = Setting(option, option.default, "built-in", "")
            settings[key] = from_file.get(key, built_in)
    return settings


def to_environment(flags: Mapping[str, str]) -> dict[str, str]:
    """The variables that hand flags on to the ranks of a job."""
    return {
        _BY_KEY[key].variable: variable_text(_BY_KEY[key], value) for key, value in flags.items()
    }
