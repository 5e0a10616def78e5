"""MPI_Alltoall by every algorithm of the library, and ours, at several sizes and numbers of hosts.

All ranks begin a call at the same moment of their synchronised clocks, and the call has taken until
the last has ended. The budget decides what is timed: a few calls of everything, small exchanges
first, then more of everything until it is spent. A way is left out where a smaller exchange says
that one call would take too much of what is left.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from allemande import _core
from allemande.errors import Failed
from allemande.probe.job_bed import JobBed
from allemande.probe.library_ways import LibraryWay, kind_of, library_ways, open_variables
from allemande.probe.mpi_tool import ControlVariables
from allemande.probe.network_findings import WaySample

SIZES = (100, 400, 1000, 4000, 10_000, 20_000, 50_000)  # bytes per pair
APART_S = 0.004  # from the end of a call to the beginning of the next
UNIT_SHARE = 0.03  # of the budget, for the calls of one way, size and number of hosts
FIRST_CALLS, MORE = 3, 4  # in the first pass; so many times more in each that follows
LONGEST_SHARE = 0.15  # of what is left, for one call


OWN = ("sync-shuffle", "pairwise", "combine")  # algorithms of ours, as the option names them

Bytes = npt.NDArray[np.uint8]
Call = Callable[[], None]


def _available(comm: Any) -> tuple[str, int]:
    """The library, and how many ways it can be told to take. On every rank."""
    from mpi4py import MPI

    kind = kind_of(MPI.Get_library_version())
    return kind, len(library_ways(kind, open_variables()))


@contextmanager
def _own(part: Any, algorithm: str, cluster: str, out: Bytes, back: Bytes) -> Iterator[Call]:
    """Calls of ours on a communicator, over the network as it was found."""
    size = out.size // part.Get_size()
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(cluster)
        file.flush()
        exchange = _core.Exchange(
            part.Get_size(),
            part.Get_rank(),
            lambda mine: b"".join(part.allgather(mine)),
            None,
            [f"cluster={file.name}", f"algorithm={algorithm}"],
        )

        def call() -> None:
            if exchange.alltoall(out, back, size) != _core.ALM_OK:
                raise Failed(f"algorithm {algorithm}: {exchange.error()}")

        try:
            opened = exchange.open() == _core.ALM_OK
            if not all(part.allgather(opened)):
                raise Failed(f"algorithm {algorithm}: {exchange.error()}")
            yield call
        finally:
            part.Barrier()
            exchange.close()


def _time_calls(
    comm: Any,
    number: int,
    hosts: int,
    size: int,
    calls: int,
    unit_s: float,
    cluster: str,
    offsets: Sequence[int],
) -> list[float]:
    """The slowest rank's seconds of each call of way `number`, the first call left out.

    The library's ways come first, then ours. On every rank of the job; those that take no part
    return an empty list. Ends early when `unit_s` is over.
    """
    from mpi4py import MPI

    rank = comm.Get_rank()
    variables = open_variables()
    ways = library_ways(kind_of(MPI.Get_library_version()), variables)
    chosen = ways[number] if number < len(ways) else ways[0]
    _tell_library(variables, chosen)
    part = comm.Split(0 if rank < hosts else MPI.UNDEFINED, rank)
    times: list[float] = []
    if part != MPI.COMM_NULL:
        out = np.zeros(hosts * size, np.uint8)
        back = np.empty_like(out)
        if number < len(ways):
            times = _calls(MPI, part, lambda: part.Alltoall(out, back), calls, unit_s, offsets)
        else:
            with _own(part, OWN[number - len(ways)], cluster, out, back) as call:
                times = _calls(MPI, part, call, calls, unit_s, offsets)
        part.Free()
    _tell_library(variables, ways[0])
    return times if rank == 0 else []


def _tell_library(variables: ControlVariables | None, way: LibraryWay) -> None:
    if variables is not None:
        for name, value in way.variables.items():
            variables.write(name, value)


def _calls(
    mpi: Any, part: Any, call: Call, calls: int, unit_s: float, offsets: Sequence[int]
) -> list[float]:
    offset_ns: int = offsets[part.Get_rank()]  # a part has the job's first ranks

    def now() -> int:
        """By rank 0's clock."""
        return time.time_ns() - offset_ns

    times = []
    begin = part.allreduce(now(), op=mpi.MAX) + round(APART_S * 1e9)
    first = begin
    for turn in range(calls + 1):
        left = (begin - now()) / 1e9
        if left > 0:
            time.sleep(left)
        call()
        end = part.allreduce(now(), op=mpi.MAX)
        if turn > 0:
            times.append((end - begin) / 1e9)
        if (end - first) / 1e9 > unit_s and times:
            break
        begin = part.allreduce(now(), op=mpi.MAX) + round(APART_S * 1e9)
    return times


def _host_counts(ranks: int) -> list[int]:
    """All, three quarters, a half and a quarter; four at least."""
    counts = {ranks, 3 * ranks // 4, ranks // 2, ranks // 4}
    return sorted(count for count in counts if count >= min(4, ranks))


def measure_library(
    bed: JobBed,
    candidates: Sequence[str],
    repeat: int,
    budget_s: float,
    cluster: str,
    tell: Callable[[str], None] = lambda _: None,
) -> list[WaySample]:
    """Samples of all ways, within the budget. At rank 0. `cluster`: the network as found."""
    counts = _host_counts(len(bed.hosts))
    units = [
        (hosts * (hosts - 1) * size, hosts, size, number)
        for hosts in counts
        for size in SIZES
        for number in range(len(candidates))
    ]
    begin = time.monotonic()
    found: dict[tuple[int, int, int], list[float]] = {}  # hosts, bytes, way
    took: dict[tuple[int, int], tuple[int, float]] = {}  # way, hosts: bytes, seconds
    left_out: set[int] = set()
    calls = min(FIRST_CALLS, repeat)
    while True:
        spent = False
        for _, hosts, size, number in sorted(units):
            times = found.setdefault((hosts, size, number), [])
            left_s = budget_s - (time.monotonic() - begin)
            before = took.get((number, hosts))
            likely_s = before[1] * max(1.0, size / before[0]) if before else 0.0
            wanted = min(calls, repeat - len(times))
            if (
                number in left_out
                or left_s <= 0
                or likely_s > LONGEST_SHARE * left_s
                or wanted <= 0
            ):
                continue
            unit_s = min(UNIT_SHARE * budget_s, left_s)
            way = (number, hosts, size, wanted, unit_s, cluster)
            try:
                times += bed.together_by_clock(_time_calls, *way)[0]
            except Failed as error:
                tell(f"{candidates[number]} is left out: {error}")
                left_out.add(number)
                continue
            took[number, hosts] = (size, float(np.median(times)))
            spent = True
            tell(f"{candidates[number]}, {hosts} hosts, {size} bytes: {np.median(times):.4g} s")
        if not spent:
            break
        calls *= MORE
    return [
        WaySample(candidates[number], list(range(hosts)), size, times)
        for (hosts, size, number), times in sorted(found.items())
        if times
    ]


def candidates_of(bed: JobBed) -> list[str]:
    """The names of the ways that can be timed, the library's first; empty: an unknown library."""
    from mpi4py import MPI

    found = bed.together(_available)
    kind = kind_of(MPI.Get_library_version())
    names = [way.candidate for way in library_ways(kind, open_variables())]
    if any(one != (kind, len(names)) for one in found) or not names:
        return []
    return names + [f"allemande+{kind}:algorithm={algorithm}" for algorithm in OWN]
