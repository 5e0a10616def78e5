"""Many cases on all cores. A result depends on its case alone, never on who computed it or when."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from allemande.simulation.case import Case, Result, run_case

POLL_S = 0.1
CASE_COST = 20_000  # bytes per pair that take as long as starting a case

Item = TypeVar("Item")
Made = TypeVar("Made")
# Told the part of all work that is done, 0 to 1.
SweepWatcher = Callable[[float], None]
# What is done with an item; told where to say which part of it is done. A function of a module, so
# that another process finds it.
Work = Callable[[Item, SweepWatcher | None], Made]
# Told the number of an item, and what was made of it, as soon as it is.
Ended = Callable[[int, Made], None]

shared_progress: Any = None  # of a worker process: one slot per item
shared_items: Sequence[Any] = ()  # of a worker process


def _adopt(slots: Any, items: Sequence[Any]) -> None:
    """Runs in each worker as it starts."""
    global shared_progress, shared_items
    shared_progress = slots
    shared_items = items
    # A Ctrl-C reaches every process of the terminal: the first one says so, the others just end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work_shared(work: Work[Any, Made], index: int) -> Made:
    def tell(done: float) -> None:
        shared_progress[index] = done

    made = work(shared_items[index], tell)
    shared_progress[index] = 1.0
    return made


def spread(
    work: Work[Item, Made],
    items: Sequence[Item],
    costs: Sequence[float],
    workers: int = 0,
    watcher: SweepWatcher | None = None,
    ended: Ended[Made] | None = None,
) -> list[Made]:
    """What `work` makes of each item, in the order of the items, by processes side by side.

    `workers` 0: as many as there are cores. `costs`: of an item among the others, as ratios.
    """
    workers = min(workers or len(os.sched_getaffinity(0)), len(items))
    if workers <= 1:
        return _one_by_one(work, items, costs, watcher, ended)
    context = multiprocessing.get_context("spawn")
    slots: Any = context.Array("d", len(items), lock=False)
    # The dearest first, or the last one would run alone at the end.
    order = sorted(range(len(items)), key=lambda index: -costs[index])
    others = set(multiprocessing.active_children())
    # The pool's pipe holds 64 KiB. Where an item does not fit, and those who read are ended, what
    # writes it would wait for ever. So workers get the items as they start, and the pipe numbers.
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_adopt, initargs=(slots, items)
    ) as pool:
        made: dict[int, Made] = {}
        try:
            futures: dict[Future[Made], int] = {
                pool.submit(_work_shared, work, index): index for index in order
            }
            pending = set(futures)
            while pending:
                done, pending = wait(pending, POLL_S, FIRST_COMPLETED)
                for future in done:
                    index = futures[future]
                    made[index] = future.result()
                    if ended is not None:
                        ended(index, made[index])
                if watcher is not None:
                    parts = sum(c * part for c, part in zip(costs, slots, strict=True))
                    watcher(parts / sum(costs))
        except BaseException:
            # What runs cannot be cancelled, and may take minutes.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [made[index] for index in range(len(items))]


def _one_by_one(
    work: Work[Item, Made],
    items: Sequence[Item],
    costs: Sequence[float],
    watcher: SweepWatcher | None,
    ended: Ended[Made] | None,
) -> list[Made]:
    total = sum(costs)
    all_made = []
    before = 0.0
    for index, (item, own) in enumerate(zip(items, costs, strict=True)):
        tell = None if watcher is None else _tell_part(watcher, before / total, own / total)
        made = work(item, tell)
        if ended is not None:
            ended(index, made)
        all_made.append(made)
        before += own
    return all_made


def _tell_part(watcher: SweepWatcher, before: float, part: float) -> SweepWatcher:
    last = -1.0

    def tell(done: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= POLL_S:
            last = now
            watcher(before + part * done)

    return tell


def _cost(case: Case) -> float:
    """Work of a case among others on like networks."""
    exchanges = case.options.get("exchanges", 1)
    return float(case.size * exchanges + CASE_COST)


def run_cases(
    cases: Sequence[Case], workers: int = 0, watcher: SweepWatcher | None = None
) -> list[Result]:
    """Results in the order of the cases. `workers` 0: as many as there are cores."""
    return spread(run_case, cases, [_cost(case) for case in cases], workers, watcher)
