"""Patterns: steps of messages, each of which begins when all ranks have ended the one before.

    drc              displaced ring (004): in step j = 1..p-1 rank i sends to i+j
    alltoall-phased  all-to-all in pairs (001 Figure 11, right): one of each pair sends, then the
                     other, so that nobody sends and receives at once
    one-to-all-tree  binomial tree: in step k the ranks below 2^k, which have it, send on to i+2^k
    allgather-ring   p-1 steps in which rank i hands on to i+1 what it got last
    allreduce        ring: p-1 steps that reduce and p-1 that spread, a p-th of the vector each
    ft:CLASS         the transpositions of NAS FT: as many all-to-alls as it has iterations

`size` is that of a message to each partner; of the vector for allreduce; of nothing for ft, whose
class says it. Both the simulator and the bench make their steps here, so that what is delivered is
the same in both.
"""

from __future__ import annotations

from dataclasses import dataclass

from allemande.errors import BadInput

EXPECTED = (
    "drc, alltoall-phased, one-to-all-tree, allgather-ring, allreduce or ft:CLASS (S, W, A, B, C, "
    "D or E)"
)
# What the bench has: of allreduce a library has its own, and ft computes between its steps.
BENCH_KINDS = ("drc", "alltoall-phased", "one-to-all-tree", "allgather-ring")
KINDS = (*BENCH_KINDS, "allreduce", "ft")

# NAS Parallel Benchmarks 3.4, FT: points of the grid and iterations.
FT_CLASSES = {
    "S": (64 * 64 * 64, 6),
    "W": (128 * 128 * 32, 6),
    "A": (256 * 256 * 128, 6),
    "B": (512 * 256 * 256, 20),
    "C": (512 * 512 * 512, 20),
    "D": (2048 * 1024 * 1024, 25),
    "E": (4096 * 2048 * 2048, 25),
}
FT_POINT_BYTES = 16  # a complex number

Send = tuple[int, int, int]  # from, to, bytes
Steps = list[list[Send]]


@dataclass(frozen=True)
class PatternSpec:
    """A pattern as the user writes it."""

    text: str
    kind: str
    ft_class: str = ""

    @property
    def has_own_sizes(self) -> bool:
        return self.kind == "ft"


def parse_pattern(text: str) -> PatternSpec:
    kind, colon, rest = text.strip().partition(":")
    if kind not in KINDS or bool(colon) != (kind == "ft"):
        raise BadInput(f"pattern {text!r} is unknown; expected {EXPECTED}")
    if kind == "ft" and rest.upper() not in FT_CLASSES:
        raise BadInput(f"pattern {text!r}: class {rest!r} is unknown; expected {EXPECTED}")
    return PatternSpec(text.strip(), kind, rest.upper())


def _pairings(ranks: int) -> list[list[tuple[int, int]]]:
    """Each rank meets each other once, in p-1 rounds (p if that is odd): the circle method."""
    players = ranks + ranks % 2
    rounds = []
    for turn in range(players - 1):
        pairs = [(players - 1, turn)]
        pairs += [
            ((turn + step) % (players - 1), (turn - step) % (players - 1))
            for step in range(1, players // 2)
        ]
        rounds.append([(min(pair), max(pair)) for pair in pairs if max(pair) < ranks])
    return rounds


def _phased(ranks: int, size: int) -> Steps:
    steps: Steps = []
    for pairs in _pairings(ranks):
        steps.append([(low, high, size) for low, high in pairs])
        steps.append([(high, low, size) for low, high in pairs])
    return steps


def _tree(ranks: int, size: int) -> Steps:
    steps: Steps = []
    have = 1
    while have < ranks:
        steps.append([(rank, rank + have, size) for rank in range(min(have, ranks - have))])
        have *= 2
    return steps


def _allreduce(ranks: int, size: int) -> Steps:
    """In step s rank i sends part (i - s) mod p; parts differ by a byte at most."""
    parts = [size // ranks + (part < size % ranks) for part in range(ranks)]
    return [
        [(rank, (rank + 1) % ranks, parts[(rank - step) % ranks]) for rank in range(ranks)]
        for step in range(2 * (ranks - 1))
    ]


def _ft(ranks: int, name: str, text: str) -> Steps:
    points, iterations = FT_CLASSES[name]
    size, rest = divmod(points * FT_POINT_BYTES, ranks * ranks)
    if rest or not size:
        raise BadInput(f"pattern {text!r}: its grid cannot be shared out to {ranks} ranks evenly")
    step = [
        (rank, (rank + shift) % ranks, size) for rank in range(ranks) for shift in range(1, ranks)
    ]
    return [step] * iterations


def make_steps(spec: PatternSpec, ranks: int, size: int) -> Steps:
    """The messages of each step. Raises BadInput for a pattern that does not suit the ranks."""
    if ranks < 2:
        raise BadInput(f"pattern {spec.text!r} for {ranks} ranks; expected two or more")
    match spec.kind:
        case "drc":
            return [
                [(rank, (rank + step) % ranks, size) for rank in range(ranks)]
                for step in range(1, ranks)
            ]
        case "alltoall-phased":
            return _phased(ranks, size)
        case "one-to-all-tree":
            return _tree(ranks, size)
        case "allgather-ring":
            return [[(rank, (rank + 1) % ranks, size) for rank in range(ranks)]] * (ranks - 1)
        case "allreduce":
            return _allreduce(ranks, size)
        case _:
            return _ft(ranks, spec.ft_class, spec.text)


def step_bytes(steps: Steps) -> int:
    """Delivered in all steps together."""
    return sum(size for step in steps for _, _, size in step)
