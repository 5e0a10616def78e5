"""What a comparison asks of all candidates: a collective, who sends how much, who runs where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from allemande.errors import BadInput
from allemande.flow_limit import alltoall_limits, flow_limit
from allemande.lab.placement import Placement, one_per_host
from allemande.matrix import (
    ENTRY_MAX,
    Matrix,
    MatrixSpec,
    delivered_bytes,
    leaf_groups,
    make_matrix,
    mean_of,
)
from allemande.topology import Cluster

BLOCKING = ("alltoall", "alltoallv", "alltoallw")
COLLECTIVES = (*BLOCKING, *(f"i{name}" for name in BLOCKING))
MATRIX_FILE = "matrix.bin"


@dataclass(frozen=True)
class Workload:
    """`sizes` are bytes per pair; with a matrix the mean, and the name of what is measured."""

    limits_s: Mapping[int, float]  # by size
    collective: str = "alltoall"
    placement: Placement = field(default_factory=lambda: one_per_host(1))
    matrix: str | None = None  # None: the size to everybody
    matrices: Mapping[int, Matrix] = field(default_factory=dict)
    seed: int = 1
    hosts: tuple[str, ...] = ()  # of each rank; empty where nobody looks
    pattern: str | None = None  # a call is then all of its steps
    steps: Mapping[int, Sequence[Matrix]] = field(default_factory=dict)  # by size, of a pattern

    def arguments(self, sizes: Sequence[int], folder: Path) -> list[str]:
        """For the benchmark program; what it reads is written into the folder."""
        words = ["--sizes", ",".join(str(size) for size in sizes)]
        if self.collective != "alltoall":
            words += ["--collective", self.collective]
        matrices = [self.matrices[size] for size in sizes] if self.matrices else []
        if self.steps:
            matrices = [matrix for size in sizes for matrix in self.steps[size]]
            words += ["--steps", str(len(self.steps[sizes[0]]))]
        if matrices:
            path = folder / MATRIX_FILE
            rows = [np.ascontiguousarray(matrix, dtype=np.int64) for matrix in matrices]
            path.write_bytes(b"".join(matrix.tobytes() for matrix in rows))
            words += ["--matrix", str(path)]
        return words

    def delivered_bytes(self, size: int) -> int:
        """By one call: payload that reaches another rank."""
        if self.steps:
            return sum(delivered_bytes(matrix) for matrix in self.steps[size])
        ranks = self.placement.ranks
        matrix = self.matrices.get(size)
        return ranks * (ranks - 1) * size if matrix is None else delivered_bytes(matrix)

    def labels(self) -> dict[str, str | int | None]:
        """What every figure says about it."""
        return {
            "collective": self.collective,
            "matrix": self.matrix,
            "pattern": self.pattern,
            "ranks": self.placement.ranks,
            "ranks_per_host": int(text) if (text := self.placement.text).isdigit() else text,
            "rank_order": self.placement.order,
            "seed": self.seed,
        }

    def bytes_max(self, size: int) -> int:
        """The size of the send and receive buffers of all ranks together."""
        if self.steps:
            return max(2 * int(matrix.sum()) for matrix in self.steps[size])
        matrix = self.matrices.get(size)
        if matrix is None:
            return 2 * self.placement.ranks**2 * size
        return 2 * int(matrix.sum())

    def describe(self) -> str | None:
        """A line for people, where it is not the plain exchange of one rank per host."""
        parts = []
        if self.collective != "alltoall":
            parts.append(f"MPI_{self.collective.capitalize()}")
        if self.matrix is not None:
            parts.append(f"matrix {self.matrix}, seed {self.seed}")
        if self.pattern is not None:
            parts.append(f"pattern {self.pattern}, a call is all of its steps")
        if self.placement.shares_hosts:
            parts.append(f"{self.placement.text} ranks per host, {self.placement.order} order")
        return "; ".join(parts) or None


def check_collective(name: str) -> None:
    if name not in COLLECTIVES:
        raise BadInput(f"collective {name!r} is unknown; expected one of: {', '.join(COLLECTIVES)}")


def _takes_counts(collective: str) -> bool:
    """Whether pairs may exchange different amounts."""
    return collective[-1] in "vw"


def _check_offsets(matrix: Matrix, what: str) -> None:
    """MPI counts where blocks begin as int: so much may a rank send or receive."""
    for axis, word in ((1, "sends"), (0, "receives")):
        sums = matrix.sum(axis=axis)
        rank = int(sums.argmax())
        if int(sums[rank]) > ENTRY_MAX:
            raise BadInput(
                f"{what}: rank {rank} {word} {int(sums[rank])} bytes; MPI's offsets end at "
                f"{ENTRY_MAX}: use smaller --sizes"
            )


def make_workload(
    cluster: Cluster,
    sizes: Sequence[int],
    collective: str = "alltoall",
    matrix: MatrixSpec | None = None,
    seed: int = 1,
    placement: Placement | None = None,
) -> Workload:
    """`cluster`: at the scale it is emulated with. A matrix file says itself how many bytes."""
    check_collective(collective)
    counts = _takes_counts(collective)
    if not counts and matrix is not None and matrix.kind != "uniform":
        raise BadInput(
            f"--matrix {matrix.text}: MPI_{collective.capitalize()} sends the same to everybody; "
            f"use --collective {collective}v or {collective}w"
        )
    names = [host.name for host in cluster.hosts]
    where = placement or one_per_host(len(names))
    of_ranks = [names[host] for host in where.of_ranks()]
    matrices: dict[int, Matrix] = {}
    if counts and matrix is not None and matrix.kind != "uniform":
        groups = leaf_groups(cluster, of_ranks)
        for mean in [1] if matrix.has_own_sizes else sizes:
            made = make_matrix(matrix, where.ranks, mean, seed, groups)
            _check_offsets(made, f"matrix {matrix.text!r}")
            matrices[max(1, mean_of(made)) if matrix.has_own_sizes else mean] = made
    elif counts:
        _check_offsets(np.full((1, 1), where.ranks * max(sizes)), f"MPI_{collective.capitalize()}")
    limits_s: dict[int, float] = {}
    if matrices or where.shares_hosts or 0 in where.slots:
        for size in matrices or sizes:
            even = np.full((where.ranks, where.ranks), size)
            rows = matrices.get(size, even).tolist()
            limits_s[size] = flow_limit(cluster, of_ranks, rows).seconds
    else:
        limits = alltoall_limits(cluster, sizes)
        limits_s = {size: limit.seconds for size, limit in zip(sizes, limits, strict=True)}
    text = None
    if counts:
        text = "uniform" if matrix is None else matrix.text
    return Workload(limits_s, collective, where, text, matrices, seed, tuple(of_ranks))
