"""Jobs whose exchanges of 20000 bytes go a way that is named, as if a job before had chosen it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.mpi.mpi_job import Bench


def decide(
    bench: Bench, file: Path, way: str, slots: Sequence[int] | None = None
) -> dict[str, str]:
    """The environment of a job that has the decision; `slots` as it will be given them."""
    env = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_DECISIONS": str(file)}
    bench.run("repeat", "200", "20000", slots=slots, env=env).check()
    text, found = re.subn(f"(name = .{way}., time_us =) [0-9.]+", r"\1 9.5", file.read_text())
    assert found == 1, text
    file.write_text(re.sub("chosen = .*", f"chosen = '{way}'", text))
    return env


def another_way(odd: int) -> str:
    """What the odd rank, which goes over UDP, says of the others."""
    return (
        rf"MPI_Alltoall failed: rank \d+ on h\d sends 20000 bytes and takes another way than rank "
        rf"{odd} on h\d, which sends it \d+ bytes: do all ranks give the same count"
    )
