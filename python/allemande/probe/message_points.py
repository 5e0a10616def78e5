"""alpha and beta of the library's messages: ping-pong between two hosts, pair after pair."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from allemande.probe.estimate import Estimate
from allemande.probe.job_bed import JobBed
from allemande.probe.lone_packets import Pair
from allemande.probe.network_findings import ACROSS, LEAF, MPI, Quantity

SIZES = (1, 1000, 4000, 16_000, 64_000)
TAG = 25
PAIR_S = 1.0  # for one pair and size, at most


def _ping(comm: Any, first: int, second: int, size: int, count: int) -> list[float]:
    """Half round trips in seconds at rank `first`; an empty list elsewhere. On every rank."""
    rank = comm.Get_rank()
    if rank not in (first, second):
        return []
    out = np.zeros(size, np.uint8)
    back = np.empty_like(out)
    halves = []
    end = time.perf_counter() + PAIR_S
    for turn in range(count + 1):
        if rank == second:
            comm.Recv(back, first, TAG)
            if back[0]:
                break
            comm.Send(out, first, TAG)
            continue
        begin = time.perf_counter()
        out[0] = turn > 2 and begin > end
        comm.Send(out, second, TAG)
        if out[0]:
            break
        comm.Recv(back, second, TAG)
        halves.append((time.perf_counter() - begin) / 2)
    return halves[1:]


def measure_messages(bed: JobBed, pairs: Sequence[Pair], repeat: int) -> list[Quantity]:
    """alpha and beta by level: the line through the quickest of each size. At rank 0."""
    count = max(4, repeat // 4)
    found: list[Quantity] = []
    for level in (LEAF, ACROSS):
        alphas, betas = [], []
        for pair in pairs:
            if pair.level != level:
                continue
            times = []
            for size in SIZES:
                halves = bed.together(_ping, pair.first, pair.second, size, count)
                times.append(halves[pair.first])
            if any(len(some) < 2 for some in times):
                continue
            for part in range(2):
                typical = [float(np.median(some[part::2])) for some in times]
                slope = float(np.polyfit(SIZES, typical, 1)[0])
                betas.append(slope)
                alphas.append(typical[0])
        if alphas:
            found.append(Quantity("alpha", Estimate.of(alphas), level, MPI))
            found.append(Quantity("beta", Estimate.of(betas), level, MPI))
    return found
