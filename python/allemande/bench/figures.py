"""From the runs' records to the figures that are shown: one per candidate and size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from allemande.bench.candidates import Candidate
from allemande.bench.records import TIMED_RETRANSMITTED, TIMED_TIMEOUTS, SizeRecord, left_out

# Below this the processor, not the links, may be the limit (stock libraries spin: not for them).
CPU_IDLE_MIN = 0.2


@dataclass(frozen=True)
class Summary:
    """The median and the quartiles around it."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Distance between the quartiles, as a part of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def summarise(values: Sequence[float]) -> Summary:
    low, median, high = np.percentile(np.asarray(values, dtype=float), [25, 50, 75])
    return Summary(float(median), float(low), float(high))


def _percentile(values: Sequence[float], percent: float) -> float | None:
    """The least value that so many per cent do not exceed; None: there are none."""
    if not values:
        return None
    return float(np.percentile(np.asarray(values, dtype=float), percent, method="inverted_cdf"))


@dataclass(frozen=True)
class Figure:
    """One line of the result; `None` where a candidate gave nothing that counts."""

    candidate: str
    stock: bool
    library: str
    size: int
    median_s: float | None
    limit_s: float
    fraction_of_limit: float | None
    packets: int  # sent by all hosts, warm-up included; TCP segments for stock
    retransmitted: int
    wrong_bytes: int
    low_s: float | None = None  # quartiles
    high_s: float | None = None
    spread: float | None = None
    calls: int = 0
    void_calls: int = 0  # left out: their launch was void, three times, and another was valid
    rounds: int = 0
    ratio_to_best_stock: float | None = None  # best stock's median / this median: above 1 is faster
    frames: int = 0  # Ethernet frames sent by all hosts, acknowledgements included
    dropped: int = 0  # of these, lost on the way
    accelerated: bool = False  # by allemande; without it the calls went to the library
    cpu_idle: float | None = None
    void: bool = False
    void_reason: str | None = None
    collective: str = "alltoall"
    matrix: str | None = None  # None: MPI_Alltoall, the size to everybody
    ranks: int | None = None  # of a job
    ranks_per_host: int | str = 1  # "4,2,…": unequal, by host in file order
    rank_order: str = "block"
    seed: int = 1  # of the matrix
    timers: str = "real"  # of the lab
    p90_s: float | None = None  # of the timed calls, as the next ones; P50 is the median
    p99_s: float | None = None
    slowest_s: float | None = None
    times_s: list[float] = field(default_factory=list)  # of the timed calls, in order
    tcp_timeouts: int = 0  # of all hosts in the timed calls, whoever's connections these are
    tcp_retransmitted: int = 0  # segments, in the same
    cpu_s_per_call: float | None = None  # user and system time of all ranks' processes
    cold: bool = False
    idle_ms: float = 0.0
    slow: str | None = None
    half_rate: str | None = None
    background: str | None = None
    background_mbit_s: list[float] | None = None  # of each flow while calls were under way
    background_share: list[float] | None = None  # the same, of the fair share
    jobs: int = 1
    job_layout: str | None = None
    job_median_s: list[float] | None = None
    fair_share_s: float | None = None  # the limit when all jobs share the links
    together_fraction: float | None = None  # of what the links carry, by all jobs together
    pattern: str | None = None  # a call is then all of its steps
    step_s: list[float] | None = None  # of each step, the median over the calls
    delivered_bytes: int | None = None  # by one call: payload that reaches another rank
    delivered_gbit_s: float | None = None  # of all pairs of ranks, in a median call (001's metric)
    latency_s: float = 0.0  # of the longest route, by the latencies of the links
    bound_s: float | None = None  # limit_s and the ways of packets; None: of patterns
    fraction_of_bound: float | None = None
    path_loads: list[int] | None = None  # allemande's data packets by path number; one size alone
    start: str = "barrier"  # what the ranks of a call began by
    crossings: dict[str, float] | None = None  # blocks from part to part, by level (crossings.py)

    @property
    def resent(self) -> int:
        """By its own protocol: TCP in timed calls; allemande counts those of the warm-up, too."""
        return self.tcp_retransmitted if self.stock else self.retransmitted

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _packets_of(candidate: Candidate, record: SizeRecord) -> tuple[int, int]:
    """Packets and how many of them were sent again, as the candidate's own protocol counts them."""
    counters = record.counters
    if candidate.stock:
        again = counters.get("tcp_retransmitted", 0)
        return counters.get("tcp_segments", 0) + again, again
    return counters.get("allemande_packets", 0), counters.get("allemande_retransmitted", 0)


