"""What a comparison is asked for, and the one place that says whether it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from allemande.bench.candidates import Candidate, parse_candidates
from allemande.bench.conditions import ConditionOptions
from allemande.bench.defaults import CONGESTION_CONTROL, SIZES
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.pattern_workload import check_pattern
from allemande.bench.request_text import RequestText
from allemande.bench.runner import Effort
from allemande.bench.timeline import TimelineRequest
from allemande.bench.workload import check_collective
from allemande.errors import BadInput
from allemande.matrix import MatrixSpec, parse_matrix
from allemande.patterns import PatternSpec, parse_pattern

RANGES = {
    "scale": (1e-4, 1000),
    "rounds": (1, 1000),
    "calls": (1, 10000),
    "seconds": (0, 3600),
    "warmup": (0, 1000),
    "seed": (0, 2**32),
}


@dataclass(frozen=True)
class Request:
    """One comparison. What depends on the cluster is checked when it is known (`compare`)."""

    cluster: str  # a cluster file, or the name of a ready-made cluster
    sizes: Sequence[int]  # bytes per pair; with a matrix the mean
    candidates: Sequence[Candidate]
    effort: Effort
    scale: float | None = None  # None: the largest up to 1 that the processors carry
    timers: str | None = None  # None: scaled below scale 1
    forwarding: str | None = None  # as Lab.boot
    output_frames: int | None = None  # as Lab.boot
    congestion_control: str = CONGESTION_CONTROL
    collective: str = "alltoall"
    matrix: MatrixSpec | None = None
    pattern: PatternSpec | None = None
    seed: int = 1
    ranks_per_host: str = "1"
    rank_order: str = "block"
    start: str | None = None  # "barrier" or "clock"; None: by the latency of the links
    conditions: ConditionOptions = field(default_factory=ConditionOptions)
    timeline: TimelineRequest | None = None  # recorded after the figures


def _check_ranges(text: RequestText) -> None:
    for name, (low, high) in RANGES.items():
        value = getattr(text, name)
        if value is not None and not low <= value <= high:
            raise BadInput(f"--{name} {value:.10g} is not valid; expected {low:g} to {high:.10g}")


def _read_effort(text: RequestText) -> Effort:
    if text.cold and text.warmup:
        raise BadInput("--cold has no --warmup: the timed call is the first of its job")
    return Effort(
        rounds=text.rounds,
        warmup=1 if text.warmup is None else text.warmup,
        calls=text.calls,
        calls_max=max(text.calls, Effort.calls_max),
        seconds=text.seconds,
        seconds_max=max(text.seconds, Effort.seconds_max),
    )


def _read_timeline(text: str, sizes: Sequence[int]) -> TimelineRequest:
    found = parse_sizes(text)
    if len(found) != 1 or found[0] not in sizes:
        raise BadInput(
            f"--timeline {text} is not valid; expected one of --sizes: "
            f"{', '.join(map(str, sizes))} bytes"
        )
    return TimelineRequest(found[0])


def read_request(text: RequestText) -> Request:
    """Raises BadInput where something is not valid, or does not go together."""
    _check_ranges(text)
    effort = _read_effort(text)
    check_collective(text.collective)
    collective = text.collective
    pattern = None if text.pattern is None else parse_pattern(text.pattern)
    if pattern is not None:
        if text.matrix is not None or text.timeline is not None:
            raise BadInput("--pattern says who sends when; leave out --matrix and --timeline")
        if collective == "alltoall":
            collective = "alltoallv"
        check_pattern(pattern, collective)
    candidates = parse_candidates(text.against or [], collective)
    matrix = None if text.matrix is None else parse_matrix(text.matrix)
    if matrix is not None and matrix.has_own_sizes and text.sizes is not None:
        raise BadInput("a matrix file says how many bytes; leave out --sizes")
    sizes = parse_sizes(SIZES if text.sizes is None else text.sizes)
    return Request(
        cluster=text.lab,
        sizes=sizes,
        candidates=candidates,
        effort=effort,
        scale=text.scale,
        timers=None if text.timers is None else str(text.timers),  # not the command's own type
        forwarding=text.forwarding,
        congestion_control=text.congestion_control,
        collective=collective,
        matrix=matrix,
        pattern=pattern,
        seed=text.seed,
        ranks_per_host=text.ranks_per_host,
        rank_order=text.rank_order,
        start=text.start,
        conditions=ConditionOptions(
            cold=text.cold,
            idle_ms=text.idle,
            background=text.background,
            jobs=text.jobs,
            job_layout=text.job_layout,
            slow=text.slow,
            half_rate=text.half_rate,
        ),
        timeline=None if text.timeline is None else _read_timeline(text.timeline, sizes),
    )
