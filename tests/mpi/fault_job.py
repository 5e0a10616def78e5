"""A job that exchanges for ever, for tests in which something fails.

Errors come back as codes there and every rank runs under a shell that outlives it: neither
MPI_Abort nor the launcher's look at its children ends a rank that has not noticed by itself.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.lab_processes import name_of_process, processes_of
from tests.mpi.mpi_job import Bench, wait_for

STARTED_WITHIN_S = 30
FOREVER = "100000000"

KEEP_GOING = {"openmpi": ("--with-ft", "ulfm"), "mpich": ("-disable-auto-cleanup",)}


class Job:
    """Ranks exchanging for ever, one of which is to come to harm."""

    def __init__(
        self, bench: Bench, process: subprocess.Popen[str], ranks: int, victim: int
    ) -> None:
        self.bench = bench
        self.process = process
        self.victim = victim
        self.ranks = ranks
        self.others = [rank for rank in range(ranks) if rank != victim]

    def pid(self, rank: int) -> int:
        """As this process sees it: the ranks are in the lab's PID namespace."""
        inside = (self.bench.folder / f"pid.{rank}").read_text().strip()
        for folder in processes_of(self.bench.lab):
            if name_of_process(folder) != "repeat":
                continue
            try:
                with open(folder / "status") as status:
                    line = next(line for line in status if line.startswith("NSpid:"))
            except (OSError, StopIteration):
                continue
            if line.split()[-1] == inside:
                return int(folder.name)
        raise AssertionError(f"no process of rank {rank}")

    def ended(self, rank: int) -> bool:
        return (self.bench.folder / f"code.{rank}").exists()

    def await_others(self, seconds: float) -> None:
        wait_for("the end of every other rank", lambda: all(map(self.ended, self.others)), seconds)

    def over(self) -> bool:
        """All but the victim, by themselves or ended by the launcher, script and all."""
        return self.process.poll() is not None or all(map(self.ended, self.others))

    def text(self, rank: int) -> str:
        return (self.bench.folder / f"out.{rank}").read_text()


@contextmanager
def running(
    bench: Bench,
    env: dict[str, str],
    *extra: str,
    victim: int,
    slots: Sequence[int] | None = None,
) -> Iterator[Job]:
    ranks = len(bench.lab.hosts) if slots is None else sum(slots)
    script = bench.script(
        "outlive",
        f'{bench.program("repeat")} "$@" >{bench.folder}/out.$RANK 2>&1\n'
        f"echo $? >{bench.folder}/code.$RANK\nexec sleep 100",
    )
    command = bench.command(
        [script, FOREVER, "20000", str(bench.folder), *extra],
        slots=slots,
        env={"ALLEMANDE_PEER_TIMEOUT_S": "3", **env},
        arguments=KEEP_GOING[bench.mpi],
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    job = Job(bench, process, ranks, victim)
    try:
        pids = [bench.folder / f"pid.{rank}" for rank in range(ranks)]
        wait_for("start", lambda: all(path.exists() for path in pids), STARTED_WITHIN_S)
        time.sleep(0.5)
        yield job
    finally:
        bench.lab.close()  # ends whatever is left of the job
        process.communicate()
