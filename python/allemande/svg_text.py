"""SVG files in which a changed figure is a small difference: a line a path, short coordinates."""

from __future__ import annotations

import re

DECIMALS = 2  # of a point: 1/72 inch
_COORDINATES = re.compile(r'(?<=[\s<])(d|x|y|transform|points)="([^"]*)"')
_NUMBER = re.compile(r"-?\d+\.\d+")
# What a reader without the font shows instead.
_FONT = "'DejaVu Sans'"
_FALLBACK = f"{_FONT}, sans-serif"


def _short(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _attribute(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f'{name}="{_NUMBER.sub(_short, " ".join(value.split()))}"'


def tidy_svg(text: str) -> str:
    """What matplotlib writes with `svg.fonttype` none, tidied."""
    return _COORDINATES.sub(_attribute, text).replace(_FONT, _FALLBACK)
