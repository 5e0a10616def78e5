"""Sizes, times, rates and parts as people read them, and sizes as they write them."""

from __future__ import annotations

import re

from allemande.errors import BadInput

MISSING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"

SIZE_MAX = 2**40
_SIZE_UNITS = {"": 1, "k": 10**3, "kb": 10**3, "kib": 2**10, "m": 10**6, "mb": 10**6, "mib": 2**20}


def parse_sizes(text: str) -> list[int]:
    """Reads `1000,50k,1MiB`; raises BadInput for anything else."""
    sizes = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,15})([a-z]*)", word.strip().lower())
        if not match or match[2] not in _SIZE_UNITS:
            raise BadInput(
                f"size {word.strip()!r} cannot be read; expected bytes as in 1000, 50KB or 1MiB, "
                "separated by commas"
            )
        size = int(match[1]) * _SIZE_UNITS[match[2]]
        if not 1 <= size <= SIZE_MAX:
            raise BadInput(f"size {word.strip()!r} is out of range; expected 1 to {SIZE_MAX} bytes")
        sizes.append(size)
    return sizes


def format_size(size: int) -> str:
    """1000 -> 1 KB, 65536 -> 65536 B."""
    for unit, factor in (("MB", 10**6), ("KB", 10**3)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def format_rate(mbit_s: float) -> str:
    """100 -> 100 Mbit/s, 22000 -> 22 Gbit/s."""
    return f"{mbit_s / 1000:g} Gbit/s" if mbit_s >= 1000 else f"{mbit_s:g} Mbit/s"


def format_seconds(value: float | None) -> str:
    """Three digits that count: 1.28 s, 25.9 ms."""
    if value is None:
        return MISSING
    if value >= 1:
        return f"{value:.3g} s" if value < 100 else f"{value:.0f} s"
    if value >= 1e-3:
        return f"{value * 1e3:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def format_part(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1%}"


def format_ratio(value: float | None) -> str:
    return MISSING if value is None else f"{value:.2f}{TIMES}"


def format_spread(value: float | None) -> str:
    return MISSING if value is None else f"±{value / 2:.1%}"
