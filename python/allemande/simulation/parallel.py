"""Many cases on all cores. A result depends on its case alone, never on who computed it or when."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from allemande.simulation.case import Case, Result, run_case

POLL_S = 0.1
CASE_COST = 20_000  # bytes per pair that take as long as starting a case

# Told the part of all work that is done, 0 to 1.
SweepWatcher = Callable[[float], None]

shared_progress: Any = None  # of a worker process: one slot per case


def _adopt_progress(slots: Any) -> None:
    """Runs in each worker as it starts."""
    global shared_progress
    shared_progress = slots
    # A Ctrl-C reaches every process of the terminal: the first one says so, the others just end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_shared(index: int, case: Case) -> Result:
    def tell(done: float) -> None:
        shared_progress[index] = done

    result = run_case(case, tell)
    shared_progress[index] = 1.0
    return result


def _cost(case: Case) -> float:
    """Work of a case among others on like networks: only ratios count."""
    exchanges = case.options.get("exchanges", 1)
    return float(case.size * exchanges + CASE_COST)


def run_cases(
    cases: Sequence[Case], workers: int = 0, watcher: SweepWatcher | None = None
) -> list[Result]:
    """Results in the order of the cases. `workers` 0: as many as there are cores."""
    workers = min(workers or len(os.sched_getaffinity(0)), len(cases))
    if workers <= 1:
        return _run_one_by_one(cases, watcher)
    costs = [_cost(case) for case in cases]
    context = multiprocessing.get_context("spawn")
    slots: Any = context.Array("d", len(cases), lock=False)
    # The dearest first, or the last one would run alone at the end.
    order = sorted(range(len(cases)), key=lambda index: -costs[index])
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_adopt_progress, initargs=(slots,)
    ) as pool:
        futures: dict[int, Future[Result]] = {
            index: pool.submit(_run_shared, index, cases[index]) for index in order
        }
        pending = set(futures.values())
        try:
            while pending:
                done, pending = wait(pending, POLL_S, FIRST_COMPLETED)
                for future in done:
                    future.result()
                if watcher is not None:
                    parts = sum(c * part for c, part in zip(costs, slots, strict=True))
                    watcher(parts / sum(costs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [futures[index].result() for index in range(len(cases))]


def _run_one_by_one(cases: Sequence[Case], watcher: SweepWatcher | None) -> list[Result]:
    costs = [_cost(case) for case in cases]
    total = sum(costs)
    results = []
    before = 0.0
    for case, own in zip(cases, costs, strict=True):
        if watcher is None:
            results.append(run_case(case))
        else:
            results.append(run_case(case, _tell_part(watcher, before / total, own / total)))
        before += own
    return results


def _tell_part(watcher: SweepWatcher, before: float, part: float) -> Callable[[float], None]:
    last = -1.0

    def tell(done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= POLL_S:
            last = now
            watcher(before + part * done)

    return tell
