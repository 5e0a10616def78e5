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

First the small packets go without the pressure: what they take then is not waiting. A host whose
processors are busy delays packets, too, a few of them at a time: where one look at a target does
not tell, the packets of several looks are judged together.

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
from allemande.probe.record import Record, Seconds

PRESSURE = 0.88  # of a host's link, from each host to the target
SMALL_SHARE = 0.06  # of a host's link, for the small packets
SMALL_EACH = 6  # from every host to every other
# Late: a packet that has waited for so many full frames of a host's link, or was lost.
LATE_FRAMES, ON_TIME_FRAMES = 3.0, 2.0
LOST_MANY, LOST_FEW = 0.3, 0.1
# The pressure lasts so long before the first small packet: a queue of some hundred packets fills.
FILL_FRAMES = 100
SETTLE_S = 0.01  # at the speed that the network stands for
TARGETS_PER_LEAF = 2
LOOKS = 3  # at each target, where the first does not tell

WAITS, FREE, UNCLEAR = 1, 0, -1
Matrix = npt.NDArray[np.int8]
# In full frames of the slowest link, by sender and receiver; NaN: lost.
Delays = dict[tuple[int, int], Seconds]


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


def _small_packets(bed: Bed, target: int, links: HostLinks, pressure: bool) -> Experiment:
    """Small packets between all but the target, while all send to it or nobody does."""
    ranks = len(bed.hosts)
    slowest = links.slowest_bit_s
    frame_s = frame_bits(bed, bed.datagram_bytes) / slowest
    small_s = frame_bits(bed, SMALLEST_BYTES) / slowest
    span_s = max(SMALL_EACH * (ranks - 1) * small_s / SMALL_SHARE, 2 * FILL_FRAMES * frame_s)
    begin_s = FILL_FRAMES * frame_s
    end_s = begin_s + span_s
    flows = []
    for host in range(ranks):
        if host == target or not pressure:
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


def _delays(bed: Bed, record: Record, links: HostLinks) -> Delays:
    """Of the small packets, from their host's link to the receiver."""
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    traces = record.traces()
    return {
        (trace.flow.sender, trace.flow.receiver): (trace.arrived_s - left) / frame_s
        for trace, left in zip(traces, departures(bed, traces, links), strict=True)
        if trace.flow.bytes == SMALLEST_BYTES and trace.sent_s.size
    }


def _usual_delay(delays: Delays) -> float:
    """A median, because the reading of one clock may be wrong by many frames."""
    every = np.concatenate(list(delays.values()))
    return 0.0 if np.isnan(every).all() else float(np.nanmedian(every))


def _who_waits(ranks: int, delays: Delays, usual: float) -> Matrix:
    """[sender, receiver]: WAITS, FREE or UNCLEAR. The diagonal and the target are FREE."""
    found = np.zeros((ranks, ranks), np.int8)
    for pair, delay in delays.items():
        lost = float(np.isnan(delay).mean())
        typical = float(np.nanmedian(delay)) - usual if lost < 1 else np.inf
        if typical >= LATE_FRAMES or lost >= LOST_MANY:
            found[pair] = WAITS
        elif typical <= ON_TIME_FRAMES and lost <= LOST_FEW:
            found[pair] = FREE
        else:
            found[pair] = UNCLEAR
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
    calm = _delays(bed, bed.run(_small_packets(bed, 0, links, False)), links)
    usual = _usual_delay(calm)
    experiments = 1

    def find_leaf(target: int, expected: list[int] | None = None) -> list[int] | None:
        nonlocal experiments
        seen: Delays = {}
        leaf = None
        for _ in range(LOOKS):
            experiments += 1
            tell(f"all to {bed.hosts[target]}")
            look = _delays(bed, bed.run(_small_packets(bed, target, links, True)), links)
            seen = {pair: np.append(seen.get(pair, []), delay) for pair, delay in look.items()}
            leaf = _leaf_of(_who_waits(ranks, seen, usual), target)
            if leaf is not None and (len(leaf) > 1 if expected is None else leaf == expected):
                break
        return leaf

    for target in range(ranks):
        if target in leaf_of:
            continue
        leaf = find_leaf(target)
        name = bed.hosts[target]
        if leaf is None:
            return Groups(
                None,
                f"with all hosts sending to {name}, no packets between others waited as those of "
                "different leaves do",
                experiments,
            )
        if len(leaf) == 1:
            if (_who_waits(ranks, calm, usual) != FREE).any():
                reason = (
                    "packets come late with no load on the network: the processors of hosts are "
                    "busy; try again when they are idle"
                )
            else:
                reason = (
                    f"with all hosts sending to {name} all packets waited: it is alone on its "
                    "leaf, or packets wait inside switches"
                )
            return Groups(None, reason, experiments)
        for witness in [host for host in leaf if host != target][-(TARGETS_PER_LEAF - 1) :]:
            if find_leaf(witness, leaf) != leaf:
                return Groups(
                    None,
                    f"{name} and {bed.hosts[witness]} do not tell the same of a leaf",
                    experiments,
                )
        if any(host in leaf_of for host in leaf):
            return Groups(None, f"the leaf of {name} meets another", experiments)
        for host in leaf:
            leaf_of[host] = leaf
    leaves = sorted({tuple(leaf) for leaf in leaf_of.values()})
    return Groups([list(leaf) for leaf in leaves], "", experiments)
