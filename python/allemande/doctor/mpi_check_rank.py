"""One process of the doctor's job: an MPI_Alltoall through ctypes, so that no compiler is needed.

Arguments: openmpi or mpich, and its shared library. Only the standard library: it runs with `-S`.
"""

from __future__ import annotations

import ctypes
import signal
import sys

TIMEOUT_S = 120


def _handles(kind: str, library: ctypes.CDLL) -> tuple[object, object]:
    """MPI_COMM_WORLD and MPI_INT: addresses with Open MPI, numbers with MPICH."""
    if kind == "openmpi":
        world = ctypes.c_char.in_dll(library, "ompi_mpi_comm_world")
        integer = ctypes.c_char.in_dll(library, "ompi_mpi_int")
        return ctypes.c_void_p(ctypes.addressof(world)), ctypes.c_void_p(ctypes.addressof(integer))
    return ctypes.c_int(0x44000000), ctypes.c_int(0x4C000405)


class DlInfo(ctypes.Structure):
    _fields_ = [
        ("fname", ctypes.c_char_p),
        ("fbase", ctypes.c_void_p),
        ("sname", ctypes.c_char_p),
        ("saddr", ctypes.c_void_p),
    ]


def _file_of(function: object) -> str:
    info = DlInfo()
    address = ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]
    ctypes.CDLL(None).dladdr(address, ctypes.byref(info))
    return (info.fname or b"").decode()


def main() -> int:
    kind, path = sys.argv[1:]
    signal.alarm(TIMEOUT_S)  # should even the launcher be gone
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    seen = ctypes.CDLL(None)  # as a program that is linked to MPI sees it: preloaded names first
    world, integer = _handles(kind, library)
    if "liballemande" not in _file_of(seen.MPI_Alltoall):
        print("the preloaded library is not in front of MPI's functions")
        return 1
    if seen.MPI_Init(None, None) != 0:
        print("MPI_Init failed")
        return 1
    rank, size = ctypes.c_int(), ctypes.c_int()
    seen.MPI_Comm_rank(world, ctypes.byref(rank))
    seen.MPI_Comm_size(world, ctypes.byref(size))
    send = (ctypes.c_int * size.value)(*(100 * rank.value + to for to in range(size.value)))
    recv = (ctypes.c_int * size.value)()
    code = seen.MPI_Alltoall(send, 1, integer, recv, 1, integer, world)
    expected = [100 * origin + rank.value for origin in range(size.value)]
    right = code == 0 and list(recv) == expected and size.value == 2
    text = "EXCHANGED" if right else f"code {code}, received {list(recv)} of {expected}"
    print(text, flush=True)
    seen.MPI_Finalize()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
