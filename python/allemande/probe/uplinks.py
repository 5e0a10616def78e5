"""The links between a leaf and the core, where leaves are known.

Up: all hosts of the leaf send to others, each to another one, spread over all other leaves. Down:
hosts of the other leaves send to all of this one, to each no more than its port takes, from each
leaf no more than its own uplink carries. What the hosts of a leaf cannot fill is a lower bound, and
its queue is never seen.

A switch that buffers at its inputs holds at each link what comes in by it: a leaf what comes from
the core, the core what comes from a leaf. For the first, hosts elsewhere send to one host of the
leaf more than its port carries and less than the links between, and hosts of the leaf send to it
as well, so that few of the packets that the port itself has are of the input in question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from allemande.model.profile import MEASURED, NOT_OVERLOADABLE, NOT_TRIED
from allemande.probe.bed import Bed
from allemande.probe.overload import PortFinding, Stream, confirmed, overload
from allemande.probe.queueing import HostLinks

SHARE = 0.9
# The part of an uplink's rate that is used, so that packets wait at one port only.
BELOW = 0.93
# The part of its port's rate that a host is sent, so that no packets wait there.
HOSTS_TAKE = 0.95
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
    free = uplink.lower_bound and part == 1
    room = float("inf") if free else BELOW * part * uplink.rate_bit_s.value
    senders = []
    for host in hosts:
        room -= SHARE * links.bit_s[host]
        if room < 0:
            break
        senders.append(host)
    return senders


def share_of_each(links: HostLinks, hosts: Sequence[int], uplink: PortFinding) -> float:
    """Of its link, what each host of a leaf may send so that all of them together send no more
    than their uplink carries."""
    if uplink.rate_bit_s is None:
        return 0.0
    if uplink.lower_bound:
        return SHARE
    return min(SHARE, BELOW * uplink.rate_bit_s.value / sum(links.bit_s[host] for host in hosts))


def measure_down(
    bed: Bed,
    links: HostLinks,
    down_bit_s: Sequence[float],
    leaves: Sequence[Sequence[int]],
    uplinks: Sequence[PortFinding],
    tell: Callable[[str], None] = lambda _: None,
    by_input: bool = False,
) -> list[PortFinding]:
    """From the core to each leaf. `uplinks`: what `measure_up` found. `by_input`: the core buffers
    at its inputs, and what each of them holds is asked."""

    def senders_to(number: int, part: float) -> list[tuple[int, int]]:
        """Hosts, and the leaves that they are of."""
        return [
            (host, leaf_of[host])
            for host in _interleaved(
                [
                    may_send(links, hosts, uplinks[other], part)
                    for other, hosts in enumerate(leaves)
                    if other != number
                ]
            )
        ]

    def streams_to(number: int, part: float) -> list[Stream]:
        """One to each host, no more than its port takes: packets wait before that link only."""
        return [
            Stream(
                sender,
                host,
                min(SHARE, HOSTS_TAKE * down_bit_s[host] / links.bit_s[sender]),
                leaf if by_input else None,
            )
            for (sender, leaf), host in zip(senders_to(number, part), leaves[number], strict=False)
        ]

    def with_short_frames(number: int, before: PortFinding) -> PortFinding:
        """`before` with a queue, if what serves the link takes its time for each packet, however
        long: of shorter ones fewer bits come than the hosts behind it take."""
        streams = streams_to(number, SHORT)
        if not streams:
            return before
        size = int(SHORT * bed.datagram_bytes)
        finding = overload(bed, [streams], links, size=size)[0]
        if finding.state != MEASURED:
            return before
        return replace(before, state=MEASURED, buffer_packets=finding.buffer_packets)

    def one(number: int) -> PortFinding:
        streams = streams_to(number, 1.0)
        finding = overload(bed, [streams], links)[0] if streams else PortFinding(NOT_TRIED)
        if finding.state == NOT_OVERLOADABLE and len(senders_to(number, 1.0)) > len(streams):
            # More hosts would fill the ports of the hosts as well.
            return with_short_frames(number, replace(finding, state=NOT_TRIED))
        return finding

    def measure(numbers: Sequence[int]) -> list[PortFinding]:
        findings = []
        for number in numbers:
            tell(f"port towards leaf {number}")
            findings.append(one(number))
        return findings

    leaf_of = {host: number for number, leaf in enumerate(leaves) for host in leaf}
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
    offered = min(sum(SHARE * links.bit_s[sender] for sender in senders), BELOW * least_bit_s)
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
