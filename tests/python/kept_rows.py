"""The table that the README of an experiment keeps."""

from __future__ import annotations

from allemande.reproduce.experiment import Experiment, Row


def kept_rows(experiment: Experiment) -> list[Row]:
    """The rows that the README of an experiment keeps, to the digits written."""

    def number(text: str) -> float | None:
        try:
            return float(text.replace(",", ""))
        except ValueError:
            return None

    text = (experiment.folder / "README.md").read_text(encoding="utf-8")
    table = text.partition(f"<!-- allemande reproduce {experiment.name} --write")[2]
    lines = [line for line in table.partition("<!-- end -->")[0].splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return [Row(experiment.figure, one[0], number(one[1]), number(one[2])) for one in cells]
