"""Which candidate to take at which size, and the window and grain to take ours with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from allemande import _core
from allemande.model.predict import Row, nothing_known, predict
from allemande.model.profile import Profile
from allemande.model.simulated_rows import simulate_best
from allemande.topology import Tuning, tune


@dataclass(frozen=True)
class Plan:
    """The ranking at each size, as Predictions.rows has it, and what tunes the transport."""

    hosts: int
    rows: tuple[Row, ...]  # by size
    tuning: Tuning | None  # None: the profile has no network
    # From how many hosts on links between switches are the limit, ranks in the profile's order;
    # None: never, or the profile has no network.
    saturates_from: int | None = None

    def best(self) -> dict[int, Row]:
        """The first of each size's ranking."""
        first: dict[int, Row] = {}
        for row in self.rows:
            first.setdefault(row.size, row)
        return first

    def is_certain(self, size: int) -> bool:
        """Whether the fastest's interval ends before that of any other way begins."""
        ranked = [row for row in self.rows if row.size == size]
        first = ranked[0]
        others = [row for row in ranked[1:] if not (row.way and row.way == first.way)]
        return all(first.high_s < row.low_s for row in others)

    def as_json(self) -> dict[str, Any]:
        tuning = self.tuning
        return {
            "hosts": self.hosts,
            "window_packets": None if tuning is None else tuning.window_packets,
            "single_window_packets": None if tuning is None else tuning.single_window_packets,
            "window_packets_min": None if tuning is None else tuning.window_packets_min,
            "grain_packets": None if tuning is None else tuning.grain_packets,
            "contended_port": (tuning.contended_port or None) if tuning else None,
            "saturates_from": self.saturates_from,
            "warnings": [] if tuning is None else list(tuning.warnings),
            "choices": [
                {"size": size, "candidate": row.candidate, "way": row.way, "time_s": row.time_s}
                for size, row in sorted(self.best().items())
            ],
            "ranking": [{**row.as_json(), "way": asdict(row)["way"]} for row in self.rows],
        }


def make_plan(profile: Profile, hosts: int, sizes: Sequence[int], simulate: bool = False) -> Plan:
    """For the first so many hosts of the profile. `simulate`: the best of each size, where that
    takes seconds (simulated_rows.py).

    Raises BadInput for more than it has, and where nothing is known of a size.
    """
    members = list(profile.first_hosts(hosts))
    tuning, onset = None, None
    if profile.cluster is not None:
        tuning = tune(profile.cluster, members)
        onset = _core.saturation_onset(profile.cluster, list(profile.network.hosts))
    rows = predict(profile, [hosts], sizes)
    if {row.size for row in rows} != set(sizes):
        raise nothing_known(profile, "the profile")
    if simulate:
        by_size = groupby(rows, key=lambda row: row.size)
        rows = [one for _, some in by_size for one in simulate_best(profile, members, list(some))]
    return Plan(hosts, tuple(rows), tuning, onset)
