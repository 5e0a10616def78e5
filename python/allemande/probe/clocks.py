"""What the hosts' clocks differ by, from echoes between rank 0 and each other rank.

Of several echoes the quickest counts: half way between its sending and its answer's coming the
other host read its clock. The error is at most half that echo's round trip. Between two looks
clocks are taken to drift apart evenly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allemande.probe.packet_flows import NANOS, SMALLEST_BYTES, Experiment, Flow
from allemande.probe.record import RECEIVED, RawLog

ECHOES = 10
TURN_S = 0.004  # for the echoes of one host
GIVE_UP_S = 0.002
AGAIN_AFTER_S = 8.0


def sync_experiment(ranks: int, time_scale: float) -> Experiment:
    """Echoes from rank 0 to each other rank, one rank after the other."""
    turn_s = TURN_S * min(time_scale, 4.0)
    flows = [
        Flow(0, rank, ECHOES, SMALLEST_BYTES, rank * turn_s, max(GIVE_UP_S, turn_s / 2), echo=True)
        for rank in range(1, ranks)
    ]
    return Experiment(flows, (ranks + 3) * turn_s)


def offsets_ns(logs: Sequence[RawLog], begins_ns: Sequence[int]) -> list[int | None]:
    """By how much each rank's clock is ahead of rank 0's; None where no echo came back.

    `begins_ns`: the experiment's beginning by each rank's own clock.
    """
    here = np.frombuffer(logs[0][1], RECEIVED)
    out: list[int | None] = [0]
    for rank in range(1, len(logs)):
        there = np.frombuffer(logs[rank][1], RECEIVED)
        read_at = {int(one["number"]): int(one["at"]) for one in there if one["flow"] == rank - 1}
        best: tuple[int, int] | None = None
        for one in here[here["flow"] == rank - 1]:
            number = int(one["number"])
            if number not in read_at:
                continue
            round_trip = int(one["at"] - one["sent"])
            middle = begins_ns[0] + (int(one["at"]) + int(one["sent"])) // 2
            offset = begins_ns[rank] + read_at[number] - middle
            if best is None or round_trip < best[0]:
                best = (round_trip, offset)
        out.append(None if best is None else best[1])
    return out


class Clocks:
    """The offsets of all ranks over time."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._looks: list[tuple[float, list[int]]] = []  # seconds of rank 0, offsets

    def note(self, at_ns: int, offsets: Sequence[int | None]) -> None:
        """What one look told; a rank that was not heard keeps its last offset."""
        last = self._looks[-1][1] if self._looks else [0] * self._ranks
        known = [was if now is None else now for was, now in zip(last, offsets, strict=True)]
        self._looks = [*self._looks[-1:], (at_ns / NANOS, known)]

    def due(self, at_ns: int) -> bool:
        """Whether it is time to look again."""
        return not self._looks or at_ns / NANOS - self._looks[-1][0] > AGAIN_AFTER_S

    def at(self, at_ns: int) -> list[int]:
        """The offsets at a time of rank 0's clock."""
        if not self._looks:
            return [0] * self._ranks
        last_s, last = self._looks[-1]
        if len(self._looks) == 1:
            return list(last)
        first_s, first = self._looks[0]
        since = (at_ns / NANOS - last_s) / max(last_s - first_s, 1e-9)
        return [
            round(late + (late - early) * since) for early, late in zip(first, last, strict=True)
        ]
