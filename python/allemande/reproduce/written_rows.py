"""The table of an experiment's README, between two marks: written, and read back.

::

    <!-- allemande reproduce 000-fig-10 --write: 10 s -->

    | point | published | ours | ratio |
    |---|---:|---:|---:|
    | sync+GW+CA: best bandwidth, MB/s | 7.67 | 7.952 | 1.037 |

    <!-- end -->

The first mark says how long it took, rounded up, so that it seldom changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allemande.errors import Failed
from allemande.quantities import MISSING
from allemande.reproduce.experiment import Row

NEVER = "none"  # ours, where it never comes to that
LARGE = 9999.5  # from here on with all digits
HEAD = ("| point | published | ours | ratio |", "|---|---:|---:|---:|")
STEPS_S = (1, 2, 5, 10, 20, 30)
END = "<!-- end -->"
_MARKED = re.compile(
    r"(?P<begin><!-- allemande reproduce (?P<name>\S+) --write(?:: (?P<took>[^>]*?))? -->)"
    rf"(?P<table>.*?){re.escape(END)}",
    re.DOTALL,
)


def _number_text(value: float | None, missing: str = MISSING) -> str:
    if value is None:
        return missing
    return f"{value:,.0f}" if abs(value) >= LARGE else f"{value:.4g}"


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    yield from HEAD
    for row in rows:
        cells = (
            row.point,
            _number_text(row.published),
            _number_text(row.ours, NEVER),
            _number_text(row.ratio),
        )
        yield f"| {' | '.join(cells)} |"


def rounded_up(seconds: float) -> str:
    """To 1, 2, 5, 10, 20 or 30 of seconds, minutes or hours."""
    for unit, name in ((1, "s"), (60, "min"), (3600, "h")):
        for step in STEPS_S:
            if seconds <= step * unit:
                return f"{step} {name}"
    return "days"


def seconds_of(took: str) -> float:
    """What `rounded_up` wrote."""
    units = {"s": 1.0, "min": 60.0, "h": 3600.0}
    step, _, name = took.partition(" ")
    return float(step) * units[name] if name in units else 24 * units["h"]


def with_rows(text: str, name: str, rows: Sequence[Row], took: str | None = None) -> str:
    """The README with this table. `took`: as `rounded_up` says; None leaves what stands there.

    Raises Failed where the marks are missing.
    """
    found = _MARKED.search(text)
    if found is None or found["name"] != name:
        raise Failed(
            f"the README of {name} has no marks between which its table stands: "
            f"<!-- allemande reproduce {name} --write --> and {END}"
        )
    took = took or found["took"]
    mark = f"<!-- allemande reproduce {name} --write{f': {took}' if took else ''} -->"
    table = "\n".join(_lines(rows))
    return f"{text[: found.start()]}{mark}\n\n{table}\n\n{END}{text[found.end() :]}"


@dataclass(frozen=True)
class Written:
    """What a README says came out."""

    took: str | None  # to renew it
    published: Sequence[float]  # of the rows that have one
    ours: Sequence[float | None]  # of the same rows


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read_written(text: str, name: str) -> Written:
    """Raises Failed where the marks are missing."""
    found = _MARKED.search(text)
    if found is None:
        raise Failed(f"the README of {name} has no table between marks")
    lines = [line for line in found["table"].splitlines() if line.startswith("|")]
    pairs = []
    for line in lines[len(HEAD) :]:
        _, published, ours, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        if (value := _number(published)) is not None:
            pairs.append((value, _number(ours)))
    return Written(found["took"], [one for one, _ in pairs], [ours for _, ours in pairs])
