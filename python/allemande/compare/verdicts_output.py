"""What was found, for the terminal, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from allemande.compare.statistics import FASTER, SLOWER, Compared
from allemande.compare.verdicts import ClassFinding, Findings, conclusions, describe_sizes
from allemande.quantities import MISSING, format_seconds, format_spread
from allemande.row_text import csv_text, json_text
from allemande.tables import left, right, ruled_table, widen

COLUMNS = ("stock", "spread", "allemande", "spread", "ratio", "interval", "verdict")
STYLES = {FASTER: "green", SLOWER: "red"}
CSV_COLUMNS = (
    "what",
    "function",
    "bytes_least",
    "bytes_most",
    "calls",
    "way",
    "stock_s",
    "stock_spread",
    "preloaded_s",
    "preloaded_spread",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
)


def compared_cells(compared: Compared) -> tuple[str, ...]:
    """Under COLUMNS."""
    ratio = compared.ratio
    return (
        format_seconds(compared.stock.median),
        format_spread(compared.stock.spread),
        format_seconds(compared.preloaded.median),
        format_spread(compared.preloaded.spread),
        MISSING if ratio is None else f"{ratio.ratio:.3f}",
        MISSING if ratio is None else f"{ratio.low:.3f} to {ratio.high:.3f}",
        compared.verdict,
    )


def legend(findings: Findings, confidence: float) -> str:
    return (
        f"{findings.rounds} rounds; medians; spread: half the distance between the quartiles; "
        f"ratio: allemande / stock, below 1 is faster, with its {confidence:.0%} interval by "
        "Student's t over the rounds"
    )


def print_findings(console: Console, findings: Findings, confidence: float) -> None:
    widen(console, 140)
    table = _table(None, "")
    rows = [("whole program", findings.total)]
    if findings.exchanges is not None:
        rows.append(("its exchanges", findings.exchanges))
    for name, compared in rows:
        table.add_row(name, *compared_cells(compared), style=STYLES.get(compared.verdict, ""))
    console.print(table)
    if findings.classes:
        console.print(_class_table(findings))
        for one in findings.classes:
            line = f"{one.sizes.function}, {describe_sizes(one.sizes)}: {one.way}"
            console.print(Text(line), soft_wrap=True)
    console.print(legend(findings, confidence), highlight=False, soft_wrap=True)
    for line in conclusions(findings):
        console.print(Text(line), soft_wrap=True)
    for note in findings.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)


def _table(title: str | None, subject: str, *more: str) -> Table:
    *figures, verdict = COLUMNS
    columns = (*left(subject), *right(*more, *figures), *left(verdict))
    return ruled_table(title, *columns, pad_edge=False)


def _class_table(findings: Findings) -> Table:
    title = "one call, by function and size of blocks"
    table = _table(title, "function", "bytes to each rank", "calls")
    for one in findings.classes:
        table.add_row(
            one.sizes.function,
            describe_sizes(one.sizes),
            f"{one.calls:.6g}",
            *compared_cells(one.compared),
            style=STYLES.get(one.compared.verdict, ""),
        )
    return table


def _ratio_fields(compared: Compared) -> dict[str, Any]:
    ratio = compared.ratio
    return {
        "ratio": None if ratio is None else ratio.ratio,
        "ratio_low": None if ratio is None else ratio.low,
        "ratio_high": None if ratio is None else ratio.high,
        "verdict": compared.verdict,
    }


def _compared_json(compared: Compared | None) -> dict[str, Any] | None:
    if compared is None:
        return None
    return {
        "stock_s": list(compared.stock.seconds),
        "preloaded_s": list(compared.preloaded.seconds),
        "stock_median_s": compared.stock.median,
        "preloaded_median_s": compared.preloaded.median,
        "stock_spread": compared.stock.spread,
        "preloaded_spread": compared.preloaded.spread,
        **_ratio_fields(compared),
    }


def _class_fields(one: ClassFinding) -> dict[str, Any]:
    return {
        "function": one.sizes.function,
        "bytes_least": one.sizes.least,
        "bytes_most": one.sizes.most,
        "calls": one.calls,
        "way": one.way,
    }


def to_json(findings: Findings, command: Sequence[str], confidence: float) -> str:
    """Times of classes are those of one call."""
    result = {
        "command": list(command),
        "rounds": findings.rounds,
        "confidence": confidence,
        "total": _compared_json(findings.total),
        "exchanges": _compared_json(findings.exchanges),
        "classes": [
            {**_class_fields(one), **(_compared_json(one.compared) or {})}
            for one in findings.classes
        ],
        "outputs": [
            {"name": one.name, "verdict": one.verdict, "detail": one.detail}
            for one in findings.outputs
        ],
        "runs": [
            {
                "round": run.round,
                "side": run.side,
                "seconds": run.seconds,
                "exchange_seconds": None if run.times is None else run.times.seconds,
            }
            for run in findings.runs
        ],
        "notes": list(findings.notes),
    }
    return json_text(result)


def _csv_row(what: str, compared: Compared, **more: Any) -> dict[str, Any]:
    return {
        "what": what,
        "stock_s": compared.stock.median,
        "stock_spread": compared.stock.spread,
        "preloaded_s": compared.preloaded.median,
        "preloaded_spread": compared.preloaded.spread,
        **_ratio_fields(compared),
        **more,
    }


def to_csv(findings: Findings) -> str:
    rows = [_csv_row("total", findings.total)]
    if findings.exchanges is not None:
        rows.append(_csv_row("exchanges", findings.exchanges))
    rows += [_csv_row("call", one.compared, **_class_fields(one)) for one in findings.classes]
    return csv_text(CSV_COLUMNS, rows)
