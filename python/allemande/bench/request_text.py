"""What `allemande bench` may be asked for, in words. The command line imports it: kept light.

bench/request.py reads it; it alone says what is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allemande.bench.defaults import CONGESTION_CONTROL, LAB


@dataclass(frozen=True)
class RequestText:
    """A field for each option, with the option's name and default."""

    lab: str = LAB
    collective: str = "alltoall"
    matrix: str | None = None
    pattern: str | None = None
    start: str | None = None
    seed: int = 1
    ranks_per_host: str = "1"
    rank_order: str = "block"
    scale: float | None = None
    timers: str | None = None
    sizes: str | None = None
    against: Sequence[str] | None = None
    rounds: int = 3
    calls: int = 2
    seconds: float = 1.0
    warmup: int | None = None
    cold: bool = False
    idle: float = 0.0
    background: str | None = None
    jobs: int = 1
    job_layout: str | None = None
    slow: str | None = None
    half_rate: str | None = None
    congestion_control: str = CONGESTION_CONTROL
    forwarding: str | None = None
    timeline: str | None = None
