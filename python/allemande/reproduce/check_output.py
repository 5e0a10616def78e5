"""What `allemande reproduce --check` found: as a table, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from allemande.quantities import MISSING
from allemande.reproduce.checks import Verdict, read_causes, read_parameters
from allemande.row_text import csv_text
from allemande.tables import right, ruled_table, widen

COLUMNS = ("id", "points", "free", "median_off", "worst_off", "order_holds")


def to_csv(verdicts: Sequence[Verdict]) -> str:
    lines = (verdict.as_json() for verdict in verdicts)
    return csv_text(
        COLUMNS,
        ({**line, "order_holds": "true" if line["order_holds"] else "false"} for line in lines),
    )


def _off(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1%}"


def print_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    """The table, then what is missed and why, what failed, and the free parameters."""
    widen(console, 160)
    columns = right("points", "median off", "worst off", "order holds")
    table = ruled_table(None, "id", "figure", "free parameters", *columns)
    for verdict in verdicts:
        line = verdict.as_json()
        table.add_row(
            verdict.experiment.name,
            verdict.experiment.figure
            + (" (control)" if "control" in verdict.experiment.data else ""),
            ", ".join(verdict.free) or MISSING,
            str(line["points"]),
            _off(line["median_off"]),
            _off(line["worst_off"]),
            "yes" if verdict.order_holds else "no",
        )
    console.print(table)

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True, markup=False)

    causes = read_causes()
    missed: dict[str, list[str]] = {}  # by cause
    supposed = 0
    for verdict in verdicts:
        for finding in verdict.missed:
            if not finding.as_expected:
                continue
            cause, name = str(finding.missed), verdict.experiment.name
            text = f"{name}: {finding.text}"
            if [name, finding.point] in causes[cause].get("supposed", []):
                supposed += 1
                text += " (supposed: no run shows it)"
            missed.setdefault(cause, []).append(text)
    count = sum(map(len, missed.values()))
    say(f"not met: {count}, causes: {len(missed)}; {supposed} of them supposed")
    for cause, texts in missed.items():
        shown = ", ".join(dict.fromkeys(experiment for experiment, _ in causes[cause]["shown"]))
        say(f"  {cause}: {causes[cause]['meaning']} (shown by {shown})")
        for text in texts:
            say(f"    {text}")
    for verdict in verdicts:
        for finding in verdict.refuted:
            say(f"refuted: {verdict.experiment.name}: {finding.text}: {finding.refuted}")
    for verdict in verdicts:
        for finding in verdict.failed:
            say(f"FAILED: {verdict.experiment.name}: {finding.text}{_but(finding.missed)}")
    known = read_parameters()
    used = dict.fromkeys(name for verdict in verdicts for name in verdict.free)
    beside = sum(known[name].get("beside", False) for name in used)
    also = f", and {beside} beside the papers" if beside else ""
    say(f"free parameters: {len(used) - beside}{also}")
    for name in used:
        of = known[name]
        decided = f"fitted to {of['figure']}" if "figure" in of else "chosen"
        say(f"  {name}: {of['value']}, {decided}: {of['meaning']}")


def _but(missed: str | None) -> str:
    return f", and was said to be missed: {missed}" if missed is not None else ""
