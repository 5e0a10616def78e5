"""Several experiments at once, each in a process, and what their checks find."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allemande.errors import Failed
from allemande.reproduce.checks import Verdict, check_rows
from allemande.reproduce.experiment import Experiment, Row
from allemande.reproduce.kinds import run
from allemande.reproduce.written_rows import read_written, seconds_of
from allemande.simulation.parallel import SweepWatcher, spread


def _rows(experiment: Experiment, watcher: SweepWatcher | None) -> list[Row]:
    """All of it is simulated anew, in this process: plots stay behind, rows go to the caller."""
    return list(run(experiment, 1, watcher).rows)


def _cost(experiment: Experiment) -> float:
    """The seconds that it took when its table was written."""
    unknown = "10 s"  # it has no table yet
    try:
        text = (experiment.folder / "README.md").read_text(encoding="utf-8")
        return seconds_of(read_written(text, experiment.name).took or unknown)
    except (Failed, FileNotFoundError):
        return seconds_of(unknown)


def check_all(
    experiments: Sequence[Experiment],
    workers: int = 0,
    watcher: SweepWatcher | None = None,
    checked: Callable[[Verdict], None] | None = None,
) -> list[Verdict]:
    """Verdicts in the order of the experiments. `checked` is told each as soon as it is known."""
    if len(experiments) == 1:
        return [check_rows(experiments[0], run(experiments[0], workers, watcher).rows)]
    verdicts: dict[int, Verdict] = {}

    def judge(index: int, rows: list[Row]) -> None:
        verdicts[index] = check_rows(experiments[index], rows)
        if checked is not None:
            checked(verdicts[index])

    spread(_rows, experiments, [_cost(one) for one in experiments], workers, watcher, judge)
    return [verdicts[index] for index in range(len(experiments))]
