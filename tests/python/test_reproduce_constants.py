"""That the checks of an experiment fail where one of its constants is changed.

Only what a check needs of the experiment is run: its curves, at its x, once.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.python.changed_constants import CHEAP, REDUCED, SLOW, changed, reduced

from allemande.reproduce import experiment as experiments
from allemande.reproduce.checks import check_rows
from allemande.reproduce.kinds import run


@pytest.mark.parametrize("name", REDUCED)
def test_a_changed_constant_fails(name: str) -> None:
    point, changes = REDUCED[name]
    experiment = reduced(changed(experiments.load(name), changes), point)
    assert check_rows(experiment, run(experiment, 1).rows).failed


def test_a_straight_line_has_no_bend(tmp_path: Path) -> None:
    experiment = experiments.load("003-fig-1")
    shutil.copytree(experiment.folder, tmp_path / "one")
    path = tmp_path / "one" / experiment.data["lab"]
    kept = json.loads(path.read_text())
    for entry in kept["points"]:
        entry["times_s"] = [1e-3 + 1e-7 * entry["size"]]
    path.write_text(json.dumps(kept))
    experiment = replace(experiment, folder=tmp_path / "one")
    assert check_rows(experiment, run(experiment, 1).rows).failed


def test_every_experiment_can_fail() -> None:
    """By a constant changed here, in test_reproduce_checks.py, or in the test above."""
    assert {*REDUCED, *CHEAP, *SLOW, "003-fig-1"} == set(experiments.names())
