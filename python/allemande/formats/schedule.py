"""One exchange as data: what every rank sends and receives, in rounds, to be written in a format.

Plans are made rank by rank when they are asked for: a schedule of a thousand ranks fits in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from allemande._core import Cluster, Plan, make_plan
from allemande.errors import BadInput
from allemande.framing import IP_UDP_BYTES
from allemande.topology import Tuning, tune

RANKS_MAX = 65_536
DEFAULT_MTU_BYTES = 1500
Block = tuple[int, int]  # (origin, destination)


@dataclass(frozen=True)
class Message:
    """To, or from, a rank: these blocks, in this order."""

    peer: int
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Round:
    """A round of one rank. It ends when all of it is sent and all of it has come."""

    send: Sequence[Message]
    receive: Sequence[Message]


@dataclass(frozen=True)
class Phase:
    rounds: Sequence[Round]
    interleaved: bool  # packets to the partners of a round alternate; else message after message


@dataclass(frozen=True)
class Schedule:
    """An all-to-all of `size` bytes per pair, cut into packets of `packet_bytes` of payload."""

    algorithm: str
    ranks: int
    size: int
    packet_bytes: int = DEFAULT_MTU_BYTES - IP_UDP_BYTES
    permutation: str = "balanced"
    contention_aware: bool = True
    cluster: Cluster | None = None

    def _plan(self, rank: int) -> Plan:
        return make_plan(
            self.ranks,
            rank,
            self.algorithm,
            self.permutation,
            self.contention_aware,
            group_of=self._groups,
        )

    @cached_property
    def _groups(self) -> list[list[int]]:
        """Where the ranks' hosts are; their leaves alone, where the network is no tree."""
        if self.cluster is None:
            return []
        return [level[: self.ranks] for level in self.cluster.schedule_hierarchy()]

    @cached_property
    def _first(self) -> Plan:
        return self._plan(0)

    @property
    def identity(self) -> str:
        return self._first.identity

    @property
    def used_permutation(self) -> str:
        return self._first.permutation

    @property
    def hosts(self) -> list[str] | None:
        """One rank on each, in rank order."""
        if self.cluster is None:
            return None
        return [host.name for host in self.cluster.hosts[: self.ranks]]

    @cached_property
    def tuning(self) -> Tuning | None:
        """Window and grain, where the network is known."""
        return None if self.cluster is None else tune(self.cluster, self.hosts)

    @property
    def direct(self) -> bool:
        """Every block goes straight to its destination, in a message of its own."""
        return all(
            blocks == [(0, peer)] for phase in self._first.phases for peer, blocks in phase
        ) and (len(self._first.phases) == 1)

    def phases(self, rank: int) -> list[Phase]:
        """What one rank does."""
        plan = self._plan(rank)
        return [
            Phase(tuple(_rounds(rounds, sent, received)), interleaved)
            for rounds, sent, received, interleaved in zip(
                plan.phase_rounds,
                plan.phases,
                plan.phases_received,
                plan.phase_interleaved,
                strict=True,
            )
        ]

    def packets(self, message: Message) -> list[int]:
        """The payload of each packet of a message; the last one has what remains."""
        total = self.size * len(message.blocks)
        whole, rest = divmod(total, self.packet_bytes)
        return [self.packet_bytes] * whole + ([rest] if rest else [])

    def send_order(self, phase: Phase, round_: Round) -> Iterator[tuple[Message, int]]:
        """The packets of a round in the order in which they leave: message and payload."""
        queues = [(message, self.packets(message)) for message in round_.send]
        if not phase.interleaved:
            yield from ((message, payload) for message, queue in queues for payload in queue)
            return
        for turn in range(max((len(queue) for _, queue in queues), default=0)):
            yield from ((message, queue[turn]) for message, queue in queues if turn < len(queue))


def _rounds(
    rounds: list[tuple[list[int], list[int]]],
    sent: list[tuple[int, list[Block]]],
    received: list[tuple[int, list[Block]]],
) -> Iterator[Round]:
    send = (Message(peer, blocks) for peer, blocks in sent)
    receive = (Message(peer, blocks) for peer, blocks in received)
    for to, from_ in rounds:
        yield Round(tuple(next(send) for _ in to), tuple(next(receive) for _ in from_))


def make_schedule(
    algorithm: str,
    size: int,
    *,
    ranks: int | None = None,
    cluster: Cluster | None = None,
    permutation: str = "balanced",
    contention_aware: bool = True,
) -> Schedule:
    """A schedule of a named algorithm, on the first `ranks` hosts of a cluster, or on one switch.

    `algorithm` may be a plan's identity: "group-shuffle:5@shift", "sync-shuffle@xor-plain". Raises
    BadInput for unknown names, for more ranks than hosts, and for shapes that do not fit.
    """
    name, at, rest = algorithm.partition("@")
    if at:
        permutation, contention_aware = rest.removesuffix("-plain"), not rest.endswith("-plain")
    if cluster is not None:
        hosts = len(cluster.hosts)
        ranks = hosts if ranks is None else ranks
        if ranks > hosts:
            raise BadInput(f"{ranks} ranks on {hosts} hosts; expected one on each host at most")
    if ranks is None:
        raise BadInput("how many ranks is not said; expected --ranks or --cluster")
    if not 2 <= ranks <= RANKS_MAX:
        raise BadInput(f"{ranks} ranks are out of range; expected 2 to {RANKS_MAX}")
    mtu = DEFAULT_MTU_BYTES if cluster is None else cluster.mtu_bytes
    schedule = Schedule(
        name, ranks, size, mtu - IP_UDP_BYTES, permutation, contention_aware, cluster
    )
    _ = schedule.identity  # names and shapes are checked where the first plan is made
    return schedule
