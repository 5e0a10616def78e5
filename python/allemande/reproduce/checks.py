"""What must hold of the rows of an experiment: the [[check]] tables of experiment.toml.

point = "sync+GW: part of Eq 2 at best"     one row, and one of
off = 0.05                                      at most so far from the published value, OFF_MAX
                                                or less
within = [0.9, 1]                               ours lies there
never = true                                    it never comes to that
order = ["shift", "pairwise", "sync"]       or several rows: ours rise
apart = 1.01                                    each so many times the one before
missed = "hosts-of-then"                    that it does not hold is known: a cause of causes.toml
refuted = "reason"                          what has to hold shows that the paper errs

A check that is missed has to fail: one that holds is to be kept by taking `missed` away. What no
run shows of the misses of a cause is `supposed` there. `free`
names the parameters of parameters.toml that the experiment has. A control (`control = "CAUSE"`)
changes a constant of another experiment to show a cause: it is no reproduction of its figure.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from allemande.errors import BadInput
from allemande.reproduce.experiment import Experiment, Row, causes_file, parameters_file

KINDS = ("off", "within", "never", "order")
KEYS = {*KINDS, "point", "apart", "missed", "refuted"}
# One tolerance for all figures: what is further off is missed, and needs a cause.
OFF_MAX = 0.1


@dataclass(frozen=True)
class Finding:
    """A check, as it came out."""

    point: str  # the row that is judged, the first one of an order
    text: str  # what had to hold, and what came out
    holds: bool
    missed: str | None  # the name of the known cause
    refuted: str | None = None

    @property
    def as_expected(self) -> bool:
        return self.holds == (self.missed is None)


@dataclass(frozen=True)
class Verdict:
    experiment: Experiment
    points: int  # rows that a check judges
    free: Sequence[str]
    deviations: Sequence[float]  # of the rows that have a published number
    findings: Sequence[Finding]

    @property
    def order_holds(self) -> bool:
        """Whether all of it comes out as published."""
        return all(one.holds and one.refuted is None for one in self.findings)

    @property
    def failed(self) -> list[Finding]:
        return [finding for finding in self.findings if not finding.as_expected]

    @property
    def missed(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.missed is not None]

    @property
    def refuted(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.refuted is not None]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.experiment.name,
            "points": self.points,
            "free": len(self.free),
            "median_off": median(self.deviations) if self.deviations else None,
            "worst_off": max(self.deviations) if self.deviations else None,
            "order_holds": self.order_holds,
        }


def read_parameters() -> dict[str, dict[str, Any]]:
    """The free parameters of all experiments, by name."""
    return tomllib.loads(parameters_file().read_text(encoding="utf-8"))


def read_causes() -> dict[str, dict[str, Any]]:
    """Why checks are missed, by name, each with the checks that show it."""
    return tomllib.loads(causes_file().read_text(encoding="utf-8"))


def points_of(check: Mapping[str, Any]) -> list[str]:
    return list(check["order"]) if "order" in check else [check["point"]]


def check_rows(experiment: Experiment, rows: Sequence[Row]) -> Verdict:
    """Raises BadInput where a check, a parameter or a cause names what there is not."""
    by_point = {row.point: row for row in rows}
    checks = experiment.data.get("check", [])
    for check in checks:
        _refuse_unknown(experiment, check, by_point)
    control = experiment.data.get("control")
    if control is not None and control not in read_causes():
        raise BadInput(f"{experiment.folder}: {control!r} is no cause of {causes_file()}")
    free = list(experiment.data.get("free", []))
    for name in free:
        if name not in read_parameters():
            raise BadInput(f"{experiment.folder}: {name!r} is no parameter of {parameters_file()}")
    findings = [_judge(check, by_point) for check in checks]
    judged = {point for check in checks for point in points_of(check)}
    deviations = [
        abs(row.ratio - 1) if row.ratio is not None else 0.0
        for row in rows
        if row.ratio is not None or row.published == row.ours == 0
    ]
    return Verdict(experiment, len(judged), free, deviations, findings)


def _refuse_unknown(
    experiment: Experiment, check: Mapping[str, Any], by_point: Mapping[str, Row]
) -> None:
    where = f"{experiment.folder / 'experiment.toml'}: [[check]]"
    kinds = [kind for kind in KINDS if kind in check]
    if len(kinds) != 1 or set(check) - KEYS or ("point" in check) == ("order" in check):
        raise BadInput(
            f"{where} has {', '.join(check)}; expected point and one of off, within, never, or "
            "order (and apart), and perhaps missed"
        )
    for point in points_of(check):
        if point not in by_point:
            raise BadInput(f"{where}: no row is called {point!r}")
    if "missed" in check and check["missed"] not in read_causes():
        raise BadInput(f"{where}: {check['missed']!r} is no cause of {causes_file()}")
    if check.get("off", 0) > OFF_MAX:
        raise BadInput(
            f"{where}: off is {check['off']:g} at {check['point']!r}; expected {OFF_MAX:g} at "
            "most, and missed where ours is further off"
        )
    if "off" in check and by_point[check["point"]].published is None:
        raise BadInput(f"{where}: {check['point']!r} has no published value to be off from")


def _judge(check: Mapping[str, Any], by_point: Mapping[str, Row]) -> Finding:
    missed, refuted = check.get("missed"), check.get("refuted")
    point = points_of(check)[0]
    if "order" in check:
        return Finding(point, *_judge_order(check, by_point), missed, refuted)
    row = by_point[point]
    came = "never" if row.ours is None else f"{row.ours:.4g}"
    if "never" in check:
        text = f"{point}: {came}, expected never"
        return Finding(point, text, row.ours is None, missed, refuted)
    if "off" in check:
        low, high = _span(row, check["off"])
        expected = f"{row.published:.4g} with at most {check['off']:.0%} off"
    else:
        low, high = check["within"]
        expected = f"{low:g} to {high:g}"
    holds = row.ours is not None and low <= row.ours <= high
    text = f"{point}: {came}, expected {expected}"
    return Finding(point, text, holds, missed, refuted)


def _span(row: Row, off: float) -> tuple[float, float]:
    published = row.published or 0.0
    slack = abs(published) * off
    return published - slack, published + slack


def _judge_order(check: Mapping[str, Any], by_point: Mapping[str, Row]) -> tuple[str, bool]:
    apart = check.get("apart", 1)
    values = [by_point[point].ours for point in check["order"]]
    holds = all(
        first is not None and second is not None and second >= first * apart and second != first
        for first, second in pairwise(values)
    )
    came = " < ".join(
        f"{point} ({'never' if value is None else f'{value:.4g}'})"
        for point, value in zip(check["order"], values, strict=True)
    )
    return f"expected {came}{f', {apart:g} times apart' if apart != 1 else ''}", holds
