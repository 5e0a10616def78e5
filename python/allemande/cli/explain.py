"""`allemande explain`: which way exchanges took, over which others, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from allemande.cli.shared_options import CsvFile, JsonArrayFile
from allemande.errors import BadInput
from allemande.output_files import STDOUT, check_outputs, write_output


def command(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="What ALLEMANDE_DECISIONS has named; without it, what jobs keep by themselves.",
            show_default=False,
        ),
    ] = None,
    json: JsonArrayFile = None,
    csv: CsvFile = None,
) -> None:
    """Show a decision file: which way exchanges took, over which others, and why.

    `*` marks the way taken; times are those of the slowest rank, packets the model's figure. Where
    the job had a profile, what it predicted stands beside them, in milliseconds.
    """
    from allemande import decision_output
    from allemande.decisions import cache_file, load_decisions
    from allemande.text_files import exists

    check_outputs({"--json": json, "--csv": csv})
    if file is None:
        kept = cache_file()
        if not exists(kept):
            raise BadInput(f"{kept}: no job has kept decisions there yet; run one, or name a FILE")
        file = str(kept)
    decisions = load_decisions(file)
    write_output(json, decision_output.to_json(decisions))
    write_output(csv, decision_output.to_csv(decisions))
    if STDOUT not in (json, csv):
        decision_output.print_table(decisions)
