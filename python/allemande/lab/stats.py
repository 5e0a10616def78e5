"""Counters of a lab: per port, per host and per processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from allemande.lab.network import Network


@dataclass(frozen=True)
class PortStats:
    """The sending end of a link.

    `queue_high_water` is the longest queue known: the limit once anything was dropped (then it is
    exact), otherwise the longest that a periodic look has seen, a lower bound.
    """

    node: str
    peer: str
    rate_mbit_s: float
    queue_limit_packets: int
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    queued_packets: int
    queue_high_water: int


@dataclass(frozen=True)
class HostStats:
    host: str
    udp_sent: int
    udp_received: int
    receive_buffer_drops: int
    send_buffer_drops: int
    tcp_retransmitted: int
    tcp_timeouts: int


@dataclass(frozen=True)
class CpuStats:
    """Of the whole machine: the kernel counts these per processor, not per namespace."""

    cpu: int
    softnet_processed: int
    softnet_dropped: int
    softnet_squeezed: int


@dataclass(frozen=True)
class RelayStats:
    """Of what delays the links that have a latency. `late_ns_max` is since the boot."""

    packets: int
    lost_packets: int
    late_ns: int  # all packets together
    late_ns_max: int

    @property
    def late_us_mean(self) -> float:
        return self.late_ns / 1000 / max(1, self.packets)


@dataclass(frozen=True)
class Stats:
    lab: str
    ports: tuple[PortStats, ...]
    hosts: tuple[HostStats, ...]
    cpus: tuple[CpuStats, ...]
    degraded: tuple[Mapping[str, Any], ...] = ()  # links that are not as built (lab.degrade)
    relay: RelayStats | None = None  # None: no link has a latency

    @classmethod
    def from_observation(
        cls,
        lab: str,
        network: Network,
        observed: Mapping[str, Any],
        *,
        shaped: bool,
        softnet_at_boot: Sequence[Mapping[str, int]],
        degraded: Sequence[Mapping[str, Any]] = (),
    ) -> Stats:
        ports = []
        for port, row in zip(network.ports(), observed["ports"], strict=True):
            limit = port.queue_packets if shaped else 0
            ports.append(
                PortStats(
                    port.node,
                    port.peer,
                    port.rate_mbit_s if shaped else 0,
                    limit,
                    row["sent_packets"],
                    row["sent_bytes"],
                    row["dropped_packets"],
                    row["queued_packets"],
                    _high_water(row["dropped_packets"], row["queue_seen"], limit),
                )
            )
        hosts = [HostStats(host, **row) for host, row in observed["hosts"].items()]
        at_boot = {row["cpu"]: row for row in softnet_at_boot}
        cpus = [
            _less(CpuStats(**row), CpuStats(**at_boot.get(row["cpu"], row)))
            for row in observed["cpus"]
        ]
        relay = RelayStats(**observed["relay"]) if "relay" in observed else None
        return cls(lab, tuple(ports), tuple(hosts), tuple(cpus), tuple(degraded), relay)

    def since(self, earlier: Stats) -> Stats:
        """What happened between the two. Queue lengths stay those of now."""
        ports = [
            replace(
                now,
                sent_packets=now.sent_packets - then.sent_packets,
                sent_bytes=now.sent_bytes - then.sent_bytes,
                dropped_packets=now.dropped_packets - then.dropped_packets,
            )
            for now, then in zip(self.ports, earlier.ports, strict=True)
        ]
        hosts = [
            HostStats(
                now.host,
                now.udp_sent - then.udp_sent,
                now.udp_received - then.udp_received,
                now.receive_buffer_drops - then.receive_buffer_drops,
                now.send_buffer_drops - then.send_buffer_drops,
                now.tcp_retransmitted - then.tcp_retransmitted,
                now.tcp_timeouts - then.tcp_timeouts,
            )
            for now, then in zip(self.hosts, earlier.hosts, strict=True)
        ]
        cpus = [_less(now, then) for now, then in zip(self.cpus, earlier.cpus, strict=True)]
        relay = self.relay
        if relay is not None and earlier.relay is not None:
            relay = replace(
                relay,
                packets=relay.packets - earlier.relay.packets,
                lost_packets=relay.lost_packets - earlier.relay.lost_packets,
                late_ns=relay.late_ns - earlier.relay.late_ns,
            )
        return Stats(self.lab, tuple(ports), tuple(hosts), tuple(cpus), self.degraded, relay)

    @property
    def dropped_packets(self) -> int:
        return sum(port.dropped_packets for port in self.ports)

    @property
    def softnet_dropped(self) -> int:
        return sum(cpu.softnet_dropped for cpu in self.cpus)

    @property
    def receive_buffer_drops(self) -> int:
        return sum(host.receive_buffer_drops for host in self.hosts)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _less(now: CpuStats, then: CpuStats) -> CpuStats:
    return CpuStats(
        now.cpu,
        now.softnet_processed - then.softnet_processed,
        now.softnet_dropped - then.softnet_dropped,
        now.softnet_squeezed - then.softnet_squeezed,
    )


def _high_water(dropped: int, seen: int, limit: int) -> int:
    """A queue that dropped was full. One packet more may wait at the shaper itself."""
    return max(seen, limit) if dropped and limit else seen
