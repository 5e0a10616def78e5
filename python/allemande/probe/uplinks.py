"""The ports between a leaf and the core, where leaves are known.

Up: all hosts of the leaf send to others, each to another one, spread over all other leaves. Down:
hosts of the other leaves send to all of this one, from each leaf no more than its own uplink
carries. What the hosts of a leaf cannot fill is a lower bound, and its queue is never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allemande.model.profile import NOT_TRIED
from allemande.probe.bed import Bed
from allemande.probe.estimate import Estimate
from allemande.probe.overload import PortFinding, Stream, confirmed, overload
from allemande.probe.queueing import HostLinks

SHARE = 0.9
# The part of an uplink's rate that is used, so that packets wait at one port only.
BELOW = 0.93
# The part of their rate up to which the hosts of a leaf receive without packets at their ports.
HOSTS_TAKE = 0.95


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


def measure_down(
    bed: Bed,
    links: HostLinks,
    down_bit_s: Sequence[float],
    leaves: Sequence[Sequence[int]],
    uplinks: Sequence[PortFinding],
    tell: Callable[[str], None] = lambda _: None,
) -> list[PortFinding]:
    """From the core to each leaf. `uplinks`: what `measure_up` found."""

    def senders_to(number: int) -> list[int]:
        senders: list[int] = []
        for other, hosts in enumerate(leaves):
            rate = uplinks[other].rate_bit_s
            if other == number or rate is None:
                continue
            room = float("inf") if uplinks[other].lower_bound else BELOW * rate.value
            for host in hosts:
                room -= SHARE * links.bit_s[host]
                if room < 0:
                    break
                senders.append(host)
        return senders

    def one(number: int) -> PortFinding:
        leaf = leaves[number]
        streams = [
            Stream(sender, leaf[k % len(leaf)], SHARE)
            for k, sender in enumerate(senders_to(number))
        ]
        tell(f"port towards leaf {number}")
        finding = overload(bed, [streams], links)[0] if streams else PortFinding(NOT_TRIED)
        take = sum(down_bit_s[host] for host in leaf)
        rate = finding.rate_bit_s
        if rate is not None and rate.value >= HOSTS_TAKE * take:
            # The hosts' own ports were full: what is behind them cannot be told. They sent on what
            # they take, and what seems more than that are packets that came in bunches.
            least = Estimate.of([min(sample, take) for sample in rate.samples])
            finding = PortFinding(NOT_TRIED, least, lower_bound=True)
        return finding

    def measure(numbers: Sequence[int]) -> list[PortFinding]:
        return [one(number) for number in numbers]

    return confirmed(measure(range(len(leaves))), measure)
