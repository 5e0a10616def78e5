"""Jobs whose exchanges of 20000 bytes go a way that is named, as if a job before had chosen it."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab_processes import name_of_process, processes_of
from tests.mpi.mpi_job import PATIENT, Bench, wait_for

from allemande.lab import Lab

ENDED_WITHIN_S = 30


def decide(
    bench: Bench, file: Path, way: str, slots: Sequence[int] | None = None
) -> dict[str, str]:
    """The environment of a job that has the decision; `slots` as it will be given them.

    It says that the way took 100 s: beside that no time-out counts, and the first call takes it.
    """
    env = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_DECISIONS": str(file)}
    bench.run("repeat", "200", "20000", slots=slots, env=env).check()
    text, found = re.subn(f"(name = .{way}., time_us =) [0-9.]+", r"\g<1> 1e8", file.read_text())
    assert found == 1, text
    key = re.search(f"key = .([^\"']*)., name = .{way}.", text)
    assert key, text
    file.write_text(re.sub("chosen = .*", f"chosen = '{key[1]}'", text))
    return env


def running_ranks(lab: Lab, program: str) -> int:
    return sum(name_of_process(folder) == program for folder in processes_of(lab))


def end_by_error(
    bench: Bench, odd: int, env: Mapping[str, str], slots: Sequence[int] | None = None
) -> str:
    """Runs a job in which the odd rank gives 40 bytes and errors are fatal, until no rank is left.
    What it has written to stderr, and how it ended.

    Open MPI's launcher stays now and then when several ranks end at once (prterun 3.0, one time
    in sixty, without any process of the job): it is then ended here.
    """
    log = bench.folder / "stderr"
    argv = [bench.program("errors"), "blocks", str(odd), "40", "40", "fatal"]
    command = bench.command(argv, slots=slots, env={**PATIENT, **env})
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        wait_for(
            "the odd rank's error",
            lambda: process.poll() is not None or "another way" in log.read_text(),
            ENDED_WITHIN_S,
        )
        wait_for(
            "the end of the ranks", lambda: running_ranks(bench.lab, "errors") == 0, ENDED_WITHIN_S
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            assert process.wait(5) != 0
    finally:
        process.kill()
        process.wait()
    return f"{log.read_text()}exit code {process.returncode}\n"


def expect_missed(out: str, odd: int, ranks: int) -> None:
    """The odd rank gave nothing, which takes no time; both calls of the others ended, naming it."""
    for rank in range(ranks):
        told = re.findall(rf"CALL \d RANK {rank} CLASS (.*)", out)
        done = [line.startswith("none") for line in told]
        assert done == [rank == odd] * 2, out
    # It may have come to MPI_Finalize when the others look.
    missed = (
        r"(sends 0 bytes and )?takes another way than rank \d+ on h\d, which sends it \d+ bytes"
    )
    missed = rf"rank {odd} on h\d ({missed}|is in MPI_Finalize and does not enter this exchange)"
    assert re.search(rf"CLASS truncate: .*{missed}", out), out


def another_way(odd: int) -> str:
    """What the odd rank, which goes over UDP, says of the others."""
    return (
        rf"MPI_Alltoall failed: rank \d+ on h\d sends 20000 bytes and takes another way than rank "
        rf"{odd} on h\d, which sends it \d+ bytes: do all ranks give the same count"
    )
