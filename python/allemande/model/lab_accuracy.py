"""Predictions against the lab: stock pairwise exchanges from samples of few hosts, by 003 Eq 5 and
by ours, and our own ways at sizes that were held out. What has been measured is kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from allemande.errors import Failed
from allemande.model.accuracy import Comparison, Summary, Target, summarise
from allemande.model.predict import Predictions, Row
from allemande.model.profile import Sample
from allemande.model.samples import bench_samples, profile_of
from allemande.model.signature_fit import PointToPoint, fit_signature, proposition_1
from allemande.model.simulated_accuracy import Watcher
from allemande.topology import Cluster, compress_hostlist, load_cluster, parse_cluster

STOCK = ("openmpi:pairwise", "mpich:pairwise")
OURS = "allemande+openmpi:algorithm=sync-shuffle"
SIZES = (10_000, 25_000, 50_000, 100_000)
KNOWN_SIZES = (10_000, 50_000, 100_000)  # of our own ways
PING_SIZES = (10_000, 100_000)
SCALE = 0.1
SAMPLE_CLUSTERS = ("oversubscribed-8x4",)
CLUSTERS = ("tam-8x4", "tam-8x4-u412", "oversubscribed-8x4")
HOSTS = (8, 16, 24, 32)
SEEN = (8, 16)
SATURATED = 0.1  # contention as among 8 hosts, by so much
EQ5_MEDIAN = 0.10


def first_hosts(cluster: Cluster, count: int) -> Cluster:
    """A cluster of the first so many hosts, with the switches they need."""
    hosts = [host.name for host in cluster.hosts[:count]]
    gone = {host.name for host in cluster.hosts[count:]}
    links = [link for link in cluster.links if link.from_ not in gone and link.to not in gone]
    while True:  # switches with one link lead nowhere
        ends = [end for link in links for end in (link.from_, link.to)]
        idle = {end for end in ends if ends.count(end) == 1 and end not in hosts}
        if not idle:
            break
        links = [link for link in links if not {link.from_, link.to} & idle]
    used = {end for link in links for end in (link.from_, link.to)}
    text = f'format = 1\nname = "{cluster.name}-first-{count}"\n'
    for switch in cluster.switches:
        if switch.name in used:
            text += (
                f'[[switch]]\nname = "{switch.name}"\narchitecture = "{switch.architecture}"\n'
                f'switching = "{switch.switching}"\nbuffer_packets = {switch.buffer_packets}\n'
            )
    text += f'[[host]]\nname = "{compress_hostlist(hosts)}"\n'
    for link in links:
        text += (
            f'[[link]]\nfrom = "{link.from_}"\nto = "{link.to}"\n'
            f"rate_up_mbit_s = {link.rate_up_mbit_s}\nrate_down_mbit_s = {link.rate_down_mbit_s}\n"
            f"queue_up_packets = {link.queue_up_packets}\n"
            f"queue_down_packets = {link.queue_down_packets}\n"
        )
    return parse_cluster(text, f"{cluster.name}, {count} hosts")


@dataclass(frozen=True)
class Bed:
    """Where measurements are kept, and how they are made."""

    folder: Path
    calls: int
    rounds: int

    def _measure(self, cluster: Cluster, hosts: int, against: str, sizes: tuple[int, ...]) -> str:
        """JSON of `allemande bench` among the first hosts; what is there is not measured again."""
        part = first_hosts(cluster, hosts)
        key = f"{cluster.name}-{hosts}-{against.replace(':', '_').replace('=', '_')}"
        path = self.folder / f"{key}-{'_'.join(str(size) for size in sizes)}.json"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self.folder / f"{part.name}.toml"
            file.write_text(part.to_toml(), encoding="utf-8")
            fresh = path.with_suffix(".new")
            command = (
                *(sys.executable, "-m", "allemande", "bench", "--lab", str(file)),
                *("--scale", str(SCALE), "--sizes", ",".join(map(str, sizes))),
                *("--against", against, "--rounds", str(self.rounds), "--calls", str(self.calls)),
                *("--json", str(fresh)),
            )
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not fresh.exists():
                raise Failed(f"allemande bench failed: {done.stderr[-400:]}")
            fresh.rename(path)
        return path.read_text(encoding="utf-8")

    def samples(
        self, cluster: Cluster, hosts: int, against: str, sizes: tuple[int, ...]
    ) -> list[Sample]:
        members = [host.name for host in cluster.hosts[:hosts]]
        text = self._measure(cluster, hosts, against, sizes)
        return bench_samples(text, f"{cluster.name}, {hosts} hosts", members)


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


def _own(bed: Bed, name: str) -> Iterator[Comparison]:
    cluster = load_cluster(name)
    samples = bed.samples(cluster, len(cluster.hosts), OURS, SIZES)
    known = [one for one in samples if one.bytes in KNOWN_SIZES]
    hosts = [host.name for host in cluster.hosts]
    predictions = Predictions(profile_of(cluster.scaled(SCALE), known), hosts)
    for one in samples:
        if one.bytes in KNOWN_SIZES:
            continue
        row = next(r for r in predictions.rows(one.bytes) if r.candidate == OURS)
        for seconds in one.times_s:
            yield Comparison(f"{name} {OURS}", seconds, row)


def lab(bed: Bed, everything: bool, tell: Watcher) -> tuple[list[Comparison], list[Summary]]:
    """Ours, and stock libraries by Eq 5 and by ours. `everything`: all clusters and libraries."""
    found: list[Comparison] = []
    summaries = []
    own: list[Comparison] = []
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
        tell(f"measuring {OURS} on {name}")
        own += _own(bed, name)
    summaries.append(summarise("lab: ours, from 10 KB", own, Target(0.02, 0.06, 0.15)))
    return [*found, *own], summaries