@dataclass(frozen=True)
class Shared:
    """What a figure is held against where the candidate was not alone on the links."""

    fair_share_s: float | None = None  # None: one job
    flow_shares_mbit_s: Sequence[float] = ()  # of each background flow


def _job_keys(used: Sequence[SizeRecord], shared: Shared) -> dict[str, Any]:
    """Jobs that all put the same on a link, in `fair_share_s` together, use so much of it."""
    if shared.fair_share_s is None:
        return {}
    keys: dict[str, Any] = {"fair_share_s": shared.fair_share_s}
    by_job: list[list[float]] = []
    for record in used:
        by_job += [[] for _ in range(len(record.job_seconds) - len(by_job))]
        for job, seconds in enumerate(record.job_seconds):
            by_job[job] += seconds
    if by_job and all(by_job):
        medians = [summarise(seconds).median for seconds in by_job]
        keys["job_median_s"] = medians
        keys["together_fraction"] = shared.fair_share_s * float(np.mean(1 / np.asarray(medians)))
    return keys


def _background_keys(used: Sequence[SizeRecord], shared: Shared) -> dict[str, Any]:
    launches = [pair for record in used for pair in record.background]
    if not launches or not shared.flow_shares_mbit_s:
        return {}
    seconds, rates = zip(*launches, strict=True)
    means = np.average(np.asarray(rates, dtype=float), axis=0, weights=seconds)
    shares = means / np.asarray(shared.flow_shares_mbit_s)
    return {"background_mbit_s": means.tolist(), "background_share": shares.tolist()}


def _step_medians(used: Sequence[SizeRecord]) -> list[float] | None:
    calls = [steps for record in used for steps in record.step_seconds]
    if not calls:
        return None
    medians: list[float] = np.median(np.asarray(calls, dtype=float), axis=0).tolist()
    return medians


def _path_loads(candidate: Candidate, used: Sequence[SizeRecord]) -> list[int] | None:
    together = SizeRecord(0)
    for record in used:
        together.add_path_loads(record.path_loads)
    return None if candidate.stock else together.path_loads or None


