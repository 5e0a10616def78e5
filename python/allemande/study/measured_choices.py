"""First choices against the lab: what a plan takes at sizes of which its profile has no sample,
beside the fastest of a library's algorithms and five of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from allemande.errors import Failed
from allemande.model.predict import Predictions
from allemande.model.profile import Sample
from allemande.model.samples import profile_of
from allemande.model.ways import COMBINING, our_candidate
from allemande.stock_algorithms import MPICH, MPICH_NAMES, OPENMPI, OPENMPI_NUMBERS
from allemande.study.accuracy import Choice, ChoiceTarget
from allemande.study.lab_samples import Bed
from allemande.study.simulated_accuracy import ROUNDS, SHUFFLES, Watcher
from allemande.study.sweep_store import SCALES
from allemande.topology import load_cluster

TARGET = ChoiceTarget(near_part=0.90, far=0.25)
CLUSTERS = ("tam-16x1", "tam-8x4", "oversubscribed-8x4")  # of `make bench-mpi`
STOCK = {OPENMPI: OPENMPI_NUMBERS, MPICH: MPICH_NAMES}
OURS = (*SHUFFLES, *ROUNDS, COMBINING)


@dataclass(frozen=True)
class SizeGroup:
    """Sizes of `make bench-mpi` that it measures at one scale."""

    scale: float
    known: tuple[int, ...]
    held_out: tuple[int, ...]


GROUPS = (
    SizeGroup(SCALES[0], (64, 200, 800), (100, 400)),
    SizeGroup(SCALES[1], (1_000, 4_096, 10_000), (2_048, 8_192)),
    SizeGroup(SCALES[2], (16_384, 65_536), (30_000, 50_000)),
)


def candidates_of(library: str) -> list[str]:
    """The library's own choice, its algorithms one by one, and ours."""
    stock = [f"{library}:{one}" for one in STOCK[library]]
    return [library, *stock, *(our_candidate(library, one) for one in OURS)]


def choices_of(
    where: str,
    predictions: Predictions,
    measured: Sequence[Sample],
    sizes: Sequence[int],
    candidates: Sequence[str],
) -> list[Choice]:
    """The plan's first of those that were measured, against the fastest, by medians.

    `candidates`: of which there should be a sample at each size.
    """
    found = []
    for size in sizes:
        times = {
            one.candidate: float(np.median(one.times_s)) for one in measured if one.bytes == size
        }
        if not times:
            raise Failed(f"{where}: nothing that counts was measured at {size} bytes")
        chosen = next(row.candidate for row in predictions.rows(size) if row.candidate in times)
        best = min(times, key=lambda name: times[name])
        left_out = tuple(name for name in candidates if name not in times)
        found.append(Choice(where, size, chosen, best, times[chosen] / times[best] - 1, left_out))
    return found


def measured_choices(bed: Bed, name: str, library: str, tell: Watcher) -> list[Choice]:
    """On one cluster, under one library."""
    cluster = load_cluster(name)
    hosts = [host.name for host in cluster.hosts]
    candidates = candidates_of(library)
    found = []
    for group in GROUPS:
        tell(f"measuring all ways of {library} on {name}, scale {group.scale:g}")
        sizes = sorted(chain(group.known, group.held_out))
        samples = bed.samples(cluster, len(hosts), ",".join(candidates), sizes, group.scale)
        known = [one for one in samples if one.bytes in group.known]
        profile = profile_of(cluster.scaled(group.scale), known, mpi=library)
        predictions = Predictions(profile, hosts)
        where = f"{name}, {library}"
        found += choices_of(where, predictions, samples, group.held_out, candidates)
    return found
