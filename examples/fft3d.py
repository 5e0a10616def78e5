"""A three-dimensional Fourier transform over all ranks, there and back.

The cube of complex numbers lies in slabs along its first axis. Each rank transforms the two axes it
has whole; an MPI_Alltoallw of subarrays turns the slabs around; then it transforms the third. That
is what mpi4py-fft does (https://mpi4py-fft.readthedocs.io); the program adds the times, and checks.

    mpirun -n 32 python -m mpi4py fft3d.py [--size 128] [--repeats 3]
"""

import argparse
import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
from mpi4py_fft.pencil import Transfer

communication_s = 0.0


def timed(transfer):
    """Adds what a call takes to `communication_s`; ranks that compute longer are not waited for."""

    def call(self, *arrays):
        global communication_s
        self.comm.Barrier()
        begin = time.perf_counter()
        transfer(self, *arrays)
        communication_s += time.perf_counter() - begin

    return call


def fill(cube, rank):
    """The same numbers on the same ranks in every run."""
    random = np.random.default_rng(rank)
    cube[...] = random.standard_normal(cube.shape) + 1j * random.standard_normal(cube.shape)


def fingerprint(cube, rank):
    """All bits and where they lie. Of numbers as they were sent: FFTW rounds as it has planned, and
    may plan otherwise in another run."""
    words = np.ascontiguousarray(cube).view(np.uint64).ravel()
    places = np.arange(words.size, dtype=np.uint64) + np.uint64(rank << 32)
    return np.bitwise_xor.reduce((words ^ places) * (2 * places + np.uint64(1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128, help="points along each axis")
    parser.add_argument("--repeats", type=int, default=3, help="transforms there and back")
    choice = parser.parse_args()

    Transfer.forward = timed(Transfer.forward)
    Transfer.backward = timed(Transfer.backward)
    world = MPI.COMM_WORLD
    fft = PFFT(world, [choice.size] * 3, dtype=complex, slab=True)
    cube = newDistArray(fft, forward_output=False)
    spectrum = newDistArray(fft, forward_output=True)
    back = newDistArray(fft, forward_output=False)
    fill(cube, world.rank)

    # The first exchange between two ranks also connects them: not what is measured.
    fft.forward(cube, spectrum)
    global communication_s
    communication_s = 0.0
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(choice.repeats):
        fft.forward(cube, spectrum)
        fft.backward(spectrum, back)
    total_s = time.perf_counter() - begin
    exchanges_s = communication_s

    error = world.allreduce(np.abs(back - cube).max(), MPI.MAX)
    bits = np.array([fingerprint(cube.redistribute(0), world.rank)], dtype=np.uint64)
    world.Allreduce(MPI.IN_PLACE, bits, MPI.BXOR)
    times = np.array([total_s, exchanges_s]) / choice.repeats
    world.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    if world.rank == 0:
        print(f"size {choice.size}^3 complex on {world.size} ranks")
        print(f"result {bits[0]:016x}")
        print(f"error {error:.2g}")
        print(f"seconds {times[0]:.4f}")
        print(f"communication {times[1]:.4f}")
    if not error < 1e-12:
        raise SystemExit(f"the inverse transform is off by {error:g}; expected less than 1e-12")


if __name__ == "__main__":
    main()
