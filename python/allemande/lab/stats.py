"""Counters of a lab: per port, per host and per processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from allemande.lab.network import Network

# The emulator may be late by so much: on average, of the time of an exchange; and so many of its
# frames by more than a frame's time. Beyond that figures tell of the machine.
LATENESS_PART_MAX = 0.02
LATE_FRAMES_PART_MAX = 0.01


@dataclass(frozen=True)
class PortStats:
    """The sending end of a link.

    What waits and is dropped at a port of an input-buffered switch came in there. The longest queue
    ever, `queue_high_water`, is exact at switches. Of hosts the kernel keeps no maximum: it is the
    limit once anything was dropped, else what waits now.
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
    lost_packets: int = 0  # by chance, or as the link is dead
    marked_packets: int = 0  # ECN


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
    """Counters of the whole machine: the kernel has them per processor, not per namespace."""

    cpu: int
    softnet_processed: int
    softnet_dropped: int
    softnet_squeezed: int


@dataclass(frozen=True)
class EmulatorStats:
    """Counters of the emulator. A frame is late if it reaches its host after its time;
    `late_frames` counts those late by more than a full frame takes on their last link."""

    published_ns: int  # CLOCK_MONOTONIC
    frames_in: int
    frames_out: int
    lost_frames: int  # by the machine, not by the network
    stray_frames: int  # to nobody
    late_frames: int
    late_ns: int  # all frames together
    late_ns_max: int  # since the boot
    held_frames: int  # in the network now
    cpu_ns: int
    wakeups: int
    answers: int  # of routers, to packets whose TTL ended
    realtime: int  # 1: it runs before all others

    @property
    def lateness_s(self) -> float:
        """On average."""
        return 1e-9 * self.late_ns / max(1, self.frames_out)

    def is_late(self, exchange_s: float | None = None) -> bool:
        """Whether figures taken meanwhile, of exchanges that took so long, are void."""
        too_many = self.late_frames > LATE_FRAMES_PART_MAX * self.frames_out
        return too_many or (
            exchange_s is not None and self.lateness_s > LATENESS_PART_MAX * exchange_s
        )

    def since(self, earlier: EmulatorStats) -> EmulatorStats:
        return replace(
            self,
            **{name: getattr(self, name) - getattr(earlier, name) for name in _COUNTED},
        )


_COUNTED = (
    *("frames_in", "frames_out", "lost_frames", "stray_frames", "late_frames", "late_ns"),
    *("cpu_ns", "wakeups", "answers"),
)


@dataclass(frozen=True)
class Stats:
    lab: str
    ports: tuple[PortStats, ...]
    hosts: tuple[HostStats, ...]
    cpus: tuple[CpuStats, ...]
    degraded: tuple[Mapping[str, Any], ...] = ()  # links that are not as built (lab.degrade)
    emulator: EmulatorStats | None = None  # None: links are unshaped

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
            if port.node in network.hosts and row["dropped_packets"]:
                row = {**row, "queue_high_water": max(limit, row["queued_packets"])}
            ports.append(
                PortStats(port.node, port.peer, port.rate_mbit_s if shaped else 0, limit, **row)
            )
        hosts = [HostStats(host, **row) for host, row in observed["hosts"].items()]
        at_boot = {row["cpu"]: row for row in softnet_at_boot}
        cpus = [
            _less(CpuStats(**row), CpuStats(**at_boot.get(row["cpu"], row)))
            for row in observed["cpus"]
        ]
        emulator = EmulatorStats(**observed["emulator"]) if observed["emulator"] else None
        return cls(lab, tuple(ports), tuple(hosts), tuple(cpus), tuple(degraded), emulator)

    def since(self, earlier: Stats) -> Stats:
        """What happened between the two. Queue lengths stay those of now."""
        ports = [
            replace(
                now,
                sent_packets=now.sent_packets - then.sent_packets,
                sent_bytes=now.sent_bytes - then.sent_bytes,
                dropped_packets=now.dropped_packets - then.dropped_packets,
                lost_packets=now.lost_packets - then.lost_packets,
                marked_packets=now.marked_packets - then.marked_packets,
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
        emulator = self.emulator
        if emulator is not None and earlier.emulator is not None:
            emulator = emulator.since(earlier.emulator)
        return Stats(self.lab, tuple(ports), tuple(hosts), tuple(cpus), self.degraded, emulator)

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
