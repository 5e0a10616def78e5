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

First the small packets go without the pressure: what they take then is not waiting, and by what
they take there and back the clocks of the hosts are compared, because one clock that was read wrong
makes all packets to a host late. Hosts whose processors are busy delay packets, too, a few of them
at a time: a look in which that happens without any pressure is not counted, and where one look at a
target does not tell, the packets of several looks are judged together.

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
CALM_EACH = 4  # the same, before the pressure
# On time: a packet that has waited for no more full frames of a host's link than these.
ON_TIME_FRAMES = 2.0
# The least part of the packets between two hosts that is on time where they wait nowhere, and the
# largest part where they wait.
FREE_SHARE, WAITS_SHARE = 0.6, 0.35
# A look at calm hosts: of the packets before the pressure so many were on time.
CALM_SHARE = 0.6
# The pressure lasts so long before the first small packet: a queue of some hundred packets fills.
FILL_FRAMES = 100
SETTLE_S = 0.01  # at the speed that the network stands for
TARGETS_PER_LEAF = 2
LOOKS = 6  # at each target, where the first does not tell

WAITS, FREE, UNCLEAR = 1, 0, -1
Matrix = npt.NDArray[np.int8]
# Whether packets were on time, by sender and receiver: how many, and of how many.
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Leaves as lists of ranks, or none with the reason why they are undetermined."""

    leaves: list[list[int]] | None
    reason: str
    experiments: int


@dataclass(frozen=True)
class _Times:
    """The times of a look: small packets go until `end_s`, one from each host to each other
    in `each_s`; the pressure begins at `pressure_s`, and counts from `full_s` on."""

    each_s: float
    pressure_s: float
    full_s: float
    end_s: float


def _times(bed: Bed, links: HostLinks) -> _Times:
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    small_s = frame_bits(bed, SMALLEST_BYTES) / links.slowest_bit_s
    span_s = max(
        SMALL_EACH * (len(bed.hosts) - 1) * small_s / SMALL_SHARE, 2 * FILL_FRAMES * frame_s
    )
    each_s = span_s / SMALL_EACH
    pressure_s = CALM_EACH * each_s
    full_s = pressure_s + FILL_FRAMES * frame_s
    return _Times(each_s, pressure_s, full_s, full_s + span_s)


def _small_packets(bed: Bed, target: int, links: HostLinks) -> Experiment:
    """Small packets between all but the target, to which all begin to send meanwhile."""
    ranks = len(bed.hosts)
    times = _times(bed, links)
    flows = []
    for host in range(ranks):
        if host == target:
            continue
        interval_s = frame_bits(bed, bed.datagram_bytes) / links.bit_s[host] / PRESSURE
        # Not all in the same instant.
        start_s = times.pressure_s + interval_s * host / ranks
        packets = int((times.end_s - times.pressure_s) / interval_s)
        flows.append(Flow(host, target, packets, bed.datagram_bytes, start_s, interval_s))
    for host in range(ranks):
        others = [(host + k) % ranks for k in range(1, ranks)]
        for turn, other in enumerate(others):
            if other == target:
                continue
            start_s = times.each_s * turn / len(others)
            packets = int((times.end_s - start_s) / times.each_s)
            flows.append(
                Flow(host, other, packets, SMALLEST_BYTES, start_s, times.each_s, stamped=True)
            )
    return Experiment(flows, times.end_s + SETTLE_S * bed.time_scale + SMALL_EACH * times.each_s)


def _clocks_s(calm: Seconds) -> Seconds:
    """By how much each host's clock is ahead of the others', from what packets take there and back.

    A clock is compared with all others, of which most are right. 0 for a host with no packets.
    """
    apart = (calm - calm.T) / 2
    known = [column[~np.isnan(column)] for column in apart.T]
    return np.array([np.median(column) if column.size else 0.0 for column in known])


@dataclass(frozen=True)
class _Look:
    """How the small packets of one experiment fared; [sender, receiver]."""

    on_time: Counts
    sent: Counts
    calm: bool  # before the pressure they were on time


def _look(bed: Bed, record: Record, links: HostLinks) -> _Look:
    ranks = len(bed.hosts)
    frame_s = frame_bits(bed, bed.datagram_bytes) / links.slowest_bit_s
    times = _times(bed, links)
    before: dict[tuple[int, int], Seconds] = {}
    under: dict[tuple[int, int], Seconds] = {}
    traces = record.traces()
    for trace, left in zip(traces, departures(bed, traces, links), strict=True):
        if trace.flow.bytes != SMALLEST_BYTES:
            continue
        pair = (trace.flow.sender, trace.flow.receiver)
        delay = trace.arrived_s - left
        before[pair] = delay[trace.sent_s < times.pressure_s]
        under[pair] = delay[trace.sent_s >= times.full_s]
    quickest = np.full((ranks, ranks), np.nan)  # pauses only add
    for pair, delay in before.items():
        if delay.size:
            quickest[pair] = np.fmin.reduce(delay)
    ahead = _clocks_s(quickest)
    clocks = ahead[np.newaxis, :] - ahead[:, np.newaxis]
    usual = float(np.nanmedian(quickest - clocks)) if not np.isnan(quickest).all() else 0.0
    latest = clocks + usual + ON_TIME_FRAMES * frame_s
    on_time = np.zeros((ranks, ranks), np.int64)
    sent = np.zeros((ranks, ranks), np.int64)
    for pair, delay in under.items():
        on_time[pair] = np.count_nonzero(delay <= latest[pair])
        sent[pair] = delay.size
    calm = sum(int(np.count_nonzero(delay <= latest[pair])) for pair, delay in before.items())
    return _Look(on_time, sent, calm >= CALM_SHARE * sum(one.size for one in before.values()))


def _who_waits(on_time: Counts, sent: Counts) -> Matrix:
    """[sender, receiver]: WAITS, FREE or UNCLEAR. The diagonal and the target are FREE."""
    share = on_time / np.maximum(sent, 1)
    found = np.full(sent.shape, UNCLEAR, np.int8)
    found[share >= FREE_SHARE] = FREE
    found[share <= WAITS_SHARE] = WAITS
    found[sent == 0] = FREE
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
    experiments = disturbed = 0

    def find_leaf(target: int, expected: list[int] | None = None) -> list[int] | None:
        """What several looks tell together; of those that were disturbed nothing is believed."""
        nonlocal experiments, disturbed
        on_time = np.zeros((ranks, ranks), np.int64)
        sent = np.zeros((ranks, ranks), np.int64)
        leaf = None
        for _ in range(LOOKS):
            experiments += 1
            tell(f"all to {bed.hosts[target]}")
            look = _look(bed, bed.run(_small_packets(bed, target, links)), links)
            if not look.calm:
                disturbed += 1
                continue
            on_time += look.on_time
            sent += look.sent
            waits = _who_waits(on_time, sent)
            leaf = _leaf_of(waits, target)
            if (waits == FREE).all() and sent.max() > SMALL_EACH:
                break
            if leaf is None or not (len(leaf) > 1 if expected is None else leaf == expected):
                continue
            if (waits[leaf] != UNCLEAR).all() and (waits[:, leaf] != UNCLEAR).all():
                break
        return leaf

    for target in range(ranks):
        if target in leaf_of:
            continue
        leaf = find_leaf(target)
        name = bed.hosts[target]
        if leaf is None and disturbed >= LOOKS:
            return Groups(
                None,
                "packets come late with no load on the network: the processors of hosts are busy; "
                "try again when they are idle",
                experiments,
            )
        if leaf is None:
            return Groups(
                None,
                f"with all hosts sending to {name}, no packets between others waited as those of "
                "different leaves do",
                experiments,
            )
        if len(leaf) == 1:
            return Groups(
                None,
                f"with all hosts sending to {name} all packets waited: it is alone on its leaf, or "
                "packets wait inside switches",
                experiments,
            )
        others = [host for host in leaf if host != target]
        for witness in others[-(TARGETS_PER_LEAF - 1) :]:
            told = find_leaf(witness, leaf)
            # Where one of the two was disturbed the first is asked again.
            if told != leaf and (told is None or find_leaf(target, told) != told):
                return Groups(
                    None,
                    f"{name} and {bed.hosts[witness]} do not tell the same of a leaf",
                    experiments,
                )
            leaf = told
        if any(host in leaf_of for host in leaf):
            return Groups(None, f"the leaf of {name} meets another", experiments)
        for host in leaf:
            leaf_of[host] = leaf
    leaves = sorted({tuple(leaf) for leaf in leaf_of.values()})
    return Groups([list(leaf) for leaf in leaves], "", experiments)
