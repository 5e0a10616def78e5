"""Ranks of tests/mpi/test_python_api.py: the cases named on the command line, one after another."""

from __future__ import annotations

import gc
import sys
import threading
import time
import warnings
import weakref
from typing import Any

import numpy as np
from mpi4py import MPI

import allemande
from allemande.api import ExchangeError, PeerLost, SizeMismatch
from allemande.errors import BadInput

WORLD = MPI.COMM_WORLD  # of the case: a duplicate


def compare(comm: Any, send: Any, items: int) -> None:
    ours, theirs = np.zeros((comm.size, items), send.dtype), np.zeros_like(send)
    allemande.alltoall(comm, send, ours)
    comm.Alltoall(send, theirs)
    assert (ours.reshape(-1) == theirs.reshape(-1)).all()


def equal() -> None:
    for dtype, items in (("f8", 1), ("u1", 7), ("i4", 5000), ("c16", 1)):
        send = (np.arange(WORLD.size * items) + 1000 * WORLD.rank).astype(dtype)
        compare(WORLD, send, items)
    in_place = np.arange(WORLD.size * 3.0) + 100 * WORLD.rank
    expected = np.zeros_like(in_place)
    WORLD.Alltoall(in_place.copy(), expected)
    allemande.alltoall(WORLD, MPI.IN_PLACE, [in_place, MPI.DOUBLE])
    assert (in_place == expected).all()
    received = bytearray(WORLD.size)
    allemande.alltoall(WORLD, bytes([WORLD.rank] * WORLD.size), received)
    assert received == bytes(range(WORLD.size))
    assert allemande.counters(WORLD)["exchanges"] == 6
    assert allemande.counters(WORLD)["packets"] > 0


def vector() -> None:
    ranks = range(WORLD.size)
    counts = [(WORLD.rank + 2 * to) % 4 for to in ranks]
    expected = [(rank + 2 * WORLD.rank) % 4 for rank in ranks]
    places = [5 * rank for rank in reversed(ranks)]
    send = np.arange(5.0 * WORLD.size) + 1000 * WORLD.rank
    ours, theirs = np.full(5 * WORLD.size, -1.0), np.full(5 * WORLD.size, -1.0)
    out, into = [send, (counts, places), MPI.DOUBLE], (expected, places)
    allemande.alltoallv(WORLD, out, [ours, into])
    WORLD.Alltoallv(out, [theirs, into, MPI.DOUBLE])
    assert (ours == theirs).all()
    nothing = [0] * WORLD.size
    allemande.alltoallv(WORLD, [send, nothing], [ours, nothing])
    assert (ours == theirs).all()
    in_place = np.arange(2.0 * WORLD.size) + 1000 * WORLD.rank
    other = in_place.copy()
    twos = [2] * WORLD.size
    allemande.alltoallv(WORLD, MPI.IN_PLACE, [in_place, twos])
    WORLD.Alltoallv(MPI.IN_PLACE, [other, twos])
    assert (in_place == other).all()


def open_exchanges() -> int:
    """Whatever holds one, by the garbage collector."""
    return sum(type(one).__name__ == "_Attached" for one in gc.get_objects())


def communicators() -> None:
    half = WORLD.Split(WORLD.rank % 2, -WORLD.rank)
    for number in range(5):
        again = half.Dup()
        compare(again, np.arange(half.size * 10.0) + number, 10)
        again.Free()
    compare(half, np.arange(half.size * 10.0), 10)
    wrapper = weakref.ref(half)
    again = half.Dup()
    half.Free()
    del half
    gc.collect()
    assert wrapper() is None  # nothing keeps it
    compare(again, np.arange(again.size * 10.0), 10)
    assert open_exchanges() == 1  # those of freed communicators are closed
    compare(MPI.COMM_SELF, np.arange(3.0), 3)


def threads() -> None:
    """While one thread waits in an exchange, others run."""
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.001)

    allemande.alltoall(WORLD, np.zeros(WORLD.size), np.zeros(WORLD.size))
    thread = threading.Thread(target=count)
    thread.start()
    if WORLD.rank == 0:
        time.sleep(1)
    before = turns
    allemande.alltoall(WORLD, np.zeros(WORLD.size), np.zeros(WORLD.size))
    waited = turns - before
    done.set()
    thread.join()
    assert WORLD.rank == 0 or waited > 50, waited