def make_figure(
    candidate: Candidate,
    size: int,
    limit_s: float,
    records: Iterable[SizeRecord],
    failure: str | None = None,
    labels: Mapping[str, Any] | None = None,
    shared: Shared | None = None,
    delivered_bytes: int | None = None,
    bound_s: float | None = None,
) -> Figure:
    """`records`: one per round. Void rounds are left out as long as any other is there."""
    every = [record for record in records if record.seconds]
    void = [record.why_void(not candidate.stock, candidate.with_trials) for record in every]
    valid = [record for record, reason in zip(every, void, strict=True) if reason is None]
    used = valid or every
    seconds = [value for record in used for value in record.seconds]
    summary = summarise(seconds) if seconds else None
    idle = sum(record.cpu_idle_s for record in used)
    total = sum(record.cpu_total_s for record in used)
    counts = [_packets_of(candidate, record) for record in used]
    frames = sum(record.counters.get("frames_sent", 0) for record in used)
    received = sum(record.counters.get("frames_received", 0) for record in used)
    timed = [record for record in used if record.process_s is not None]
    timed_calls = sum(len(record.seconds) for record in timed)
    process_s = sum(record.process_s or 0.0 for record in timed)
    reason = failure if summary is None else None
    if summary is not None and not valid:
        reason = void[-1]
    return Figure(
        candidate=candidate.name,
        stock=candidate.stock,
        library=candidate.library,
        size=size,
        median_s=summary.median if summary else None,
        limit_s=limit_s,
        fraction_of_limit=limit_s / summary.median if summary else None,
        packets=sum(packets for packets, _ in counts),
        retransmitted=sum(again for _, again in counts),
        wrong_bytes=sum(record.wrong_bytes for record in every),
        low_s=summary.low if summary else None,
        high_s=summary.high if summary else None,
        spread=summary.spread if summary else None,
        calls=len(seconds),
        void_calls=left_out(every, used),
        rounds=len(used),
        frames=frames,
        dropped=max(0, frames - received),
        accelerated=any(record.counters.get("allemande_exchanges", 0) > 0 for record in used),
        cpu_idle=idle / total if total > 0 else None,
        p90_s=_percentile(seconds, 90),
        p99_s=_percentile(seconds, 99),
        slowest_s=max(seconds, default=None),
        times_s=seconds,
        tcp_timeouts=sum(record.counters.get(TIMED_TIMEOUTS, 0) for record in used),
        tcp_retransmitted=sum(record.counters.get(TIMED_RETRANSMITTED, 0) for record in used),
        cpu_s_per_call=process_s / timed_calls if timed_calls else None,
        void=reason is not None,
        void_reason=reason,
        step_s=_step_medians(used),
        path_loads=_path_loads(candidate, used),
        delivered_gbit_s=(
            8e-9 * delivered_bytes / summary.median if summary and delivered_bytes else None
        ),
        delivered_bytes=delivered_bytes,
        bound_s=bound_s,
        fraction_of_bound=bound_s / summary.median if summary and bound_s is not None else None,
        **_job_keys(used, shared or Shared()),
        **_background_keys(used, shared or Shared()),
        **(labels or {}),
    )


def with_ratios(figures: Sequence[Figure]) -> list[Figure]:
    """Adds what each is against the fastest stock candidate of its size."""
    best: dict[int, float] = {}
    for figure in figures:
        if figure.stock and figure.median_s is not None and not figure.void:
            best[figure.size] = min(figure.median_s, best.get(figure.size, figure.median_s))
    return [
        replace(figure, ratio_to_best_stock=best[figure.size] / figure.median_s)
        if figure.median_s and figure.size in best
        else figure
        for figure in figures
    ]


def _busy_warning(figures: Iterable[Figure]) -> list[str]:
    """One line for all of ours that ran short of processor time."""
    busy = [
        (figure.cpu_idle, figure)
        for figure in figures
        if not figure.stock and figure.cpu_idle is not None and figure.cpu_idle < CPU_IDLE_MIN
    ]
    if not busy:
        return []
    idle, least = min(busy, key=lambda pair: pair[0])
    return [
        f"processors less than {CPU_IDLE_MIN:.0%} idle in {len(busy)} figures of allemande (least: "
        f"{idle:.0%}, {least.candidate}, {least.size} bytes): the links may not be the limit; "
        "end what else runs here, or use a smaller --scale"
    ]


def warnings(figures: Sequence[Figure]) -> list[str]:
    """What a reader must know before using the figures."""
    lines: list[str] = []
    for figure in figures:
        where = f"{figure.candidate}, {figure.size} bytes"
        if figure.wrong_bytes:
            lines.append(f"{where}: {figure.wrong_bytes} WRONG BYTES")
        if figure.void:
            lines.append(f"{where}: void: {figure.void_reason}")
        elif figure.void_calls:
            both = figure.calls + figure.void_calls
            lines.append(
                f"{where}: {figure.void_calls} of {both} calls are left out: the machine was too "
                "slow for them"
            )
    return [*lines, *_busy_warning(figures)]
