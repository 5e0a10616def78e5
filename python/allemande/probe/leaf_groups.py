"""Which hosts share a leaf switch, from who waits for whom.

All hosts send to one host, the target, nearly as fast as they can; meanwhile every host sends a few
small packets to every other. What the target's own port queues and drops concerns the target alone.
The small packets are late, or lost, where they pass another port that is overloaded: the uplink of
a leaf whose hosts together send more than it carries, or the port towards the target's leaf. No
packet between two hosts of one leaf passes either. So, where some packets wait,

- hosts whose packets to others never wait are on the target's leaf: those of other leaves wait at
  their own uplink, or at the port towards the target's leaf;
- this is believed where two hosts of a leaf, made the target in turn, tell the same, and the leaves
  are apart from each other.

Where packets also wait inside a switch, because inputs block each other or ports share a buffer,
nobody is free of waiting, and each host seems to be alone.

Everything else is undetermined: a network that is never overloaded has no leaves to be seen, and a
wrong answer would be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allemande.probe.bed import Bed, frame_bits
from allemande.probe.packet_flows import SMALLEST_BYTES, Experiment, Flow
from allemande.probe.queueing import HostLinks, departures
from allemande.probe.record import Record

PRESSURE = 0.88  # of a host's link, from each host to the target
SMALL_SHARE = 0.06  # of a host's link, for the small packets
SMALL_EACH = 6  # from every host to every other
# Late: a packet that has waited for so many full frames of a host's link, or was lost.
LATE_FRAMES, ON_TIME_FRAMES = 3.0, 2.0
LOST_MANY = 0.3
# The pressure lasts so long before the first small packet: a queue of some hundred packets fills.
FILL_FRAMES = 100
SETTLE_S = 0.01  # at the speed that the network stands for
TARGETS_PER_LEAF = 2

WAITS, FREE, UNCLEAR = 1, 0, -1
Matrix = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Groups:
    """Leaves as lists of ranks, or none with the reason why they are undetermined."""

    leaves: list[list[int]] | None
    reason: str
    experiments: int

    @property
    def determined(self) -> bool:
        """Whether the leaves are known."""
        return self.leaves is not None


def _pressure(bed: Bed, target: int, links: HostLinks) -> Experiment:
    """All to the target, and the small packets beside it."""
    ranks = len(bed.hosts)
    slowest = links.slowest_bit_s
    frame_s = frame_bits(bed, bed.datagram_bytes) / slowest
    small_s = frame_bits(bed, SMALLEST_BYTES) / slowest
    span_s = max(SMALL_EACH * (ranks - 1) * small_s / SMALL_SHARE, 2 * FILL_FRAMES * frame_s)
    begin_s = FILL_FRAMES * frame_s
    end_s = begin_s + span_s
    flows = []
    for host in range(ranks):
        if host == target:
            continue
        interval_s = frame_bits(bed, bed.datagram_bytes) / links.bit_s[host] / PRESSURE
        # Not all in the same instant.
        start_s = interval_s * host / ranks
        flows.append(
            Flow(host, target, int(end_s / interval_s), bed.datagram_bytes, start_s, interval_s)
        )
    each_s = span_s / SMALL_EACH
    for host in range(ranks):
        others = [(host + k) % ranks for k in range(1, ranks)]
        for turn, other in enumerate(others):
            if other == target:
                continue
            start_s = begin_s + each_s * turn / len(others)
            flows.append(Flow(host, other, SMALL_EACH, SMALLEST_BYTES, start_s, each_s))
    return Experiment(flows, end_s + SETTLE_S * bed.time_scale + span_s)


def _who_waits(bed: Bed, record: Record, links: HostLinks) -> Matrix:
    """[sender, receiver]: WAITS, FREE or UNCLEAR. The diagonal and the target are FREE."""
    ranks = len(bed.hosts)
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    traces = record.traces()
    left = departures(bed, traces, links)
    found = np.zeros((ranks, ranks), np.int8)
    small = [i for i, t in enumerate(traces) if t.flow.bytes == SMALLEST_BYTES]
    delays = {i: (traces[i].arrived_s - left[i]) / frame_s for i in small}
    # What the clocks of two hosts differ by is small, and the same for all packets.
    floor = min((float(np.nanmin(d)) for d in delays.values() if not np.isnan(d).all()), default=0)
    for i in small:
        trace, late = traces[i], delays[i] - floor
        at = (trace.flow.sender, trace.flow.receiver)
        typical = float(np.median(late[~trace.lost])) if not trace.lost.all() else np.inf
        if typical >= LATE_FRAMES or trace.loss >= LOST_MANY:
            found[at] = WAITS
        elif typical <= ON_TIME_FRAMES and trace.loss == 0:
            found[at] = FREE
        else:
            found[at] = UNCLEAR
    return found


def _leaf_of(waits: Matrix, target: int) -> list[int] | None:
    """The target's leaf, or None where this experiment does not tell."""
    ranks = len(waits)
    others = [host for host in range(ranks) if host != target]
    leaf = [target]
    for host in others:
        row = [waits[host, other] for other in others if other != host]
        late, clear = row.count(WAITS), row.count(FREE)
        if late == 0 and clear >= len(row) - 1:
            leaf.append(host)
    leaf.sort()
    outside = [host for host in others if host not in leaf]
    if not outside:
        return None
    # Whoever is outside waits for everybody inside, and nobody inside waits for another.
    for member in leaf:
        if member == target:
            continue
        into = [waits[host, member] for host in outside]
        among = [waits[host, member] for host in leaf if host not in (target, member)]
        if into.count(FREE) > 0 or among.count(WAITS) > 0:
            return None
    return leaf


def find_leaf_groups(
    bed: Bed, links: HostLinks, tell: Callable[[str], None] = lambda _: None
) -> Groups:
    """`links`: what each rank's link takes in, all above 0."""
    ranks = len(bed.hosts)
    if ranks < 3:
        return Groups(None, "leaves of fewer than three hosts cannot be told apart", 0)
    leaf_of: dict[int, list[int]] = {}
    experiments = 0

    def look(target: int) -> list[int] | None:
        nonlocal experiments
        experiments += 1
        tell(f"all to {bed.hosts[target]}")
        return _leaf_of(_who_waits(bed, bed.run(_pressure(bed, target, links)), links), target)

    for target in range(ranks):
        if target in leaf_of:
            continue
        leaf = look(target) or look(target)
        if leaf is not None and len(leaf) == 1:
            return Groups(
                None,
                f"with all hosts sending to {bed.hosts[target]} all packets waited: it is alone on "
                "its leaf, or packets wait inside switches",
                experiments,
            )
        if leaf is None:
            return Groups(
                None,
                f"with all hosts sending to {bed.hosts[target]}, no packets between others waited "
                "as those of different leaves do",
                experiments,
            )
        for witness in [host for host in leaf if host != target][-(TARGETS_PER_LEAF - 1) :]:
            seen = look(witness)
            if seen != leaf:
                seen = look(witness)
            if seen != leaf:
                return Groups(
                    None,
                    f"{bed.hosts[target]} and {bed.hosts[witness]} do not tell the same of a leaf",
                    experiments,
                )
        if any(host in leaf_of for host in leaf):
            return Groups(None, f"the leaf of {bed.hosts[target]} meets another", experiments)
        for host in leaf:
            leaf_of[host] = leaf
    leaves = sorted({tuple(leaf) for leaf in leaf_of.values()})
    return Groups([list(leaf) for leaf in leaves], "", experiments)
