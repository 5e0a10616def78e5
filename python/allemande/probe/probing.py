"""A probing of a network: its questions in their order, and the wishes they are asked with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from allemande.errors import Failed
from allemande.framing import IP_UDP_BYTES
from allemande.model.profile import UNDETERMINED
from allemande.probe import (
    blocked_leaves,
    core_switch,
    flow_sweep,
    host_ports,
    host_rates,
    leaf_groups,
    library_samples,
    message_points,
    passing,
    points,
    switches,
    uplinks,
)
from allemande.probe.bed import Bed, frame_bits
from allemande.probe.cluster_output import cluster_text
from allemande.probe.estimate import Estimate
from allemande.probe.job_bed import JobBed
from allemande.probe.network_findings import ACROSS, LEAF, Findings, Quantity
from allemande.probe.overload import PortFinding, untold
from allemande.probe.queueing import HostLinks

RANKS_MIN = 3
LEAF_HOSTS = 16  # of which the switch is asked about
SMALL_LEAF = 3


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    overload: bool = True
    repeat: int = 100
    budget_s: float = 120.0


def _nothing(_: str) -> None:
    pass


def _less(one: Estimate | None, packets: float) -> Estimate | None:
    """As many packets less."""
    return one and Estimate.of([sample - packets for sample in one.samples])


class Probing:
    """One probing. `tell` is called with what it does, for people."""

    def __init__(self, bed: Bed, wishes: Wishes, tell: Callable[[str], None] = _nothing) -> None:
        self._bed = bed
        self._wishes = wishes
        self._tell = tell
        self.found = Findings(
            hosts=list(bed.hosts),
            mtu_bytes=bed.datagram_bytes + IP_UDP_BYTES,
            time_scale=bed.time_scale,
            simulated=bed.simulated,
        )
        self._host_links = HostLinks(())
        self._by_port = False  # packets wait at the leaf's ports, and not at its inputs

    def run(self) -> Findings:
        """Everything. Raises Failed where hosts cannot be reached."""
        for name, question in (
            ("link rates", self._links),
            ("leaves", self._leaves),
            ("ports of hosts", self._host_ports),
            ("switches", self._switches),
            ("uplinks", self._uplinks),
            ("points", self._points),
            ("flows across", self._flows_across),
            ("exchanges", self._library),
        ):
            self._tell(name)
            begin = time.monotonic()
            question()
            self.found.spent_s[name] = time.monotonic() - begin
        return self.found

    def _say(self, text: str) -> None:
        self._tell(f"  {text}")

    def _links(self) -> None:
        rough = host_rates.rough_rate(self._bed)
        if rough <= 0:
            raise Failed(
                f"no UDP datagrams of {self._bed.datagram_bytes} bytes come from "
                f"{self._bed.hosts[0]} to others; is a firewall between them?"
            )
        self.found.up = host_rates.measure_up_rates(self._bed, rough)
        for rank, one in enumerate(self.found.up):
            if one.value <= 0:
                raise Failed(f"no UDP datagrams come from {self._bed.hosts[rank]} to others")
        at_once = host_rates.passes_at_once(self._bed, rough)
        self._host_links = HostLinks([one.value for one in self.found.up], at_once)

    def _leaves(self) -> None:
        if not self._wishes.overload:
            self.found.groups = leaf_groups.Groups(None, "--no-overload", 0)
            return
        bed, links = self._bed, self._host_links
        groups = leaf_groups.find_leaf_groups(bed, links, self._say)
        if groups.leaves is None:
            inside = blocked_leaves.find_blocked_leaves(bed, links, self._say)
            if inside.leaves is not None:
                groups = inside
        self.found.groups = groups

    def _points(self) -> None:
        bed, links, found = self._bed, self._host_links, self.found
        pairs = points.choose_pairs(found.groups.leaves, len(bed.hosts))
        repeat = self._wishes.repeat
        lone = points.measure_lone(bed, pairs, repeat, links)
        found.quantities += points.measure_start_up(bed, pairs, repeat, links, lone.small)
        overheads = points.measure_overheads(bed, links)
        found.quantities += [Quantity(name, one) for name, one in overheads.items()]
        frame = frame_bits(bed, bed.datagram_bytes)
        gaps = [frame / bit_s for bit_s in links.bit_s]
        found.quantities.append(Quantity("g_s", Estimate.of(gaps)))
        drains = [frame / one.rate_bit_s.value for one in found.host_ports if one.rate_bit_s]
        if drains:
            found.quantities.append(Quantity("g_r", Estimate.of(drains)))
        self._latency(lone.full, sum(one.value for one in overheads.values()), max(gaps))
        found.quantities += points.measure_gaps(bed, links)
        if isinstance(bed, JobBed):
            found.quantities += message_points.measure_messages(bed, pairs, repeat)
        near_s = lone.byte_s.get(LEAF)
        if found.groups.leaves is None:
            near_s = points.least_byte_s(bed, links)
        found.answers["leaf_switching"] = (
            UNDETERMINED if near_s is None else switches.find_switching(near_s, links)
        )
        if ACROSS in lone.byte_s:
            found.answers["core_switching"] = self._core_switching(lone.byte_s[ACROSS])

    def _core_switching(self, byte_s: float) -> str:
        """By what is known of the links between switches: their rate, or the least of it."""
        ports = [*self.found.uplinks, *self.found.downlinks]
        rates = [one.rate_bit_s.value for one in ports if one.rate_bit_s and not one.lower_bound]
        least = [one.rate_bit_s.value for one in ports if one.rate_bit_s and one.lower_bound]
        if not rates and not least:
            return UNDETERMINED
        span = [min(rates), max(rates)] if rates else [max(least), float("inf")]
        kind = self.found.answers["leaf_switching"]
        return passing.core_switching(byte_s, self._host_links.slowest_bit_s, span, kind)

    def _latency(self, full: dict[str, Estimate], overheads_s: float, gap_s: float) -> None:
        """L and its growth, and whether the model's order holds."""
        found = self.found
        growth = points.measure_growth(
            self._bed, self._one_leaf(), self._wishes.repeat, self._host_links
        )
        if growth is not None:
            found.quantities.append(Quantity("latency_per_host", growth))
        # Two hosts were at it.
        less_s = overheads_s + (0.0 if growth is None else 2 * growth.value)
        for level, half in full.items():
            latency = [max(0.0, one - less_s) for one in half.samples]
            found.quantities.append(Quantity("latency", Estimate.of_times(latency), level))
        if "leaf" in full:
            latency_s = full["leaf"].value - overheads_s
            found.answers["ordering_holds"] = points.ordering(overheads_s, gap_s, latency_s)

    def _library(self) -> None:
        """Only where there is a library: simulated hosts have none."""
        if not isinstance(self._bed, JobBed) or self._wishes.budget_s <= 0:
            return
        names = library_samples.candidates_of(self._bed)
        self.found.samples = library_samples.measure_library(
            self._bed,
            names,
            self._wishes.repeat,
            self._wishes.budget_s,
            cluster_text(self.found),
            self._say,
        )

    def _flows_across(self) -> None:
        leaves = self.found.groups.leaves
        if leaves is None or len(leaves) < 2 or not self._wishes.overload:
            return
        self.found.across, self.found.local = flow_sweep.measure(
            self._bed, leaves[0], leaves[1], self._host_links
        )

    def _host_ports(self) -> None:
        if not self._wishes.overload or len(self._bed.hosts) < RANKS_MIN:
            return
        self.found.host_ports = host_ports.measure_host_ports(
            self._bed, self._host_links, self.found.groups.leaves, self._say
        )

    def _one_leaf(self) -> list[int]:
        """Hosts of one leaf, as far as that is known."""
        leaves = self.found.groups.leaves
        return (
            max(leaves, key=lambda leaf: len(leaf)) if leaves else list(range(len(self._bed.hosts)))
        )

    def _switches(self) -> None:
        if not self._wishes.overload:
            return
        found = self.found
        hosts = self._one_leaf()
        known = found.groups.leaves is not None
        if known and len(hosts) == SMALL_LEAF:  # packets to an idle host may leave the leaf
            hosts = [*hosts, next(host for host in range(len(found.hosts)) if host not in hosts)]
        looks = [hosts[:LEAF_HOSTS]] if known else switches.possible_leaves(hosts, LEAF_HOSTS)
        kind = switches.agreed(
            [switches.find_buffering(self._bed, leaf, self._host_links, known) for leaf in looks]
        )
        found.answers["leaf_architecture"] = kind.architecture
        self._by_port = kind.by_port or kind.architecture in (switches.OUTPUT, switches.SHARED)
        if kind.pool_packets is not None:
            found.leaf_pool_packets = round(kind.pool_packets)
        # The ports of hosts were measured several at once: of a shared buffer each had its part. In
        # an input-buffered switch the packets of a sender wait where they come in.
        held = [
            _less(one.per_input, kind.in_port)
            if kind.architecture == switches.INPUT
            else kind.alone
            for one in found.host_ports
        ]
        found.host_ports = [
            one if full is None else replace(one, buffer_packets=full)
            for one, full in zip(found.host_ports, held, strict=True)
        ]
        if kind.architecture == UNDETERMINED and not kind.by_port:  # of all inputs, or of the port
            found.host_ports = [untold(one) for one in found.host_ports]
        if kind.architecture == switches.INPUT and known:  # else they share the input of a link
            alone = [
                host
                for leaf in found.groups.leaves or []
                if not host_ports.has_own_senders(leaf)
                for host in leaf
            ]
            found.host_ports = [
                untold(one) if rank in alone else one for rank, one in enumerate(found.host_ports)
            ]
        if kind.architecture == switches.INPUT and found.groups.leaves is None:
            found.host_ports = host_ports.whole_inputs(
                self._bed, self._host_links, found.host_ports, self._say
            )

    def _uplinks(self) -> None:
        leaves = self.found.groups.leaves
        if leaves is None or len(leaves) < 2:
            return
        links = self._host_links
        down = [
            links.bit_s[rank] if one.rate_bit_s is None else one.rate_bit_s.value
            for rank, one in enumerate(self.found.host_ports)
        ]
        found, bed = self.found, self._bed
        found.uplinks = uplinks.measure_up(bed, links, leaves, self._say)

        def downlinks(by_input: bool) -> list[PortFinding]:
            return uplinks.measure_down(
                bed, links, down, leaves, found.uplinks, self._say, by_input
            )

        found.downlinks = downlinks(False)
        core = core_switch.find_core_buffering(bed, links, leaves, found.uplinks, found.downlinks)
        found.answers["core_architecture"] = core.architecture
        if core.pool_packets is not None:
            found.core_pool_packets = round(core.pool_packets)
        # What was counted so far is what all inputs of a switch hold together.
        if core.architecture == UNDETERMINED and len(leaves) > 2 and not core.by_port:
            found.downlinks = [untold(one) for one in found.downlinks]
        if core.architecture == switches.INPUT:
            found.downlinks = downlinks(True)
        if not self._by_port:
            found.uplinks = [untold(one) for one in found.uplinks]
        if found.answers["leaf_architecture"] == switches.INPUT:
            found.uplinks = uplinks.measure_inputs(
                bed, links, down, leaves, found.uplinks, found.downlinks, self._say
            )
