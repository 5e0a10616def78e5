"""MSCCL's XML, read back and carried out, chunk by chunk."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from tests.python.readers.traffic import check_no_cycle

from allemande.errors import BadInput
from allemande.formats.msccl import PEERS_MAX, STEPS_MAX, THREAD_BLOCKS_MAX
from allemande.formats.schedule import Block
from allemande.formats.xml_text import Element, read_xml

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
        self.steps: dict[_Node, Element] = {}
        self._sends: dict[tuple[int, int, int], list[_Node]] = defaultdict(list)
        self._receives: dict[tuple[int, int, int], list[_Node]] = defaultdict(list)
        self._sent_by: dict[_Node, _Node] = {}

    def wrong(self, text: str, element: Element | None = None) -> BadInput:
        where = self._source if element is None else f"{self._source}:{element.line}"
        return BadInput(f"{where}: {text}; expected a file that MSCCL takes")

    def text(self, element: Element, name: str) -> str:
        value = element.attributes.get(name)
        if value is None:
            raise self.wrong(f"<{element.tag:.40}> has no {name}", element)
        return value

    def number(self, element: Element, name: str) -> int:
        text = self.text(element, name)
        if not re.fullmatch(r"-?[0-9]{1,9}", text):
            raise self.wrong(f"{name}={text!r:.40} of <{element.tag:.40}> is no number", element)
        return int(text)

    def children(self, element: Element, tag: str) -> list[Element]:
        for child in element.children:
            if child.tag != tag:
                raise self.wrong(f"<{child.tag:.40}> stands where <{tag}> belongs", child)
        return element.children

    def add_gpu(self, gpu: Element, rank: int, ranks: int) -> None:
        if self.number(gpu, "id") != rank:
            raise self.wrong(f"GPU {self.number(gpu, 'id')} stands where {rank} belongs", gpu)
        peers: dict[tuple[int, str], int] = defaultdict(int)
        blocks = self.children(gpu, "tb")
        for place, block in enumerate(blocks):
            number, channel = self.number(block, "id"), self.number(block, "chan")
            if number != place:
                raise self.wrong(f"thread block {number} stands where {place} belongs", block)
            for way in ("send", "recv"):
                peer = self.number(block, way)
                if not -1 <= peer < ranks or peer == rank:
                    raise self.wrong(f"thread block {number} of GPU {rank} has no such peer", block)
                peers[channel, way] += peer >= 0
            self._add_block(rank, number, channel, block)
        if len(blocks) > THREAD_BLOCKS_MAX or max(peers.values(), default=0) > PEERS_MAX:
            raise self.wrong(f"GPU {rank} has too many thread blocks, or peers in a channel", gpu)
        self._check_waits(rank, gpu)

    def _add_block(self, rank: int, number: int, channel: int, block: Element) -> None:
        open_waits = False
        for place, step in enumerate(self.children(block, "step")):
            node = (rank, number, place)
            if self.number(step, "s") != place or place >= STEPS_MAX:
                raise self.wrong(
                    f"step {self.number(step, 's')} of {node} is out of order or too many", step
                )
            self.steps[node] = step
            self.before[node] = [(rank, number, place - 1)] if place else []
            wait = self.number(step, "depid")
            if wait >= 0:
                self.before[node].append((rank, wait, self.number(step, "deps")))
            kind = self.text(step, "type")
            if kind == "nop":
                open_waits = True
            elif open_waits and wait < 0:
                raise self.wrong(f"the waits before {node} end in a step without one", step)
            else:
                open_waits = False
            if kind == "s":
                self._sends[rank, self.number(block, "send"), channel].append(node)
            elif kind == "r":
                self._receives[self.number(block, "recv"), rank, channel].append(node)

    def _check_waits(self, rank: int, gpu: Element) -> None:
        steps = [step for block in gpu.children for step in block.children]
        awaited = {
            (rank, self.number(step, "depid"), self.number(step, "deps"))
            for step in steps
            if self.number(step, "depid") >= 0
        }
        marked = {
            (rank, number, place)
            for number, block in enumerate(gpu.children)
            for place, step in enumerate(block.children)
            if self.text(step, "hasdep") == "1"
        }
        if awaited != marked:
            raise self.wrong(f"`hasdep` marks {min(marked ^ awaited)} wrongly", gpu)

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
                self._sent_by[received] = sent
                if number >= IN_FLIGHT:
                    self.before[sent].append(receives[number - IN_FLIGHT])

    def carry_out(self, order: list[_Node], ranks: int) -> None:
        """Moves every chunk; BadInput where one is missing in the end."""
        if len(order) < ranks * (ranks - 1):
            raise self.wrong(f"{len(order)} steps of {ranks} GPUs cannot move what all have to get")
        chunks: dict[tuple[int, str, int], Block] = {
            (rank, "i", to): (rank, to) for rank in range(ranks) for to in range(ranks)
        }
        flying: dict[_Node, Block] = {}
        for node in order:
            step = self.steps[node]
            kind = self.text(step, "type")
            source = (node[0], self.text(step, "srcbuf"), self.number(step, "srcoff"))
            target = (node[0], self.text(step, "dstbuf"), self.number(step, "dstoff"))
            if kind in ("s", "cpy") and source not in chunks:
                raise self.wrong(f"step {node} sends chunk {source}, which is not there yet", step)
            if kind == "s":
                flying[node] = chunks[source]
            elif kind == "r":
                chunks[target] = flying[self._sent_by[node]]
            elif kind == "cpy":
                chunks[target] = chunks[source]
        for rank in range(ranks):
            for origin in range(ranks):
                if chunks.get((rank, "o", origin)) != (origin, rank):
                    raise self.wrong(f"GPU {rank} lacks what GPU {origin} has for it")


def read(text: str, source: str) -> MscclFile:
    """Reads a file and carries it out, chunk by chunk."""
    algo = read_xml(text, source, "MSCCL's algo")
    reader = _Reader(source)
    ranks = reader.number(algo, "ngpus")
    gpus = reader.children(algo, "gpu")
    if reader.number(algo, "nchunksperloop") != ranks or len(gpus) != ranks:
        raise reader.wrong(f"nchunksperloop or the GPUs are not those of {ranks} ranks", algo)
    for rank, gpu in enumerate(gpus):
        reader.add_gpu(gpu, rank, ranks)
    reader.join()
    for node, needs in reader.before.items():
        if any(need not in reader.before for need in needs):
            raise reader.wrong(
                f"step {node} waits for a step that is not there", reader.steps[node]
            )
    reader.carry_out(check_no_cycle(reader.before, source), ranks)
    return MscclFile(
        ranks,
        max((len(gpu.children) for gpu in gpus), default=0),
        max((len(block.children) for gpu in gpus for block in gpu.children), default=0),
    )
