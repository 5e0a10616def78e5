"""The links between a leaf and the core, where leaves are known.

Up: all hosts of the leaf send to others, each to another one, spread over all other leaves. Down:
hosts of the other leaves send to all of this one, from each leaf no more than its own uplink
carries. What the hosts of a leaf cannot fill is a lower bound, and its queue is never seen.

A switch that buffers at its inputs holds at each link what comes in by it: a leaf what comes from
the core, the core what comes from a leaf. For the first, hosts elsewhere send to one host of the
leaf more than its port carries and less than the links between, and hosts of the leaf send to it
as well, so that few of the packets that the port itself has are of the input in question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from allemande.model.profile import MEASURED, NOT_TRIED
from allemande.probe.bed import Bed
from allemande.probe.estimate import Estimate
from allemande.probe.overload import PortFinding, Stream, confirmed, overload
from allemande.probe.queueing import HostLinks

SHARE = 0.9
# The part of an uplink's rate that is used, so that packets wait at one port only.
BELOW = 0.93
# The part of their rate up to which the hosts of a leaf receive without packets at their ports.
HOSTS_TAKE = 0.95
# The same at a leaf that buffers at its inputs, where packets that wait for one host are in the way
# of those for others; unless the link carries as much the other way, where nothing is in the way.
HOSTS_TAKE_BEHIND_INPUT = 0.65
RATE_ALIKE = 0.02
# Of a full frame, and of what full frames carry: as many packets.
SHORT = 0.5
# An input is filled by so many hosts, with so much of a host's port or more, beside so many hosts
# of the leaf; with none of these more is needed.
FROM_ELSEWHERE, BESIDE = 2, 4
LOAD_MIN, LOAD_MIN_ALONE = 0.6, 1.15
BESIDE_SHARE = 0.6


def _interleaved(leaves: Sequence[Sequence[int]]) -> list[int]:
    """One of each leaf, in turn."""
    longest = max((len(leaf) for leaf in leaves), default=0)
    return [leaf[k] for k in range(longest) for leaf in leaves if k < len(leaf)]


def measure_up(
    bed: Bed,
    links: HostLinks,
    leaves: Sequence[Sequence[int]],
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """From each leaf to the core."""

    def measure(numbers: Sequence[int]) -> list[PortFinding]:
        findings = []
        for number in numbers:
            leaf = leaves[number]
            others = _interleaved([one for k, one in enumerate(leaves) if k != number])
            share = SHARE * min(1.0, len(others) / len(leaf))
            streams = [Stream(host, others[k % len(others)], share) for k, host in enumerate(leaf)]
            tell(f"uplink of leaf {number}")
            findings += overload(bed, [streams], links)
        return findings

    return confirmed(measure(range(len(leaves))), measure)


def may_send(
    links: HostLinks, hosts: Sequence[int], uplink: PortFinding, part: float = 1.0
) -> list[int]:
    """Hosts of a leaf that together send no more than this part of what its uplink carries."""
    if uplink.rate_bit_s is None:
        return []
    bound = uplink.lower_bound and part == 1
    room = float("inf") if bound else BELOW * part * uplink.rate_bit_s.value
    senders = []
    for host in hosts:
        room -= SHARE * links.bit_s[host]
        if room < 0:
            break
        senders.append(host)
    return senders


class _Down:
    """How ports towards leaves are overloaded."""

    def __init__(
        self,
        bed: Bed,
        links: HostLinks,
        down_bit_s: Sequence[float],
        leaves: Sequence[Sequence[int]],
        uplinks: Sequence[PortFinding],
        by_input: bool,
        behind_input: bool,
    ) -> None:
        self._bed = bed
        self._links = links
        self._down_bit_s = down_bit_s
        self._leaves = leaves
        self._uplinks = uplinks
        self._by_input = by_input
        self._behind_input = behind_input

    def _streams(self, number: int, part: float) -> list[Stream]:
        leaf = self._leaves[number]
        senders = [
            (sender, other if self._by_input else None)
            for other, hosts in enumerate(self._leaves)
            if other != number
            for sender in may_send(self._links, hosts, self._uplinks[other], part)
        ]
        return [
            Stream(sender, leaf[k % len(leaf)], SHARE, by) for k, (sender, by) in enumerate(senders)
        ]

    def one_way(self, number: int) -> PortFinding:
        """Others send to the leaf."""
        streams = self._streams(number, 1.0)
        finding = overload(self._bed, [streams], self._links)[0] if streams else None
        if finding is None or finding.rate_bit_s is None:
            return PortFinding(NOT_TRIED)
        if not self._hosts_are_full(number, finding.rate_bit_s.value, self._uplinks[number]):
            return finding
        # The hosts' own ports were full: what is behind them cannot be told. They sent on what they
        # take, and what seems more than that are packets that came in bunches.
        take = self._take(number)
        least = Estimate.of([min(sample, take) for sample in finding.rate_bit_s.samples])
        return self._with_short_frames(number, PortFinding(NOT_TRIED, least, lower_bound=True))

    def _take(self, number: int) -> float:
        return sum(self._down_bit_s[host] for host in self._leaves[number])

    def _hosts_are_full(self, number: int, rate: float, other_way: PortFinding | None) -> bool:
        """`other_way`: the port at the other end of the link, whose rate may vouch for this."""
        part = HOSTS_TAKE
        if self._behind_input:
            known = None if other_way is None or other_way.lower_bound else other_way.rate_bit_s
            if known is None or abs(rate - known.value) > RATE_ALIKE * known.value:
                part = HOSTS_TAKE_BEHIND_INPUT
        return rate >= part * self._take(number)

    def _with_short_frames(self, number: int, before: PortFinding) -> PortFinding:
        """`before` with a queue, if what serves the link takes its time for each packet, however
        long: of shorter ones the hosts behind it take more than comes."""
        streams = self._streams(number, SHORT)
        if not streams:
            return before
        size = int(SHORT * self._bed.datagram_bytes)
        finding = overload(self._bed, [streams], self._links, size=size)[0]
        rate, held = finding.rate_bit_s, finding.buffer_packets
        if finding.state != MEASURED or rate is None or held is None:
            return before
        if self._hosts_are_full(number, rate.value, None):
            return before
        return replace(before, state=MEASURED, buffer_packets=held)


def measure_down(
    bed: Bed,
    links: HostLinks,
    down_bit_s: Sequence[float],
    leaves: Sequence[Sequence[int]],
    uplinks: Sequence[PortFinding],
    tell: Callable[[str], None] = lambda _: None,
    by_input: bool = False,
    behind_input: bool = False,
) -> list[PortFinding]:
    """From the core to each leaf. `uplinks`: what `measure_up` found. `by_input`: the core buffers
    at its inputs, and what each of them holds is asked; `behind_input`: leaves do."""
    down = _Down(bed, links, down_bit_s, leaves, uplinks, by_input, behind_input)

    def measure(numbers: Sequence[int]) -> list[PortFinding]:
        findings = []
        for number in numbers:
            tell(f"port towards leaf {number}")
            findings.append(down.one_way(number))
        return findings

    return confirmed(measure(range(len(leaves))), measure)


def _filling(
    number: int,
    links: HostLinks,
    down_bit_s: Sequence[float],
    leaves: Sequence[Sequence[int]],
    least_bit_s: float,
) -> list[Stream]:
    """What fills the input by which a leaf takes in what comes from the core; nothing where links
    between switches carry too little."""
    leaf = leaves[number]
    target, beside = leaf[0], leaf[1 : 1 + BESIDE]
    others = [one for k, one in enumerate(leaves) if k != number]
    senders = _interleaved(others)[:FROM_ELSEWHERE]
    port = down_bit_s[target]
    offered = min(
        sum(SHARE * links.bit_s[sender] for sender in senders), BELOW * least_bit_s
    )
    if offered < (LOAD_MIN if beside else LOAD_MIN_ALONE) * port:
        return []
    sent = sum(links.bit_s[sender] for sender in senders)
    return [Stream(sender, target, offered / sent, by=number) for sender in senders] + [
        Stream(host, target, BESIDE_SHARE, asked=False) for host in beside
    ]


def measure_inputs(
    bed: Bed,
    links: HostLinks,
    down_bit_s: Sequence[float],
    leaves: Sequence[Sequence[int]],
    uplinks: Sequence[PortFinding],
    downlinks: Sequence[PortFinding],
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """`uplinks`, with the packets from the core that each leaf holds at its input for them."""
    rates = [one.rate_bit_s.value for one in [*uplinks, *downlinks] if one.rate_bit_s]
    least_bit_s = min(rates) if len(rates) == 2 * len(leaves) else 0.0

    def measure(numbers: Sequence[int]) -> list[PortFinding]:
        findings = []
        for number in numbers:
            streams = _filling(number, links, down_bit_s, leaves, least_bit_s)
            tell(f"input of leaf {number}")
            held = overload(bed, [streams], links)[0] if streams else PortFinding(NOT_TRIED)
            findings.append(
                replace(
                    uplinks[number],
                    state=MEASURED if held.buffer_packets else NOT_TRIED,
                    buffer_packets=held.buffer_packets,
                )
            )
        return findings

    return confirmed(measure(range(len(leaves))), measure)
