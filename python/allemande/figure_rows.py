"""Rows of `allemande bench --json`, read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Marks of what was timed beside others' traffic, cold, or on a network with a fault.
_DISTURBED = ("background", "cold", "slow", "half_rate")


def is_sound(row: Mapping[str, Any]) -> bool:
    """Whether it is a figure of one job, alone on a sound network, that counts."""
    return (
        not row.get("void")
        and not row.get("wrong_bytes")
        and row.get("jobs", 1) == 1
        and not any(row.get(key) for key in _DISTURBED)
    )
