"""What the runs tell: times on both sides, class by class, and whether outputs agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from allemande.compare.job_times import ClassTimes, SizeClass
from allemande.compare.runs import Run
from allemande.compare.statistics import (
    FASTER,
    NONE_FOUND,
    SLOWER,
    Compared,
    compare_times,
)
from allemande.compare.turns import PRELOADED, STOCK
from allemande.compare.written_files import Written, describe_difference
from allemande.quantities import format_size

EQUAL, DIFFERENT, NOT_REPRODUCIBLE = "equal", "different", "not reproducible"
REMARKS_MAX = 5


@dataclass(frozen=True)
class ClassFinding:
    """Calls of one function and size class: times are of one call."""

    sizes: SizeClass
    calls: float  # of a rank in a run
    seconds: float  # of a rank in a stock run
    compared: Compared
    way: str  # that most preloaded calls took


@dataclass(frozen=True)
class OutputFinding:
    name: str  # a file, or "stdout"
    verdict: str
    detail: str = ""


@dataclass(frozen=True)
class Findings:
    runs: tuple[Run, ...]  # that count
    total: Compared
    exchanges: Compared | None  # None: there are none, or their times are not known
    classes: tuple[ClassFinding, ...]
    outputs: tuple[OutputFinding, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def rounds(self) -> int:
        return len(self.runs) // 2

    @property
    def differs(self) -> bool:
        return any(one.verdict == DIFFERENT for one in self.outputs)


def describe_sizes(sizes: SizeClass) -> str:
    if sizes.least == sizes.most:
        return format_size(sizes.least)
    return f"{format_size(sizes.least)} to {format_size(sizes.most)}"


def _paired(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Stock and preloaded, by round."""
    ordered = sorted(runs, key=lambda run: run.round)
    return (
        [run for run in ordered if run.side == STOCK],
        [run for run in ordered if run.side == PRELOADED],
    )


def _compare_classes(
    stock: Sequence[Run], preloaded: Sequence[Run], confidence: float
) -> list[ClassFinding]:
    """Those that every run has: of others there is nothing to compare."""
    tables = [run.times.classes for run in (*stock, *preloaded) if run.times is not None]
    common = set(tables[0]).intersection(*tables[1:]) if tables else set()

    def of(runs: Sequence[Run], sizes: SizeClass) -> list[ClassTimes]:
        return [run.times.classes[sizes] for run in runs if run.times is not None]

    found = []
    for sizes in sorted(common, key=lambda one: one.sort_key):
        mine, theirs = of(stock, sizes), of(preloaded, sizes)
        if min(one.calls for one in (*mine, *theirs)) <= 0:
            continue
        found.append(
            ClassFinding(
                sizes,
                sum(one.calls for one in mine) / len(mine),
                sum(one.seconds for one in mine) / len(mine),
                compare_times(
                    [one.seconds / one.calls for one in mine],
                    [one.seconds / one.calls for one in theirs],
                    confidence,
                ),
                theirs[-1].way,
            )
        )
    return found


def _judge_output(
    name: str, stock: Sequence[Run], preloaded: Sequence[Run], of: Callable[[Run], Written | None]
) -> OutputFinding | None:
    mine = [found for run in stock if (found := of(run)) is not None]
    theirs = [found for run in preloaded if (found := of(run)) is not None]
    if not mine or not theirs:
        return None
    for other in mine[1:]:
        if detail := describe_difference(mine[0], other):
            return OutputFinding(
                name, NOT_REPRODUCIBLE, f"stock runs differ among themselves: {detail}"
            )
    for run, other in zip(preloaded, theirs, strict=True):
        if detail := describe_difference(mine[0], other):
            return OutputFinding(
                name, DIFFERENT, f"stock and preloaded in round {run.round}: {detail}"
            )
    return OutputFinding(name, EQUAL)


def _notes(stock: Sequence[Run], preloaded: Sequence[Run], timed: bool) -> list[str]:
    notes = []
    if not timed:
        notes.append(
            "the times of the exchanges are not known, because rank 0 left no counters: its host "
            "must see the folder in which `allemande compare` is called, and the program must "
            "reach MPI_Finalize and be linked to its MPI library dynamically"
        )
        return notes + _remarks(preloaded)
    counted = [run.times for run in preloaded if run.times is not None]
    if all(times.calls == 0 for times in counted):
        notes.append("the program calls no MPI_Alltoall of any form: there is nothing to speed up")
    elif all(times.accelerated == 0 for times in counted):
        notes.append("allemande carried none of the exchanges; the table says what did")
    calls = {run.times.calls for run in (*stock, *preloaded) if run.times is not None}
    if len(calls) > 1:
        notes.append(
            f"runs made different numbers of calls ({min(calls):.4g} to {max(calls):.4g}): "
            "classes are compared by the time of one call"
        )
    return notes + _remarks(preloaded)


def _remarks(preloaded: Sequence[Run]) -> list[str]:
    """What allemande warned of, each once."""
    said = dict.fromkeys(line for run in preloaded for line in run.remarks)
    lines = list(said)
    more = len(lines) - REMARKS_MAX
    return lines[:REMARKS_MAX] + ([f"and {more} more lines like these"] if more > 0 else [])


def find(runs: Sequence[Run], confidence: float, output: str | None = None) -> Findings:
    """`runs` are whole rounds, at least one; `output` names what Run.output is of."""
    stock, preloaded = _paired(runs)
    total = compare_times(
        [run.seconds for run in stock], [run.seconds for run in preloaded], confidence
    )
    times = [run.times for run in runs]
    timed = all(one is not None for one in times)
    exchanges = None
    if all(one is not None and one.seconds > 0 for one in times):
        exchanges = compare_times(
            [run.times.seconds for run in stock if run.times is not None],
            [run.times.seconds for run in preloaded if run.times is not None],
            confidence,
        )
    outputs = [
        _judge_output(output or "the file", stock, preloaded, lambda run: run.output),
        _judge_output("stdout", stock, preloaded, lambda run: run.stdout),
    ]
    return Findings(
        tuple(sorted(runs, key=lambda run: run.round)),
        total,
        exchanges,
        tuple(_compare_classes(stock, preloaded, confidence)) if timed else (),
        tuple(one for one in outputs if one is not None),
        tuple(_notes(stock, preloaded, timed)),
    )


def _say_of(compared: Compared) -> str:
    """A sentence's end: "1.80 times as fast", "no difference found"."""
    ratio = compared.ratio
    if ratio is None or compared.verdict == NONE_FOUND:
        return NONE_FOUND
    if compared.verdict == FASTER:
        return f"{1 / ratio.ratio:.2f} times as fast with allemande"
    assert compared.verdict == SLOWER
    return f"{ratio.ratio:.2f} times as long with allemande"


def conclusions(findings: Findings) -> list[str]:
    """In short: the whole, the exchanges, where it helps and where not."""
    lines = [f"The program: {_say_of(findings.total)}."]
    if findings.exchanges is not None:
        lines.append(f"Its exchanges: {_say_of(findings.exchanges)}.")
    for verdict, words in (
        (FASTER, "It helps"),
        (SLOWER, "It does harm"),
        (NONE_FOUND, "No difference found"),
    ):
        where = [
            f"{one.sizes.function} of {describe_sizes(one.sizes)}"
            for one in findings.classes
            if one.compared.verdict == verdict
        ]
        if where:
            lines.append(f"{words}: {'; '.join(where)}.")
    for output in findings.outputs:
        detail = f" ({output.detail})" if output.detail else ""
        lines.append(f"Output, {output.name}: {output.verdict}{detail}.")
    return lines
