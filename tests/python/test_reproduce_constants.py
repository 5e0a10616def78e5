"""That the checks of an experiment fail where one of its constants is changed, and only then.

Only what a check needs of the experiment is run: its curves, at its x, once. Where times were
measured in the lab, that what is kept gives the rows of the README, and other times do not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.python.changed_constants import CHEAP, REDUCED, SLOW, changed, reduced
from tests.python.kept_rows import kept_rows

from allemande.reproduce import experiment as experiments
from allemande.reproduce.checks import Verdict, check_rows
from allemande.reproduce.experiment import Experiment
from allemande.reproduce.kinds import run

# All that they show was measured in the lab, and is drawn from the file that is kept.
LAB = ["003-fig-1", "003-fig-2", "003-fig-3", "003-fig-6", "003-fig-7", "003-fig-8", "003-fig-9"]

Which = Callable[[dict[str, Any]], bool]
Other = Callable[[dict[str, Any], float], float]


def _of(candidate: str) -> Which:
    return lambda point: point["part"] == "grid" and point["candidate"].endswith(candidate)


def _times(factor: float) -> Other:
    return lambda point, seconds: factor * seconds


# Which points of the file have other times, and what they are.
OTHER_TIMES: dict[str, tuple[Which, Other]] = {
    "003-fig-1": (lambda point: True, lambda point, seconds: 1e-3 + 1e-7 * point["size"]),
    "003-fig-2": (lambda point: point["hosts"] > 2, _times(2)),
    "003-fig-3": (lambda point: point["hosts"] > 2, _times(3.8)),
    "003-fig-6": (_of("openmpi"), _times(10)),
    "003-fig-8": (_of("local-group"), _times(10)),
    "003-fig-9": (_of("local-group"), _times(1.3)),
}


def verdict_of(experiment: Experiment) -> Verdict:
    return check_rows(experiment, run(experiment, 1).rows)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * one.slow) for name, one in REDUCED.items()],
)
def test_what_is_reduced_holds_and_a_changed_constant_fails(name: str) -> None:
    one = REDUCED[name]
    smaller = reduced(changed(experiments.load(name), one.smaller), one.point)
    assert [finding.text for finding in verdict_of(smaller).failed] == []
    assert verdict_of(changed(smaller, one.changes)).failed


@pytest.mark.parametrize("name", LAB)
def test_kept_times_give_the_rows_of_the_readme(name: str) -> None:
    """What is measured in the lab, unchanged: the rows are those that are written down."""
    experiment = experiments.load(name)
    verdict = verdict_of(experiment)
    assert [finding.text for finding in verdict.failed] == []
    kept = {row.point: (row.published, row.ours) for row in kept_rows(experiment)}
    for row in run(experiment, 1).rows:
        for ours, written in zip((row.published, row.ours), kept.pop(row.point), strict=True):
            assert ours == written or ours == pytest.approx(written, rel=1e-3), row.point
    assert not kept


@pytest.mark.parametrize("name", OTHER_TIMES)
def test_other_times_fail(name: str, tmp_path: Path) -> None:
    which, other = OTHER_TIMES[name]
    experiment = experiments.load(name)
    shutil.copytree(experiment.folder, tmp_path / name)
    path = tmp_path / name / experiment.data["lab"]
    kept = json.loads(path.read_text(encoding="utf-8"))
    chosen = [point for point in kept["points"] if which(point)]
    assert chosen
    for point in chosen:
        point["times_s"] = [other(point, seconds) for seconds in point["times_s"]]
    path.write_text(json.dumps(kept), encoding="utf-8")
    assert verdict_of(replace(experiment, folder=tmp_path / name)).failed


def test_every_experiment_can_fail() -> None:
    """By a constant changed here or in test_reproduce_checks.py, or by other times of the lab."""
    assert {*REDUCED, *CHEAP, *SLOW, *OTHER_TIMES} == set(experiments.names())
