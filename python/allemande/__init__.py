"""Faster MPI_Alltoall on networks that congest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allemande.api import alltoall, alltoallv, attach, counters
    from allemande.simulation.case import simulate

__all__ = ["alltoall", "alltoallv", "attach", "counters", "simulate"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Imported when it is used: commands that run once per rank start quickly."""
    if name in ("alltoall", "alltoallv", "attach", "counters"):
        from allemande import api

        return getattr(api, name)
    if name == "simulate":
        from allemande.simulation.case import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
