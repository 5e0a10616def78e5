"""What the benchmark program wrote, read at once."""

from __future__ import annotations

from allemande.bench.records import RunRecord


def read_run(text: str) -> RunRecord:
    run = RunRecord()
    for line in text.splitlines():
        run.take(line)
    return run
