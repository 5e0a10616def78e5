"""Predictions against the lab: stock pairwise exchanges from samples of few hosts, by 003 Eq 5 and
by ours, and our own ways at sizes and numbers of hosts that were held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from allemande.bench.defaults import SCALE
from allemande.model.predict import Predictions, Row
from allemande.model.profile import Sample
from allemande.model.samples import profile_of
from allemande.model.signature_fit import PointToPoint, fit_signature, proposition_1
from allemande.model.ways import our_candidate
from allemande.stock_algorithms import OPENMPI
from allemande.study.accuracy import Comparison, Summary, Target, summarise
from allemande.study.lab_samples import Bed
from allemande.study.simulated_accuracy import ROUNDS, SHUFFLES, Watcher
from allemande.topology import Cluster, load_cluster

STOCK = ("openmpi:pairwise", "mpich:pairwise")
SIZES = (10_000, 25_000, 50_000, 100_000)
PING_SIZES = (10_000, 100_000)
SAMPLE_CLUSTERS = ("oversubscribed-8x4",)
CLUSTERS = ("tam-8x4", "tam-8x4-u412", "oversubscribed-8x4")
HOSTS = (8, 16, 24, 32)
SEEN = (8, 16)
SATURATED = 0.1  # contention as among 8 hosts, by so much
EQ5_MEDIAN = 0.10


def _point_to_point(bed: Bed, cluster: Cluster, candidate: str) -> PointToPoint:
    """alpha and beta from an exchange of two hosts, which is one message each way."""
    samples = bed.samples(cluster, 2, candidate, PING_SIZES)
    small, large = (float(np.median(one.times_s)) for one in samples)
    beta = (large - small) / (PING_SIZES[1] - PING_SIZES[0])
    return PointToPoint(max(0.0, small - beta * PING_SIZES[0]), beta)


@dataclass(frozen=True)
class StockResult:
    """One stock candidate on one cluster."""

    eq5: tuple[Comparison, ...]  # fitted at 16 hosts, predicting 24 and 32
    saturated: tuple[Comparison, ...]  # of these where the signature's assumption holds
    spread: float  # of the saturated times: half of them lie within this part of their median
    ours: tuple[Comparison, ...]  # from samples of 8 and 16


def predicted_stock(bed: Bed, name: str, candidate: str) -> StockResult:
    """Measures the candidate among few and many hosts, and predicts the many from the few."""
    cluster = load_cluster(name)
    scaled = cluster.scaled(SCALE)
    link = _point_to_point(bed, cluster, candidate)
    samples = {count: bed.samples(cluster, count, candidate, SIZES) for count in HOSTS}
    signature = fit_signature(candidate, samples[16], link)
    seen = profile_of(scaled, [one for count in SEEN for one in samples[count]])
    slower_at_8 = {one.bytes: _slower(link, one) for one in samples[SEEN[0]]}
    eq5, saturated, spreads, ours = [], [], [], []
    for count in (24, 32):
        predictions = Predictions(seen, [host.name for host in cluster.hosts[:count]])
        for one in samples[count]:
            real = float(np.median(one.times_s))
            what = f"{name} {candidate} {count} hosts"
            row = next(r for r in predictions.rows(one.bytes) if r.candidate == candidate)
            ours.append(Comparison(what, real, row))
            eq5.append(Comparison(what, real, _eq5_row(row, signature.seconds(count, one.bytes))))
            if abs(_slower(link, one) / slower_at_8[one.bytes] - 1) <= SATURATED:
                saturated.append(eq5[-1])
                low, high = np.percentile(one.times_s, [25, 75])
                spreads.append(float(high - low) / real)
    spread = float(np.median(spreads)) if spreads else 0.0
    return StockResult(tuple(eq5), tuple(saturated), spread, tuple(ours))


def _slower(link: PointToPoint, sample: Sample) -> float:
    """The time over that of an exchange without contention (003 Proposition 1)."""
    least = proposition_1(link, sample.ranks, sample.bytes)
    return float(np.median(sample.times_s)) / least


def _eq5_row(row: Row, seconds: float) -> Row:
    return replace(row, time_s=seconds, low_s=seconds, high_s=seconds)


@dataclass(frozen=True)
class OwnGroup:
    """Sizes of our own ways at one scale, and what is asked for."""

    what: str
    scale: float
    known: tuple[int, ...]  # bytes, sampled among SEEN_OF_OWN
    held_out: tuple[int, ...]  # bytes
    algorithms: tuple[str, ...]
    target: Target


SEEN_OF_OWN = (16, 32)  # hosts
PREDICTED_OF_OWN = 24  # at all sizes; the others at those held out
# Small blocks at scales at which links, not processors, take the time.
OWN_GROUPS = (
    OwnGroup(
        what="shuffles, from 10 KB",
        scale=SCALE,
        known=(10_000, 50_000, 100_000),
        held_out=(25_000,),
        algorithms=SHUFFLES,
        target=Target(0.02, 0.06, 0.15),
    ),
    OwnGroup(
        what="rounds, from 10 KB",
        scale=SCALE,
        known=(10_000, 50_000, 100_000),
        held_out=(25_000,),
        algorithms=ROUNDS,
        target=Target(0.05, 0.15, 0.15),
    ),
    OwnGroup(
        what="ours at 1 KB",
        scale=SCALE / 2,
        known=(500, 2_000),
        held_out=(1_000,),
        algorithms=SHUFFLES + ROUNDS,
        target=Target(0.10, 0.30),
    ),
    OwnGroup(
        what="ours below 1 KB",
        scale=SCALE / 10,
        known=(100, 700),
        held_out=(300,),
        algorithms=SHUFFLES + ROUNDS,
        target=Target(0.10, 0.30),
    ),
)


def predicted_own(bed: Bed, name: str, group: OwnGroup) -> Iterator[Comparison]:
    """Our ways at sizes and numbers of hosts of which there is no sample, call by call."""
    cluster = load_cluster(name)
    sizes = sorted((*group.known, *group.held_out))
    against = ",".join(our_candidate(OPENMPI, one) for one in group.algorithms)
    found = {
        hosts: bed.samples(cluster, hosts, against, sizes, group.scale)
        for hosts in (*SEEN_OF_OWN, PREDICTED_OF_OWN)
    }
    known = [one for hosts in SEEN_OF_OWN for one in found[hosts] if one.bytes in group.known]
    profile = profile_of(cluster.scaled(group.scale), known)
    for hosts, samples in found.items():
        predictions = Predictions(profile, [host.name for host in cluster.hosts[:hosts]])
        for one in samples:
            if hosts in SEEN_OF_OWN and one.bytes in group.known:
                continue
            row = next(r for r in predictions.rows(one.bytes) if r.candidate == one.candidate)
            what = f"{name} {one.candidate} {hosts} hosts"
            yield from (Comparison(what, seconds, row) for seconds in one.times_s)


def lab(bed: Bed, everything: bool, tell: Watcher) -> tuple[list[Comparison], list[Summary]]:
    """Ours, and stock libraries by Eq 5 and by ours. `everything`: all clusters and libraries."""
    found: list[Comparison] = []
    summaries = []
    for name in CLUSTERS if everything else SAMPLE_CLUSTERS:
        for candidate in STOCK if everything else STOCK[:1]:
            tell(f"measuring {candidate} on {name}")
            result = predicted_stock(bed, name, candidate)
            by_eq5 = summarise(f"{name}, {candidate}: 003 Eq 5 from 16", result.eq5, Target())
            if result.saturated:
                summaries.append(
                    summarise(
                        f"{name}, {candidate}: the same, where saturated",
                        result.saturated,
                        Target(max(EQ5_MEDIAN, result.spread)),
                    )
                )
            bound = Target(min(0.10, by_eq5.median), 0.30)
            summaries += [
                by_eq5,
                summarise(f"{name}, {candidate}: ours from 8 and 16", result.ours, bound),
            ]
            found += result.ours
        for group in OWN_GROUPS if everything else OWN_GROUPS[:1]:
            tell(f"measuring {group.what} on {name}")
            own = list(predicted_own(bed, name, group))
            summaries.append(summarise(f"{name}, lab: {group.what}", own, group.target))
            found += own
    return found, summaries
