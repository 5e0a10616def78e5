"""All runs of a comparison, by turns, with a look at how long it will take."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from allemande.compare.runs import MakeCommand, Run, Watched, run_once
from allemande.compare.turns import STOCK, order_of_turns

# Without --timeout: a run may take so many times the slowest before it, and this much more.
TIMEOUT_TIMES = 10
TIMEOUT_MORE_S = 60.0


@dataclass(frozen=True)
class Plan:
    rounds: int = 5
    warmup: int = 1  # stock runs before the first round, which do not count
    seed: int = 1

    @property
    def runs(self) -> int:
        return self.warmup + 2 * self.rounds


# Called before each run: what runs, seconds passed, seconds in all (0: not known yet).
Tell = Callable[[str, float, float], None]


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that ranks on other hosts see as well: the current one mostly is such."""
    here = Path.cwd()
    parent = here if os.access(here, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=".allemande-compare-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Progress:
    """The runs that are done, also when the rest does not come to pass."""

    runs: list[Run]

    def whole_rounds(self) -> list[Run]:
        """Those that count, without a round of which one side is missing."""
        counts = [run.round for run in self.runs]
        return [run for run in self.runs if run.round > 0 and counts.count(run.round) == 2]


def run_all(
    make: MakeCommand, plan: Plan, watched: Watched, folder: Path, done: Progress, tell: Tell
) -> None:
    """Adds to `done` run by run."""
    turns = [(0, STOCK)] * plan.warmup
    for number, sides in enumerate(order_of_turns(plan.rounds, plan.seed), start=1):
        turns += [(number, side) for side in sides]
    for number, side in turns:
        passed_s = sum(run.seconds for run in done.runs)
        slowest_s = max((run.seconds for run in done.runs), default=0.0)
        mean_s = passed_s / len(done.runs) if done.runs else 0.0
        what = f"round {number} of {plan.rounds}, {side}" if number else f"{side}, not counted"
        tell(what, passed_s, mean_s * plan.runs)
        limit_s = watched.timeout_s
        if limit_s is None and done.runs:
            limit_s = TIMEOUT_TIMES * slowest_s + TIMEOUT_MORE_S
        run = run_once(make, side, number, folder, replace(watched, timeout_s=limit_s))
        done.runs.append(run)
