"""What the hosts' clocks differ by, from small packets between rank 0 and each other rank.

Of several packets each way the quickest counts, from when it left its host to when it came, both
noted by kernels: half the difference of the two ways is by how much one clock is ahead, and the
error is at most half their sum. The packets are spread over the whole look, so that a processor
that pauses does not delay all of them. The very first look goes by echoes, which need no clocks
that agree; packets that go by the clock would miss each other.

A reading counts until a better one comes. It gets worse with time, because clocks drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allemande.probe.packet_flows import NANOS, SMALLEST_BYTES, Experiment, Flow
from allemande.probe.record import RECEIVED, SENT, RawLog

ECHOES = 10
PACKETS = 10  # each way
TURN_S = 0.004  # for each host
GIVE_UP_S = 0.002
AGAIN_AFTER_S = 8.0
LOOKS = 3  # in turn, where some clock was read badly
DRIFT = 5e-5  # of clocks, beyond what was seen of them
ALIKE_NS = 50_000  # errors that differ by less are the same
WAIT_S = 0.01  # for the last packets


@dataclass(frozen=True)
class Reading:
    """By how much a clock is ahead of rank 0's, and how wrong that may be; in ns."""

    ahead_ns: int
    error_ns: int


def _scaled_turn_s(time_scale: float) -> float:
    return TURN_S * min(time_scale, 4.0)


def echo_experiment(ranks: int, time_scale: float) -> Experiment:
    """Echoes from rank 0 to each other rank, one rank after the other."""
    turn_s = _scaled_turn_s(time_scale)
    flows = [
        Flow(0, rank, ECHOES, SMALLEST_BYTES, rank * turn_s, max(GIVE_UP_S, turn_s / 2), echo=True)
        for rank in range(1, ranks)
    ]
    return Experiment(flows, (ranks + 3) * turn_s)


def two_way_experiment(ranks: int, time_scale: float) -> Experiment:
    """Packets from rank 0 to each other rank and back, all of them in turn."""
    turn_s = _scaled_turn_s(time_scale)
    round_s = ranks * turn_s / PACKETS
    flows = []
    for rank in range(1, ranks):
        start_s = round_s * rank / ranks
        flows.append(Flow(0, rank, PACKETS, SMALLEST_BYTES, start_s, round_s, stamped=True))
        flows.append(Flow(rank, 0, PACKETS, SMALLEST_BYTES, start_s, round_s, stamped=True))
    return Experiment(flows, ranks * turn_s + WAIT_S * time_scale)


def _quickest_ns(there: RawLog, here: RawLog, flow: int) -> int | None:
    """From `there` to `here`, by the clocks of both."""
    sent = np.frombuffer(there[0], SENT)
    sent = sent[sent["flow"] == flow]
    came = np.frombuffer(here[1], RECEIVED)
    came = came[(came["flow"] == flow) & (came["answer"] == 0) & (came["number"] < sent.size)]
    if came.size == 0:
        return None
    left = np.where(sent["left"] < 0, sent["at"], sent["left"])
    return int((came["at"] - left[came["number"]]).min())


def two_way_readings(logs: Sequence[RawLog], begins_ns: Sequence[int]) -> list[Reading | None]:
    """Each rank's clock; None where no packet came. `logs` are those of `two_way_experiment`.

    `begins_ns`: the experiment's beginning by each rank's own clock.
    """
    out: list[Reading | None] = [Reading(0, 0)]
    for rank in range(1, len(logs)):
        there = _quickest_ns(logs[0], logs[rank], 2 * rank - 2)
        back = _quickest_ns(logs[rank], logs[0], 2 * rank - 1)
        if there is None or back is None:
            out.append(None)
            continue
        begins = begins_ns[rank] - begins_ns[0]
        out.append(Reading(begins + (there - back) // 2, max(0, there + back) // 2))
    return out


def echo_readings(logs: Sequence[RawLog], begins_ns: Sequence[int]) -> list[Reading | None]:
    """The same, of `echo_experiment`: half way of the quickest echo the other clock was read."""
    here = np.frombuffer(logs[0][1], RECEIVED)
    out: list[Reading | None] = [Reading(0, 0)]
    for rank in range(1, len(logs)):
        there = np.frombuffer(logs[rank][1], RECEIVED)
        read_at = {int(one["number"]): int(one["at"]) for one in there if one["flow"] == rank - 1}
        best: Reading | None = None
        for one in here[here["flow"] == rank - 1]:
            number = int(one["number"])
            if number not in read_at:
                continue
            error = int(one["at"] - one["sent"]) // 2
            middle = begins_ns[0] + (int(one["at"]) + int(one["sent"])) // 2
            if best is None or error < best.error_ns:
                best = Reading(begins_ns[rank] + read_at[number] - middle, error)
        out.append(best)
    return out


class _Clock:
    """One rank's: the last two readings that counted."""

    def __init__(self) -> None:
        self._readings: list[tuple[int, Reading]] = []  # ns of rank 0's clock

    def at(self, at_ns: int) -> Reading:
        """What the clock is taken to be ahead by, and how wrong that may be."""
        if not self._readings:
            return Reading(0, int(NANOS))
        last_ns, last = self._readings[-1]
        since = at_ns - last_ns
        ahead = float(last.ahead_ns)
        if len(self._readings) > 1:
            first_ns, first = self._readings[0]
            moved = last.ahead_ns - first.ahead_ns
            # Less than the readings may be wrong by is no drift.
            if abs(moved) > last.error_ns + first.error_ns:
                ahead += moved * since / (last_ns - first_ns)
        return Reading(round(ahead), last.error_ns + round(abs(since) * DRIFT))

    def note(self, at_ns: int, reading: Reading | None) -> bool:
        """Counts it where it is better than what is known; returns whether it is about as good."""
        if reading is None:
            return False
        known = self.at(at_ns).error_ns
        if reading.error_ns > known:
            return reading.error_ns <= 2 * known + ALIKE_NS
        soon_ns = AGAIN_AFTER_S * NANOS / 2
        # A better one of the same look takes the place of that before.
        kept = [one for one in self._readings[-2:] if at_ns - one[0] > soon_ns]
        self._readings = [*kept[-1:], (at_ns, reading)]
        return True


class Clocks:
    """The offsets of all ranks over time."""

    def __init__(self, ranks: int) -> None:
        self._clocks = [_Clock() for _ in range(ranks)]
        self._looked_ns: int | None = None

    @property
    def known(self) -> bool:
        """Whether there was a look."""
        return self._looked_ns is not None

    def note(self, at_ns: int, readings: Sequence[Reading | None]) -> bool:
        """What one look told, at a time of rank 0's clock; False: of some rank nothing good."""
        self._looked_ns = at_ns
        pairs = zip(self._clocks, readings, strict=True)
        good = [clock.note(at_ns, one) for clock, one in pairs]
        return all(good)

    def due(self, at_ns: int) -> bool:
        """Whether it is time to look again."""
        return self._looked_ns is None or at_ns - self._looked_ns > AGAIN_AFTER_S * NANOS

    def at(self, at_ns: int) -> list[int]:
        """The offsets in ns at a time of rank 0's clock; 0 of a rank that was never heard."""
        return [clock.at(at_ns).ahead_ns for clock in self._clocks]
