"""comm.Alltoall, Alltoallv, Alltoallw, Neighbor_alltoall and Ineighbor_alltoall of mpi4py, in place
too, checked."""

import sys

import numpy as np
from mpi4py import MPI

MOST = 100
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def element(source: int, target: int) -> np.ndarray:
    return (source * 1000 + target) * 1000 + np.arange(MOST)


def count(source: int, target: int) -> int:
    return (7 * source + 3 * target) % 11 * 9


def expect(condition: bool, what: str) -> None:
    if not condition:
        print(f"WRONG: {what} on rank {rank}", file=sys.stderr, flush=True)
        world.Abort(99)


send = np.array([element(rank, to) for to in range(ranks)])
due = np.array([element(source, rank) for source in range(ranks)])

recv = np.full_like(send, -1)
world.Alltoall(send, recv)
expect(np.array_equal(recv, due), "Alltoall")
recv = send.copy()
world.Alltoall(MPI.IN_PLACE, recv)
expect(np.array_equal(recv, due), "Alltoall in place")

places = MOST * np.arange(ranks)
out_counts = [count(rank, to) for to in range(ranks)]
in_counts = [count(source, rank) for source in range(ranks)]
recv = np.full_like(send, -1)
world.Alltoallv([send, (out_counts, places), MPI.INT64_T], [recv, (in_counts, places), MPI.INT64_T])
for source in range(ranks):
    length = in_counts[source]
    expect(np.array_equal(recv[source, :length], due[source, :length]), "Alltoallv")
    expect(bool((recv[source, length:] == -1).all()), "what lies beyond a block of Alltoallv")

# Blocks of the three-dimensional kind: columns of a matrix become rows.
matrix = np.array(
    [[rank * 1000 + row * ranks + column for column in range(ranks)] for row in range(8)]
)
turned = np.full((ranks, 8), -1)
columns = [MPI.INT64_T.Create_subarray([8, ranks], [8, 1], [0, to]).Commit() for to in range(ranks)]
rows = [MPI.INT64_T.Create_subarray([ranks, 8], [1, 8], [of, 0]).Commit() for of in range(ranks)]
ones, zeros = [1] * ranks, [0] * ranks
world.Alltoallw([matrix, ones, zeros, columns], [turned, ones, zeros, rows])
for source in range(ranks):
    wanted = source * 1000 + np.arange(8) * ranks + rank
    expect(np.array_equal(turned[source], wanted), "Alltoallw")
for datatype in columns + rows:
    datatype.Free()

left, right = (rank - 1) % ranks, (rank + 1) % ranks
ring = world.Create_cart([ranks], periods=[True])
both = np.full((2, MOST), -1)
ring.Neighbor_alltoall(np.array([element(rank, left), element(rank, right)]), both)
wanted = np.array([element(left, rank), element(right, rank)])
expect(np.array_equal(both, wanted), "Neighbor_alltoall")
both = np.full((2, MOST), -1)
ring.Ineighbor_alltoall(np.array([element(rank, left), element(rank, right)]), both).Wait()
expect(np.array_equal(both, wanted), "Ineighbor_alltoall")

world.Barrier()
if rank == 0:
    print("MPI", MPI.Get_library_version().splitlines()[0])
    print("CORRECT")
