"""What is fitted to the samples of a profile when it is read.

Our own ways: seconds per call, per round and per packet, and factors of what the structure of the
way asks of the network (src/model/structural.h). Few samples leave the factors near those that
hold in the simulator. Ways of MPI libraries: contention signatures, where alpha and beta are known
and the samples suffice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from allemande import _core
from allemande.errors import BadInput
from allemande.model.profile import STRUCTURAL, Fit, Profile, Sample
from allemande.model.signature_fit import PointToPoint, fit_signature
from allemande.model.ways import OUR_PREFIX, OwnCandidate, library_of, own_candidates, way_of
from allemande.topology import Cluster

# Per call, round, packet; times the travel of the last packets; times the links' work.
PRIOR = np.array([0.0, 0.0, 0.0, 1.2, 1.0])
PRIOR_WEIGHT = 0.05  # of one sample
SIGMA_LEAST = 0.012
STRUCTURAL_LEAST = 2  # samples
# Deviation of ways that are as certain as a shuffle with even steps. Samples of others count less,
# and deviate more, by so many times as their structure leaves open more (src/model/predictor.cc).
CERTAIN = 0.02


def _with_ways(profile: Profile) -> Profile:
    """Samples say which way they timed, where their candidate tells, or it and their size."""
    ways: dict[tuple[str, ...], tuple[OwnCandidate, ...]] = {}

    def way_at_size(one: Sample) -> str:
        if profile.cluster is None or not one.candidate.startswith(OUR_PREFIX):
            return ""
        if one.members not in ways:
            ways[one.members] = own_candidates(profile.cluster, one.members, library_of(profile))
        same = [
            way.key
            for way in ways[one.members]
            if way.candidate == one.candidate and way.takes(one.bytes)
        ]
        if len(same) > 1:  # grids of several shapes: the one that pays, else the first
            usual = _core.usual_way(profile.cluster, list(one.members), one.bytes)
            same = [usual] if usual in same else same
        return _family(same[0]) if same else ""

    samples = tuple(
        replace(one, way=one.way or way_of(one.candidate) or way_at_size(one))
        for one in profile.samples
    )
    return replace(profile, samples=samples)


def _family(key: str) -> str:
    return key.partition("@")[0]


def _ways_by_name(
    cluster: Cluster, members: Sequence[str], library: str
) -> dict[str, OwnCandidate]:
    """By family, and by the name alone, which stands for the shape taken without being told."""
    found: dict[str, OwnCandidate] = {}
    for way in own_candidates(cluster, members, library):
        found[_family(way.key)] = way
        found.setdefault(_family(way.key).partition(":")[0], way)
    return found


def _features(demand: _core.Demand) -> list[float]:
    return [1.0, demand.rounds, demand.packets, demand.turns_s, demand.work_s]


def _fit_structure(
    candidate: str,
    key: str,
    samples: Sequence[Sample],
    shapes: dict[tuple[str, ...], _core.ExchangeShape],
    cluster: Cluster,
) -> Fit:
    """Least squares of the relative errors, no coefficient below 0, drawn towards PRIOR.

    `sigma` of the result is that of ways as certain as CERTAIN.

    `shapes`: of each group of hosts that was timed.
    """
    from scipy import optimize, stats

    rows, times, weights = [], [], []
    for one in samples:
        shape = shapes[one.members]
        demand = _core.demand(cluster, list(one.members), shape, one.bytes)
        rows.append(_features(demand))
        times.append(float(np.median(one.times_s)))
        weights.append(min(1.0, CERTAIN / _core.expected(demand, shape)[1]))
    weight = np.asarray(weights)
    design = np.asarray(rows) / np.asarray(times)[:, None]
    # A row per coefficient, as strong as a small part of a sample of the usual kind.
    strength = np.diag(PRIOR_WEIGHT * design.mean(axis=0))
    matrix = np.vstack([design * weight[:, None], strength])
    target = np.concatenate([weight, strength @ PRIOR])
    coefficients, _ = optimize.nnls(matrix, target)
    logs = np.log(design @ coefficients) * weight
    free = int(np.count_nonzero(coefficients > 0))
    freedom = max(1, len(times) - min(free, len(times) - 1))
    sigma = float(np.sqrt(float(logs @ logs) / freedom))
    # Few samples know their own spread badly: Student's t instead of the normal distribution.
    sigma *= float(stats.t.ppf(0.95, freedom) / stats.norm.ppf(0.95))
    sizes, hosts = [one.bytes for one in samples], [one.ranks for one in samples]
    return Fit(
        candidate=candidate,
        way=key,
        kind=STRUCTURAL,
        coefficients=tuple(float(value) for value in coefficients),
        sigma=max(sigma, SIGMA_LEAST),
        hosts_least=min(hosts),
        hosts_most=max(hosts),
        bytes_least=min(sizes),
        bytes_most=max(sizes),
    )


def _structural_fits(profile: Profile) -> Iterable[Fit]:
    cluster = profile.cluster
    if cluster is None:
        return
    by_way: dict[str, list[Sample]] = defaultdict(list)
    for one in profile.samples:
        if one.way.startswith(_core.OVER_UDP):
            by_way[_family(one.way)].append(one)
    groups = {one.members for timed in by_way.values() for one in timed}
    library = library_of(profile)
    ways = {members: _ways_by_name(cluster, members, library) for members in groups}
    for key, timed in by_way.items():
        known = [one for one in timed if key in ways[one.members]]
        if len(known) < STRUCTURAL_LEAST:
            continue
        shapes = {one.members: ways[one.members][key].shape for one in known}
        candidate = ways[known[0].members][key].candidate
        yield _fit_structure(candidate, key, known, shapes, cluster)


def point_to_point(profile: Profile, carrier: str = "mpi") -> PointToPoint | None:
    """alpha and beta of messages between two leaves, else within one; None: not measured."""
    for level in ("across", "leaf"):
        found = {
            one.name: one.value
            for one in profile.parameters
            if one.level == level and one.carrier == carrier and one.name in ("alpha", "beta")
        }
        if len(found) == 2:
            return PointToPoint(found["alpha"], found["beta"])
    return None


def _library_samples(profile: Profile) -> dict[str, list[Sample]]:
    """By candidate, ours left out."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for one in profile.samples:
        if not one.candidate.startswith(OUR_PREFIX):
            found[one.candidate].append(one)
    return found


def _signatures(profile: Profile) -> Iterable[Fit]:
    link = point_to_point(profile)
    if link is None:
        return
    for candidate, timed in _library_samples(profile).items():
        try:
            fit = fit_signature(candidate, timed, link)
        except BadInput:  # samples alone serve this one
            continue
        yield fit.as_fit(candidate, way_of(candidate))


def refused_signatures(profile: Profile) -> dict[str, str]:
    """Candidates whose samples are too few or say too little for a signature, and what lacks."""
    link = point_to_point(profile)
    found = {}
    for candidate, timed in _library_samples(profile).items():
        if link is None:
            found[candidate] = (
                f"{candidate}: no contention signature can be fitted: the profile lacks alpha and "
                "beta of messages; expected what `allemande probe` measures under mpirun"
            )
            continue
        try:
            fit_signature(candidate, timed, link)
        except BadInput as error:
            found[candidate] = str(error)
    return found


def with_fits(profile: Profile) -> Profile:
    """The profile with all that can be fitted to its samples, in place of older fits."""
    named = _with_ways(profile)
    return replace(named, fits=(*_structural_fits(named), *_signatures(named)))
