"""MSCCL's XML: the exchange as steps of thread blocks on GPUs, one chunk for each block of a pair.

A thread block serves one peer each way. The one for distance d sends d ranks on and receives from d
ranks back, so both ends agree on its channel, (d-1) // 32, as at most 32 peers may share one. Its
steps stand in the order of the rounds; in a round sends and receives alternate, a send first: few
chunks fit between two GPUs, and who only sent would wait for ever for others that do
the same. A send of a later round waits for what its rank has sent and received in the round before:
`depid` and `deps` name the thread block and the step, `hasdep` marks steps that others wait for,
and a `nop` holds every such wait but the last. A block that is forwarded lies in the scratch buffer
and waits for the step that brought it. Packets are MSCCL's affair: that they alternate inside a
round cannot be said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from allemande.errors import BadInput
from allemande.formats.schedule import Block, Message, Phase, Schedule

THREAD_BLOCKS_MAX = 216
PEERS_MAX = 32  # of a channel
STEPS_MAX = 256  # of a thread block
CHANNELS_MAX = 32

Where = tuple[str, int]  # buffer (i, o or s) and chunk
Place = tuple[int, int]  # thread block and step


@dataclass
class _Step:
    kind: str  # s, r, cpy or nop
    source: Where = ("i", 0)
    target: Where = ("o", 0)
    wait: Place | None = None
    awaited: bool = False


@dataclass
class _ThreadBlock:
    send: int = -1
    receive: int = -1
    channel: int = 0
    steps: list[_Step] = field(default_factory=list)


class _Gpu:
    """The thread blocks of one rank."""

    def __init__(self, schedule: Schedule, rank: int) -> None:
        self._ranks = schedule.ranks
        self._rank = rank
        self._phases = schedule.phases(rank)
        self._by_distance: dict[int, int] = {}
        self.blocks: list[_ThreadBlock] = []
        self._held: dict[Block, Place] = {}  # to be forwarded -> the step that brought it

    @cached_property
    def _scratch(self) -> dict[Block, int]:
        """Where blocks lie that are forwarded."""
        passing = (
            block
            for phase in self._phases
            for round_ in phase.rounds
            for message in round_.receive
            for block in message.blocks
            if block[1] != self._rank
        )
        return {block: chunk for chunk, block in enumerate(dict.fromkeys(passing))}

    def where(self, block: Block) -> Where:
        """Where a block lies that comes from another rank."""
        return ("o", block[0]) if block[1] == self._rank else ("s", self._scratch[block])

    def _of_distance(self, distance: int) -> int:
        if distance not in self._by_distance:
            self._by_distance[distance] = len(self.blocks)
            self.blocks.append(_ThreadBlock(channel=(distance - 1) // PEERS_MAX))
        return self._by_distance[distance]

    def build(self, peers: list[_Gpu]) -> None:
        for phase in self._phases:
            self._add_phase(phase, peers)
        own = _Step("cpy", ("i", self._rank), ("o", self._rank))
        if not self.blocks:
            self.blocks.append(_ThreadBlock())
        self.blocks[0].steps.append(own)

    def _add_phase(self, phase: Phase, peers: list[_Gpu]) -> None:
        ended: dict[int, int] = {}  # the last step of each thread block in the round before
        for round_ in phase.rounds:
            parts: dict[int, list[Iterator[None]]] = {}
            for message in round_.send:
                number = self._of_distance((message.peer - self._rank) % self._ranks)
                sends = self._sends(number, message, ended, peers[message.peer])
                parts.setdefault(number, []).append(sends)
            for message in round_.receive:
                number = self._of_distance((self._rank - message.peer) % self._ranks)
                parts.setdefault(number, []).append(self._receives(number, message))
            for both in parts.values():
                for _ in zip_longest(*both):
                    pass
            ended = {number: len(self.blocks[number].steps) - 1 for number in parts} or ended

    def _sends(
        self, number: int, message: Message, ended: dict[int, int], peer: _Gpu
    ) -> Iterator[None]:
        """Adds one send each time."""
        block = self.blocks[number]
        block.send = message.peer
        waits = {(other, step) for other, step in ended.items() if other != number}
        for each in message.blocks:
            source: Where = ("i", each[1])
            if each[0] != self._rank:
                source = ("s", self._scratch[each])
                if self._held[each][0] != number:
                    waits.add(self._held[each])
            self._add(block, _Step("s", source, peer.where(each)), sorted(waits))
            waits = set()
            yield

    def _receives(self, number: int, message: Message) -> Iterator[None]:
        """Adds one receive each time."""
        block = self.blocks[number]
        block.receive = message.peer
        for each in message.blocks:
            target = self.where(each)
            source: Where = ("i", each[1])
            self._add(block, _Step("r", source, target), [])
            if target[0] == "s":
                self._held[each] = (number, len(block.steps) - 1)
            yield

    def _add(self, block: _ThreadBlock, step: _Step, waits: list[Place]) -> None:
        for other, number in waits:
            self.blocks[other].steps[number].awaited = True
        block.steps += [_Step("nop", wait=wait) for wait in waits[:-1]]
        step.wait = waits[-1] if waits else None
        block.steps.append(step)

    def check(self) -> None:
        most = max(len(block.steps) for block in self.blocks)
        if len(self.blocks) > THREAD_BLOCKS_MAX or most > STEPS_MAX:
            raise BadInput(
                f"rank {self._rank} needs {len(self.blocks)} thread blocks of up to {most} steps; "
                f"MSCCL has {THREAD_BLOCKS_MAX} of {STEPS_MAX}: take fewer ranks, or an algorithm "
                "with fewer partners in a round"
            )

    def lines(self) -> Iterator[str]:
        yield (
            f'  <gpu id="{self._rank}" i_chunks="{self._ranks}" o_chunks="{self._ranks}" '
            f's_chunks="{len(self._scratch)}">'
        )
        for number, block in enumerate(self.blocks):
            yield (
                f'    <tb id="{number}" send="{block.send}" recv="{block.receive}" '
                f'chan="{block.channel}">'
            )
            for place, step in enumerate(block.steps):
                depid, deps = step.wait or (-1, -1)
                yield (
                    f'      <step s="{place}" type="{step.kind}" srcbuf="{step.source[0]}" '
                    f'srcoff="{step.source[1]}" dstbuf="{step.target[0]}" '
                    f'dstoff="{step.target[1]}" cnt="{0 if step.kind == "nop" else 1}" '
                    f'depid="{depid}" deps="{deps}" hasdep="{int(step.awaited)}"/>'
                )
            yield "    </tb>"
        yield "  </gpu>"


def write(schedule: Schedule) -> Iterator[str]:
    """The file; BadInput beyond what MSCCL has of thread blocks and steps."""
    if schedule.ranks - 1 > THREAD_BLOCKS_MAX and schedule.direct:
        raise BadInput(
            f"{schedule.ranks} ranks need {schedule.ranks - 1} thread blocks on each GPU; MSCCL "
            f"has {THREAD_BLOCKS_MAX}: take at most {THREAD_BLOCKS_MAX + 1} ranks, or an algorithm "
            "with fewer partners, such as grid"
        )
    gpus = [_Gpu(schedule, rank) for rank in range(schedule.ranks)]
    for gpu in gpus:
        gpu.build(gpus)
        gpu.check()
    channels = 1 + max(block.channel for gpu in gpus for block in gpu.blocks)
    if channels > CHANNELS_MAX:
        raise BadInput(f"{schedule.ranks} ranks need {channels} channels; MSCCL has {CHANNELS_MAX}")
    name = f"allemande-{schedule.identity}".replace("@", "-").replace(":", "-")
    yield (
        f'<algo name="{name}" proto="Simple" nchannels="{channels}" '
        f'nchunksperloop="{schedule.ranks}" ngpus="{schedule.ranks}" coll="alltoall" inplace="0" '
        f'outofplace="1" minBytes="0" maxBytes="{schedule.ranks * schedule.size}">\n'
    )
    for gpu in gpus:
        yield from (f"{line}\n" for line in gpu.lines())
    yield "</algo>\n"