def progress() -> None:
    """Rank 1 comes only when it has a message that rank 0 is still about to send."""
    large = np.zeros(4_000_000)
    allemande.alltoall(WORLD, np.zeros(WORLD.size), np.zeros(WORLD.size))
    request = WORLD.Isend(large, 1, 7) if WORLD.rank == 0 else MPI.REQUEST_NULL
    if WORLD.rank == 1:
        WORLD.Recv(large, 0, 7)
    allemande.alltoall(WORLD, np.zeros(WORLD.size), np.zeros(WORLD.size))
    request.Wait()


def options() -> None:
    for wrong, says in (
        ({"windw": 3}, "windw"),
        ({"omega": "x"}, "`x` is not valid"),
        ({"sites": [1, WORLD.size]}, f"{WORLD.size + 1} ranks at 2 sites; expected all"),
        ({"sites": [0, WORLD.size]}, "expected numbers of ranks above 0"),
        ({"sites": "1,x"}, "`1,x` is no list of ranks of sites"),
    ):
        try:
            allemande.attach(WORLD, **wrong)
            raise AssertionError("attached")
        except BadInput as error:
            assert says in str(error)
    allemande.attach(WORLD, window_packets=7, gso=False)
    compare(WORLD, np.arange(WORLD.size * 1.0), 1)
    try:
        allemande.attach(WORLD)
        raise AssertionError("attached twice")
    except BadInput as error:
        assert "already" in str(error)


def sites() -> None:
    """Two sites, whatever the network: blocks of any size arrive."""
    allemande.attach(WORLD, algorithm="multi-site", transport="udp", sites=[1, WORLD.size - 1])
    for items in (1, 5000):
        compare(WORLD, np.arange(float(WORLD.size * items)) + 1000 * WORLD.rank, items)
    vector()


def arguments() -> None:
    for comm, says in ((7, "of type int"), (MPI.COMM_NULL, "COMM_NULL")):
        try:
            allemande.alltoall(comm, np.zeros(1), np.zeros(1))
            raise AssertionError("taken")
        except BadInput as error:
            assert says in str(error)
    mine: Any = WORLD.Split(WORLD.rank == 0)
    inter = mine.Create_intercomm(0, WORLD, 1 if WORLD.rank == 0 else 0)
    try:
        allemande.alltoall(inter, np.zeros(1), np.zeros(1))
        raise AssertionError("taken")
    except BadInput as error:
        assert "intercommunicator" in str(error)
    both = np.zeros(2 * WORLD.size)
    for send, recv in (
        (np.zeros(WORLD.size), np.zeros(WORLD.size + 1)),
        (both[: WORLD.size], both[1 : WORLD.size + 1]),
    ):
        try:
            allemande.alltoall(WORLD, send, recv)
            raise AssertionError("taken")
        except ValueError:
            pass
    compare(WORLD, np.arange(WORLD.size * 1.0), 1)


def switched_off() -> None:
    """ALLEMANDE_DISABLE=on: the MPI library does it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(WORLD, np.arange(WORLD.size * 4.0), 4)
        compare(WORLD, np.arange(WORLD.size * 4.0), 4)
    assert len(caught) == (WORLD.rank == 0), [str(one.message) for one in caught]
    assert all("left to the MPI library" in str(one.message) for one in caught)


def mismatch() -> None:
    counts = [100] * WORLD.size
    expected = [100] * WORLD.size
    if WORLD.rank == 0:
        expected[1] = 200
    try:
        for _ in range(2):
            allemande.alltoallv(
                WORLD,
                [np.zeros(100 * WORLD.size), counts],
                [np.zeros(100 * WORLD.size + 100), expected],
            )
        raise AssertionError("no error")
    except SizeMismatch as error:
        assert "allemande.alltoallv failed: " in str(error)
        assert WORLD.rank > 0 or "rank 1 on" in str(error), error
    except PeerLost:
        assert WORLD.rank > 1
    try:
        allemande.alltoall(WORLD, np.zeros(WORLD.size), np.zeros(WORLD.size))
        raise AssertionError("no error")
    except ExchangeError:
        pass


if __name__ == "__main__":
    for case in sys.argv[1:]:
        # No case finds what the one before has left behind, and an error is of the case told last.
        print(f"CASE {case}", file=sys.stderr, flush=True)
        WORLD = MPI.COMM_WORLD.Dup()
        globals()[case]()
        WORLD.Barrier()
        if case != sys.argv[-1]:  # which ends with the program
            WORLD.Free()
    if MPI.COMM_WORLD.rank == 0:
        print("CORRECT", *sys.argv[1:])
