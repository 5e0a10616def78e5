"""experiments/README.md: every experiment with its paper, how far off it came out, and how long it
takes to renew. Made of what their READMEs say."""

from __future__ import annotations

from collections.abc import Sequence

from allemande.quantities import MISSING
from allemande.reproduce.experiment import Experiment
from allemande.reproduce.written_rows import Written, read_written

PAPERS = {
    "000": "Tam and Wang, 2003",
    "001": "Etsion, Raizman and Feitelson, 1999",
    "002": "Tam, 2001",
    "003": "Steffenel, Martinasso and Trystram, 2008",
    "004": "Vishnu et al., 2008",
    "DCTCP": "Alizadeh et al., 2010",
}
EQUAL = 0.005
TEXT = """# Experiments

Published figures, simulated again: one folder each. Written by `allemande reproduce --write`, as
the table in each folder is by `allemande reproduce ID --write`, which renews its plot as well.

- *How far off*: the lowest and the highest of our values beside the published ones, over all values
  that the paper gives as numbers. What it says in words stands in the folder.
- *Time to renew*: of `allemande reproduce ID` on two cores, rounded up.

[docs/experiments.md](../docs/experiments.md#reproduce) says what came out in a line each,
[docs/papers.md](../docs/papers.md) what of the papers is not reproduced, and
[docs/references.md](../docs/references.md#8-bibliography) what the papers are.

| experiment | paper | how far off | time to renew |
|---|---|---|---:|
"""


def _off(ratio: float) -> str:
    """`+3.9 %`; from half or twice on `0.11 times`."""
    if not 0.5 <= ratio <= 2:
        return f"{ratio:.2g} times"
    percent = 100 * (ratio - 1)
    if abs(percent) < 0.05:
        return "0 %"
    return f"{percent:+.1f} %" if abs(percent) < 10 else f"{percent:+.0f} %"


def how_far_off(written: Written) -> str:
    """`+1.9 % to +4.3 % (4 values)`. A zero that is none has no ratio, nor what never comes."""
    count = len(written.published)
    if count == 0:
        return "said in words"
    pairs = list(zip(written.published, written.ours, strict=True))
    ratios = [ours / published for published, ours in pairs if published and ours is not None]
    ratios += [1.0 for published, ours in pairs if published == ours == 0]
    missed = count - len(ratios)
    text = f"{missed} missed" if missed else ""
    if ratios:
        low, high = min(ratios), max(ratios)
        near = low > 1 - EQUAL and high < 1 + EQUAL
        span = dict.fromkeys((_off(low), _off(high)))  # once, where both are the same
        found = "as published" if near else " to ".join(span)
        text = f"{found}, {text}" if text else found
    return f"{text} ({count} value{'s' if count > 1 else ''})"


def _line(experiment: Experiment) -> str:
    written = read_written(
        (experiment.folder / "README.md").read_text(encoding="utf-8"), experiment.name
    )
    number = experiment.figure.split()[0]
    title = experiment.title.partition(": ")[2] or experiment.title
    cells = (
        f"[{experiment.name}]({experiment.name}): {title}",
        f"{number}: {PAPERS[number]}",
        how_far_off(written),
        written.took or MISSING,
    )
    return f"| {' | '.join(cells)} |\n"


def index_text(experiments: Sequence[Experiment]) -> str:
    return TEXT + "".join(map(_line, experiments))
