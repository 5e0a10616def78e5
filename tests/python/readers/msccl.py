"""MSCCL's XML, read back and carried out, chunk by chunk."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from dataclasses import dataclass

from tests.python.readers.traffic import check_no_cycle

from allemande.errors import BadInput
from allemande.formats.msccl import PEERS_MAX, STEPS_MAX, THREAD_BLOCKS_MAX
from allemande.formats.schedule import Block

# Chunks between two GPUs of a channel. MSCCL has two, NCCL's 8 steps by 4 of a chunk. What ends
# with one ends with any number.
IN_FLIGHT = 1

_Node = tuple[int, int, int]  # GPU, thread block, step


@dataclass(frozen=True)
class MscclFile:
    """What a file says, checked: it ends, and every chunk is where it belongs."""

    ranks: int
    thread_blocks: int  # of the GPU that has most
    steps: int  # of the thread block that has most


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self.before: dict[_Node, list[_Node]] = {}
        self.steps: dict[_Node, ElementTree.Element] = {}
        self._sends: dict[tuple[int, int, int], list[_Node]] = defaultdict(list)
        self._receives: dict[tuple[int, int, int], list[_Node]] = defaultdict(list)
        self.sent_by: dict[_Node, _Node] = {}

    def wrong(self, text: str) -> BadInput:
        return BadInput(f"{self._source}: {text}; expected a file that MSCCL takes")

    def add_gpu(self, gpu: ElementTree.Element, ranks: int) -> None:
        rank = int(gpu.attrib["id"])
        peers: dict[tuple[int, str], int] = defaultdict(int)
        for block in gpu:
            number, channel = int(block.attrib["id"]), int(block.attrib["chan"])
            for way in ("send", "recv"):
                if int(block.attrib[way]) >= ranks or int(block.attrib[way]) == rank:
                    raise self.wrong(f"thread block {number} of GPU {rank} has no such peer")
                peers[channel, way] += int(block.attrib[way]) >= 0
            self._add_block(rank, number, channel, block)
        if len(gpu) > THREAD_BLOCKS_MAX or max(peers.values(), default=0) > PEERS_MAX:
            raise self.wrong(f"GPU {rank} has too many thread blocks, or peers in a channel")
        self._check_waits(rank, gpu)

    def _add_block(self, rank: int, number: int, channel: int, block: ElementTree.Element) -> None:
        open_waits = False
        for place, step in enumerate(block):
            node = (rank, number, place)
            if int(step.attrib["s"]) != place or place >= STEPS_MAX:
                raise self.wrong(f"step {step.attrib['s']} of {node} is out of order or too many")
            self.steps[node] = step
            self.before[node] = [(rank, number, place - 1)] if place else []
            wait = int(step.attrib["depid"])
            if wait >= 0:
                self.before[node].append((rank, wait, int(step.attrib["deps"])))
            kind = step.attrib["type"]
            if kind == "nop":
                open_waits = True
            elif open_waits and wait < 0:
                raise self.wrong(f"the waits before {node} end in a step without one")
            else:
                open_waits = False
            if kind == "s":
                self._sends[rank, int(block.attrib["send"]), channel].append(node)
            elif kind == "r":
                self._receives[int(block.attrib["recv"]), rank, channel].append(node)

    def _check_waits(self, rank: int, gpu: ElementTree.Element) -> None:
        awaited = {
            (rank, int(step.attrib["depid"]), int(step.attrib["deps"]))
            for step in gpu.iter("step")
            if int(step.attrib["depid"]) >= 0
        }
        marked = {
            node
            for node, step in self.steps.items()
            if node[0] == rank and step.attrib["hasdep"] == "1"
        }
        if awaited != marked:
            raise self.wrong(f"`hasdep` marks {sorted(marked ^ awaited)[0]} wrongly")

    def join(self) -> None:
        """The n-th send on a channel is what the n-th receive at its other end gets.

        A send waits for the receive that makes room for it.
        """
        for key in set(self._sends) | set(self._receives):
            if len(self._sends[key]) != len(self._receives[key]):
                raise self.wrong(f"GPU {key[0]} does not send GPU {key[1]} what that one receives")
            receives = self._receives[key]
            for number, (sent, received) in enumerate(zip(self._sends[key], receives, strict=True)):
                self.before[received].append(sent)
                self.sent_by[received] = sent
                if number >= IN_FLIGHT:
                    self.before[sent].append(receives[number - IN_FLIGHT])

    def carry_out(self, order: list[_Node], ranks: int) -> None:
        """Moves every chunk; BadInput where one is missing in the end."""
        chunks: dict[tuple[int, str, int], Block] = {
            (rank, "i", to): (rank, to) for rank in range(ranks) for to in range(ranks)
        }
        flying: dict[_Node, Block] = {}
        for node in order:
            step = self.steps[node].attrib
            source = (node[0], step["srcbuf"], int(step["srcoff"]))
            target = (node[0], step["dstbuf"], int(step["dstoff"]))
            if step["type"] in ("s", "cpy") and source not in chunks:
                raise self.wrong(f"step {node} sends chunk {source}, which is not there yet")
            if step["type"] == "s":
                flying[node] = chunks[source]
            elif step["type"] == "r":
                chunks[target] = flying[self.sent_by[node]]
            elif step["type"] == "cpy":
                chunks[target] = chunks[source]
        for rank in range(ranks):
            for origin in range(ranks):
                if chunks.get((rank, "o", origin)) != (origin, rank):
                    raise self.wrong(f"GPU {rank} lacks what GPU {origin} has for it")


def read(text: str, source: str) -> MscclFile:
    """Reads a file and carries it out, chunk by chunk."""
    try:
        algo = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise BadInput(f"{source}: not valid XML: {error}; expected MSCCL's algo") from None
    ranks = int(algo.attrib["ngpus"])
    reader = _Reader(source)
    if int(algo.attrib["nchunksperloop"]) != ranks or len(algo) != ranks:
        raise reader.wrong(f"nchunksperloop or the GPUs are not those of {ranks} ranks")
    for gpu in algo:
        reader.add_gpu(gpu, ranks)
    reader.join()
    for node, needs in reader.before.items():
        if any(need not in reader.before for need in needs):
            raise reader.wrong(f"step {node} waits for a step that is not there")
    reader.carry_out(check_no_cycle(reader.before, source), ranks)
    return MscclFile(
        ranks,
        max(len(gpu) for gpu in algo),
        max(len(block) for gpu in algo for block in gpu),
    )
