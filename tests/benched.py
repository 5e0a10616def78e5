"""What tests ask of the figures that `allemande bench` prints."""

from __future__ import annotations

from typing import Any


def calls_made(entry: dict[str, Any]) -> int:
    """All timed calls of a candidate.

    A machine with other work is too slow for some launches; their calls are left out, and counted.
    """
    return int(entry["calls"] + entry["void_calls"])
