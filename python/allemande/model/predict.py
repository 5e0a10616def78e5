"""What every candidate will take, out of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from allemande import _core
from allemande.errors import BadInput
from allemande.flow_limit import bound_s
from allemande.model.fits import refused_signatures, with_fits
from allemande.model.growth import doubt, grown
from allemande.model.profile import Profile, format_profile
from allemande.model.ways import OUR_PREFIX, OwnCandidate, check_members, library_of, own_candidates

COLUMNS = (
    *("candidate", "ranks", "size", "time_s", "low_s", "high_s"),
    *("limit_s", "latency_s", "bound_s", "basis"),
)


@dataclass(frozen=True)
class Row:
    """One candidate at one size: seconds of the slowest rank, and the 90 % interval."""

    candidate: str  # as `allemande bench` names it
    ranks: int
    size: int  # bytes per pair
    time_s: float
    low_s: float
    high_s: float
    limit_s: float | None  # None: the profile has no network
    latency_s: float | None  # of the longest route, by the latencies of its links alone
    bound_s: float | None  # limit_s and the least times before and after the busiest link
    basis: str  # measured, simulated, fitted, extrapolated
    way: str = ""  # of ours: as decision files name it

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        return {name: values[name] for name in COLUMNS}

    @property
    def bandwidth_mb_s(self) -> float:
        """Payload that each rank sends to others, per second, in 10^6 bytes."""
        return (self.ranks - 1) * self.size / self.time_s / 1e6


# Forecasts from the structure of a way alone are right in the middle, but one in twenty exchanges
# by other ways than the synchronous shuffle takes over 1.3 times as long (docs/predict.md).
# Two ways between sites, which only networks with sites have, are as sure as that one.
CAUTION = 0.12
# Where leaves are not known one exchange in ten takes 1.4 times its forecast (docs/predict.md).
UNSEEN_LEAVES = 1.4
SURE = ("sync-shuffle", "multi-site", "local-group")


def _cautious_s(row: Row) -> float:
    sure = row.basis != "extrapolated" or not row.way or any(one in row.way for one in SURE)
    return row.time_s * (1 if sure else 1 + CAUTION)


def ranked(rows: Iterable[Row]) -> list[Row]:
    """The fastest first; what is known less well has to be CAUTION faster."""
    return sorted(rows, key=_cautious_s)


class Predictions:
    """The candidates of a profile among the same hosts, one rank each.

    Fits are made here, once. `members`: names of the profile's hosts, in rank order.
    """

    def __init__(self, profile: Profile, members: Sequence[str]) -> None:
        check_members(profile, members)
        self.profile = with_fits(profile)
        self.members = tuple(members)
        self._in_doubt = bool(doubts(profile))
        checked = _core.parse_profile(format_profile(self.profile), "profile")
        self._predictor = _core.Predictor(checked, list(members))
        self.own: tuple[OwnCandidate, ...] = ()
        if profile.cluster is not None:
            self.own = own_candidates(profile.cluster, members, library_of(profile))
        known = {one.candidate for one in self.profile.samples}
        known |= {fit.candidate for fit in self.profile.fits}
        self.others = tuple(sorted(known - {one.candidate for one in self.own}))

    def limit_s(self, size: int) -> float | None:
        return self._predictor.limit_s(size)

    def bound_s(self, size: int) -> float | None:
        limit_s = self.limit_s(size)
        if limit_s is None or self.profile.cluster is None:
            return None
        return bound_s(self.profile.cluster, list(self.members), size, limit_s)

    def _row(self, candidate: str, size: int, found: _core.Prediction, way: str = "") -> Row:
        return Row(
            candidate=candidate,
            ranks=len(self.members),
            size=size,
            time_s=found.time_s,
            low_s=found.low_s,
            high_s=found.high_s,
            limit_s=self.limit_s(size),
            latency_s=self._predictor.latency_s(),
            bound_s=self.bound_s(size),
            basis=found.basis,
            way=way,
        )

    def _own_rows(self, size: int) -> list[Row]:
        """All ways of ours, each of those that combine blocks for itself."""
        rows = []
        for one in self.own:
            if not one.takes(size):
                continue
            found = self._predictor.predict(one.key, size, one.shape)
            assert found is not None  # a shape always gives one
            row = self._row(one.candidate, size, found, one.key)
            if row.basis == "extrapolated" and self._in_doubt:
                row = replace(row, high_s=row.high_s * UNSEEN_LEAVES)
            rows.append(row)
        return rows

    def _usual(self, size: int, own: Sequence[Row]) -> list[Row]:
        """allemande as it is without options: what it takes by itself."""
        if self.profile.cluster is None:
            return []
        candidate = OUR_PREFIX + library_of(self.profile)
        key = _core.usual_way(self.profile.cluster, list(self.members), size)
        found = self._predictor.predict(candidate, size)
        if found is not None and found.basis != "extrapolated":
            return [self._row(candidate, size, found, key)]
        same = [row for row in own if row.way == key]
        return [Row(**{**asdict(row), "candidate": candidate}) for row in same]

    def rows(self, size: int) -> list[Row]:
        """Every candidate once, the fastest first. Of the ways that combine blocks the best.

        A way of ours of which there is no sample goes behind the synchronous shuffle where it is to
        be less than CAUTION faster.
        """
        own = self._own_rows(size)
        best: dict[str, Row] = {}
        for row in [*own, *self._usual(size, own)]:
            if row.candidate not in best or row.time_s < best[row.candidate].time_s:
                best[row.candidate] = row
        for candidate in self.others:
            found = self._predictor.predict(candidate, size)
            if found is not None and candidate not in best:
                best[candidate] = self._row(candidate, size, found)
        return ranked(best.values())


def predict(profile: Profile, hosts: Sequence[int], sizes: Iterable[int]) -> list[Row]:
    """Rows for the first so many hosts of the profile at each size, the fastest first.

    For more hosts than the profile has, the network is continued as it is, and extrapolated.
    """
    rows = []
    wanted = list(sizes)
    measured = len(profile.network.hosts)
    for count in hosts:
        known = grown(profile, count) if count > measured else profile
        predictions = Predictions(known, known.first_hosts(count))
        for size in wanted:
            found = predictions.rows(size)
            if count > measured:
                found = [_less_certain(row, doubt(measured, count)) for row in found]
            rows += found
    return rows


def left_out(profile: Profile, rows: Sequence[Row], asked: int) -> dict[str, str]:
    """Candidates of which there are samples that say nothing of some of what was asked, and why.

    `asked`: numbers of hosts times sizes.
    """
    told = Counter(row.candidate for row in rows)
    refused = refused_signatures(profile)
    return {name: why for name, why in refused.items() if told[name] < asked}


def doubts(profile: Profile) -> list[str]:
    """What of the network is not known, so that times of ways without a sample may be longer."""
    few = len(profile.network.hosts) < 3  # what two hosts take does not hang on leaves
    if few or profile.cluster is None or not profile.leaves_unknown:
        return []
    return [
        "the profile does not know which hosts share a leaf: all count as if they hung on one "
        "switch, and ways without a sample may take longer where links between switches are slow "
        "or far"
    ]


def nothing_known(profile: Profile, source: str) -> BadInput:
    """The error where there is no row."""
    reasons = list(refused_signatures(profile).values())
    if not profile.samples and not profile.fits:
        return BadInput(f"{source} has neither a network nor samples: nothing can be predicted")
    reasons = reasons or ["its samples are of other hosts or sizes; expected some of these"]
    return BadInput(f"{source} has no network, and {'; '.join(reasons)}")


def _less_certain(row: Row, factor: float) -> Row:
    return replace(row, low_s=row.low_s / factor, high_s=row.high_s * factor, basis="extrapolated")
