"""Two ranks of the benchmark program on this host, and what it wrote, read at once."""

from __future__ import annotations

from allemande.bench.program import build_program, find_root
from allemande.bench.records import RunRecord

LAUNCHERS = {
    "openmpi": (
        *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
        *("--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "sm,self"),
    ),
    "mpich": (),
}


def two_ranks(library: str) -> list[str]:
    """The command line, without the program's arguments."""
    mpirun = str(find_root() / ".mpi" / library / "bin" / "mpirun")
    return [mpirun, *LAUNCHERS[library], "-n", "2", str(build_program(library))]


def read_run(text: str) -> RunRecord:
    run = RunRecord()
    for line in text.splitlines():
        run.take(line)
    return run
