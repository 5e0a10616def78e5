"""`allemande reproduce --check`: what must hold of every experiment, and that it can fail."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from tests.python.changed_constants import CHEAP, SLOW, changed_one
from tests.python.kept_rows import kept_rows

from allemande.cli import main
from allemande.errors import BadInput
from allemande.reproduce import experiment as experiments
from allemande.reproduce.all_checks import check_all
from allemande.reproduce.check_output import print_verdicts
from allemande.reproduce.checks import (
    OFF_MAX,
    Verdict,
    check_rows,
    points_of,
    read_causes,
    read_parameters,
)
from allemande.reproduce.experiment import Experiment, Row
from allemande.reproduce.kinds import run


def verdict_of(experiment: Experiment) -> Verdict:
    return check_rows(experiment, run(experiment, 1).rows)


@pytest.mark.parametrize("name", experiments.names())
def test_what_is_kept_meets_its_checks(name: str) -> None:
    experiment = experiments.load(name)
    verdict = check_rows(experiment, kept_rows(experiment))
    assert verdict.findings
    assert [finding.text for finding in verdict.failed] == []


@pytest.mark.parametrize("name", experiments.names())
def test_every_published_number_is_checked(name: str) -> None:
    experiment = experiments.load(name)
    published = {
        row.point: row.published for row in kept_rows(experiment) if row.published is not None
    }
    judged: set[str] = set()
    for check in experiment.data["check"]:
        if "point" not in check or check["point"] not in published:
            continue
        judged.add(check["point"])
        if "within" in check and "refuted" not in check:  # no wide interval around a number
            value, (low, high) = published[check["point"]], check["within"]
            bound = value in (low, high)  # over 55 %, below 10 %
            assert bound or abs(value) * (1 - OFF_MAX) <= low <= high <= abs(value) * (1 + OFF_MAX)
    assert set(published) <= judged


@pytest.mark.parametrize("name", CHEAP)
def test_a_changed_constant_fails(name: str) -> None:
    experiment = experiments.load(name)
    assert not verdict_of(experiment).failed
    other = changed_one(experiment, *CHEAP[name])
    assert verdict_of(other).failed


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_changed_constant_of_a_longer_experiment_fails(name: str) -> None:
    assert verdict_of(changed_one(experiments.load(name), *SLOW[name])).failed


def test_every_parameter_is_of_an_experiment_and_says_what_it_is() -> None:
    used = {
        name for one in experiments.names() for name in experiments.load(one).data.get("free", [])
    }
    known = read_parameters()
    assert set(known) == used
    figures = {experiments.load(name).figure for name in experiments.names()}
    assert len([name for name, one in known.items() if not one.get("beside", False)]) == 11
    for name, parameter in known.items():
        assert set(parameter) <= {"value", "figure", "meaning", "beside"}, name
        assert {"value", "meaning"} <= set(parameter), name
        assert parameter.get("figure", min(figures)) in figures, name
    assert [name for name, one in known.items() if "figure" not in one] == ["lab-queue"]


def test_parameters_beside_the_papers_are_of_experiments_that_are_of_none() -> None:
    known = read_parameters()
    for name in experiments.names():
        of_paper = name.partition("-")[0].isdigit()
        for parameter in experiments.load(name).data.get("free", []):
            assert known[parameter].get("beside", False) is not of_paper, (name, parameter)


def test_every_cause_explains_a_miss_and_is_shown_by_checks_that_hold() -> None:
    missed = {
        check["missed"]
        for name in experiments.names()
        for check in experiments.load(name).data["check"]
        if "missed" in check
    }
    causes = read_causes()
    assert missed == set(causes)
    assert len(causes) <= 5
    for name, cause in causes.items():
        assert {"meaning", "shown"} <= set(cause) <= {"meaning", "shown", "supposed"}, name
        assert cause["shown"], name
        for shown, point in cause["shown"]:
            experiment = experiments.load(shown)
            checks = [one for one in experiment.data["check"] if point in points_of(one)]
            assert checks, (name, shown, point)
            assert all("missed" not in one for one in checks), (name, shown, point)


def test_what_is_supposed_is_missed_by_that_cause() -> None:
    for name, cause in read_causes().items():
        supposed = cause.get("supposed", [])
        assert len({tuple(one) for one in supposed}) == len(supposed)
        for experiment, point in supposed:
            checks = experiments.load(experiment).data["check"]
            missed = [
                one["missed"] for one in checks if points_of(one)[0] == point and "missed" in one
            ]
            assert missed == [name], (experiment, point)


def test_not_every_miss_of_a_cause_is_supposed() -> None:
    missed = {
        (check["missed"], name, points_of(check)[0])
        for name in experiments.names()
        for check in experiments.load(name).data["check"]
        if "missed" in check
    }
    for name, cause in read_causes().items():
        supposed = {(name, *one) for one in cause.get("supposed", [])}
        assert supposed < {one for one in missed if one[0] == name}, name


def test_a_control_shows_its_cause() -> None:
    controls = {
        name: experiments.load(name).data["control"]
        for name in experiments.names()
        if "control" in experiments.load(name).data
    }
    assert controls
    for name, cause in controls.items():
        assert name in {shown for shown, _ in read_causes()[cause]["shown"]}, name


def test_what_refutes_the_paper_is_not_as_published() -> None:
    check = {"point": "a", "within": [4, 4], "refuted": "a block is left behind"}
    verdict = judged(check, ("a", 3.0, 4.0))
    assert not verdict.failed
    assert not verdict.order_holds
    assert len(verdict.refuted) == 1
    assert judged(check, ("a", 3.0, 3.0)).failed


def judged(check: dict[str, Any], *rows: tuple[str, float | None, float | None]) -> Verdict:
    loaded = experiments.load("000-fig-5")
    experiment = replace(loaded, data={**loaded.data, "check": [check], "free": []})
    return check_rows(experiment, [Row("000 Figure 5", *row) for row in rows])


@pytest.mark.parametrize(
    ("check", "rows", "holds"),
    [
        ({"point": "a", "off": 0.1}, [("a", 10.0, 10.9)], True),
        ({"point": "a", "off": 0.1}, [("a", 10.0, 8.9)], False),
        ({"point": "a", "off": 0}, [("a", 0.0, 0.0)], True),
        ({"point": "a", "off": 0.1}, [("a", 10.0, None)], False),
        ({"point": "a", "within": [1, 2]}, [("a", None, 2.0)], True),
        ({"point": "a", "within": [1, 2]}, [("a", None, 2.1)], False),
        ({"point": "a", "never": True}, [("a", None, None)], True),
        ({"point": "a", "never": True}, [("a", None, 3.0)], False),
        ({"order": ["a", "b"]}, [("a", None, 1.0), ("b", None, 1.1)], True),
        ({"order": ["a", "b"]}, [("a", None, 1.0), ("b", None, 1.0)], False),
        ({"order": ["a", "b"], "apart": 1.2}, [("a", None, 1.0), ("b", None, 1.1)], False),
        ({"order": ["a", "b"]}, [("a", None, None), ("b", None, 1.0)], False),
    ],
)
def test_a_check_holds_or_not(check: dict[str, Any], rows: Any, holds: bool) -> None:
    plain = judged(check, *rows)
    assert plain.order_holds is holds
    assert bool(plain.failed) is not holds
    known = judged({**check, "missed": "hosts-of-then"}, *rows)
    assert bool(known.failed) is holds  # what is met is not to be called missed
    assert len(known.missed) == 1


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"point": "b", "off": 0.1}, "no row is called 'b'"),
        ({"point": "a", "within": [0, 1], "off": 0.1}, "expected point and one of"),
        ({"point": "a", "of": 0.1}, "expected point and one of"),
        ({"point": "a", "off": 0.1}, "no published value"),
        ({"point": "a", "off": 0.15}, "expected 0.1 at most"),
        ({"point": "a", "within": [0, 1], "missed": "because"}, "'because' is no cause"),
    ],
)
def test_a_check_of_what_there_is_not_is_refused(check: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        judged(check, ("a", None, 1.0))


COLUMNS = ("id", "points", "free", "median_off", "worst_off", "order_holds")


def test_check_prints_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "000-table-1", "--check", "--json", "-"]) == 0
    printed = capsys.readouterr()
    (line,) = json.loads(printed.out)
    assert tuple(line) == COLUMNS
    assert line["order_holds"] is True
    assert line["worst_off"] < 0.03
    assert "000 Table 1" in printed.err
    assert main(["reproduce", "000-table-1", "--check", "--csv", "-"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert tuple(row) == COLUMNS
    assert row["order_holds"] == "true"


def printed_of(*names: str) -> str:
    """What is printed of the tables that are kept."""
    out = io.StringIO()
    loaded = [experiments.load(name) for name in names]
    print_verdicts(Console(file=out), [check_rows(one, kept_rows(one)) for one in loaded])
    return out.getvalue()


def test_what_is_supposed_says_so() -> None:
    printed = printed_of("001-fig-5", "001-fig-11-14")
    (count,) = (line for line in printed.splitlines() if line.startswith("not met:"))
    assert count == "not met: 5, causes: 2; 2 of them supposed"
    for line in printed.splitlines():
        supposed = "12288 B, of 1536 B" in line or "bisection 1, of all-to-all: 0.7572" in line
        assert line.endswith("(supposed: no run shows it)") is supposed


def test_parameters_beside_the_papers_are_counted_apart() -> None:
    printed = printed_of("003-fig-4", "dctcp-all-to-all")
    assert "free parameters: 2, and 2 beside the papers\n" in printed
    assert "free parameters: 2\n" in printed_of("003-fig-4")


def test_experiments_side_by_side_find_what_one_after_the_other_does() -> None:
    chosen = [experiments.load(name) for name in ("001-fig-10", "000-table-1", "001-fig-8")]
    chosen.append(changed_one(chosen[1], "value.0.published", 50))
    told: list[float] = []
    ended: list[Verdict] = []
    verdicts = check_all(chosen, 2, told.append, ended.append)
    assert verdicts == [verdict_of(one) for one in chosen]
    assert [bool(verdict.failed) for verdict in verdicts] == [False, False, False, True]
    assert sorted(map(id, ended)) == sorted(map(id, verdicts))
    assert told == sorted(told)
    assert told[-1] == 1


def test_all_says_how_many_are_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("allemande.progress_bar.SILENT_S", 0)
    monkeypatch.setattr("allemande.progress_bar.LOG_EVERY_S", 0)
    monkeypatch.setattr(experiments, "names", lambda: ["000-table-1", "001-fig-10", "001-fig-8"])
    loaded = {name: experiments.load(name) for name in experiments.names()}
    loaded["001-fig-8"] = changed_one(loaded["001-fig-8"], "cluster", "myrinet:9")
    monkeypatch.setattr(experiments, "load", loaded.__getitem__)
    assert main(["reproduce", "--all", "--check", "--workers", "1", "--json", "-"]) == 1
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 3
    lines = [line for line in printed.err.splitlines() if line.startswith("checking 3 exp")]
    assert lines[0].startswith("checking 3 experiments, about")
    assert any(line.startswith("checking 3 experiments, 2 done, about") for line in lines)


def test_what_fails_ends_with_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = experiments.load("000-table-1")
    other = changed_one(loaded, "value.0.published", 50)
    monkeypatch.setattr(experiments, "load", lambda name: other)
    assert main(["reproduce", "000-table-1", "--check"]) == 1
    printed = capsys.readouterr()
    assert "FAILED: 000-table-1: IBM 8275-326, packets: 43, expected 50" in printed.out
    assert "1 of 1 experiments fail: 000-table-1" in printed.err


@pytest.mark.parametrize(
    "arguments",
    [["--check"], ["--all"], ["000-fig-5", "--all", "--check"], ["--all", "--check", "--lab"]],
)
def test_check_takes_an_id_or_all(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *arguments]) == 2
    assert "--all" in capsys.readouterr().err
