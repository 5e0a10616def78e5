"""Runs the programs by turns in one lab, stock and preloaded; their results must be the same."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from allemande.bench.defaults import CONGESTION_CONTROL
from allemande.errors import Failed
from allemande.examples.catalog import OURS, STOCK, Program, Way, other_algorithms
from allemande.lab import Lab
from allemande.lab.timers import Timers
from allemande.preload import library_path, linked_interface

RUN_TIMEOUT_S = 120


@dataclass(frozen=True)
class Run:
    """What one run printed."""

    result: str  # the same whatever carried the data
    seconds: float
    communication: float | None  # where the program tells it
    exchanges: int  # calls allemande took, over all ranks


@dataclass
class Row:
    """One program under one MPI."""

    program: Program
    mpi: str
    times: dict[str, list[float]] = field(default_factory=dict)  # by way: communication or all
    totals: dict[str, list[float]] = field(default_factory=dict)

    @property
    def counts_communication(self) -> bool:
        return self.times != self.totals

    def time(self, way: str) -> float:
        return statistics.median(self.times[way])

    def best_stock(self) -> tuple[str, float]:
        """The fastest of the library's own ways."""
        stock = {way: self.time(way) for way in self.times if way != OURS.name}
        name = min(stock, key=stock.__getitem__)
        return name, stock[name]

    def ratio(self) -> float:
        return self.time(OURS.name) / self.best_stock()[1]


def parse_run(text: str, exchanges: int) -> Run:
    """From lines of a name and a value."""
    values = dict(line.partition(" ")[::2] for line in text.splitlines())
    communication = values.get("communication")
    return Run(
        result=values["result"],
        seconds=float(values["seconds"]),
        communication=float(communication) if communication is not None else None,
        exchanges=exchanges,
    )


def _run_once(
    lab: Lab, program: Program, mpi: str, way: Way, size: int, repeats: int, folder: Path
) -> Run:
    """Raises `Failed` where the program fails, or where allemande did not take its exchange."""
    command = program.build(mpi)
    stats = folder / "stats.json"
    stats.unlink(missing_ok=True)
    library = None
    environment = dict(way.environment)
    if way.preload:
        kind = {"openmpi-debian": "openmpi", "mpich-debian": "mpich"}.get(mpi, mpi)
        library = library_path(linked_interface(command[:1], {}) or kind)
        environment["ALLEMANDE_STATS"] = str(stats)
    line = lab.mpi_command(
        mpi,
        None,
        [*command, *program.arguments(size, repeats)],
        env=environment,
        arguments=way.arguments,
        preload=library,
    )
    label = f"{program.name} under {mpi} ({way.name})"
    timeout_s = lab.timers.patience_s(RUN_TIMEOUT_S)
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{label} does not end within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        raise Failed(f"{label} failed:\n{(done.stdout + done.stderr).strip()}")
    exchanges = 0
    if way.preload:
        exchanges = int(json.loads(stats.read_text())["exchanges"]) if stats.exists() else 0
        if exchanges == 0:
            raise Failed(f"{label}: allemande took no exchange:\n{done.stderr.strip()}")
    try:
        return parse_run(done.stdout, exchanges)
    except (KeyError, ValueError) as error:
        raise Failed(f"{label} printed no result and time:\n{done.stdout.strip()}") from error


def compare(
    lab: Lab,
    programs: Sequence[Program],
    folder: Path,
    *,
    mpis: Sequence[str] | None = None,
    every_algorithm: bool = False,
    small: bool = False,
    rounds: int = 1,
    repeats: int = 3,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Every result must be the same bits, stock and preloaded; `Failed` says which is not."""
    # A few short calls would not be worth while to bring a communicator up for.
    ours = replace(OURS, environment={"ALLEMANDE_TRIALS": "off"}) if small else OURS
    rows = []
    for program in programs:
        size = program.small if small else program.size
        for mpi in program.mpis:
            if mpis is not None and mpi not in mpis:
                continue
            row = Row(program, mpi)
            others = other_algorithms(program, mpi) if every_algorithm else []
            expected: str | None = None
            for _ in range(rounds):
                for way in (STOCK, ours, *others):
                    tell(f"{program.name}, {mpi}, {way.name}")
                    run = _run_once(lab, program, mpi, way, size, repeats, folder)
                    expected = expected or run.result
                    if run.result != expected:
                        raise Failed(
                            f"{program.name} under {mpi} ({way.name}): the result is "
                            f"{run.result}, but stock it is {expected}"
                        )
                    row.totals.setdefault(way.name, []).append(run.seconds)
                    row.times.setdefault(way.name, []).append(
                        run.seconds if run.communication is None else run.communication
                    )
            rows.append(row)
    return rows


def compare_in_lab(
    cluster: str, scale: float, programs: Sequence[Program], timers: Timers, **options: Any
) -> tuple[list[Row], int]:
    """In a lab of their own; `options` are those of `compare`. The rows and how many hosts."""
    progress = Console(stderr=True, highlight=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        # Nothing but the programs may use the processors: no periodic look at the queues.
        Lab.boot(
            cluster,
            scale=scale,
            timers=timers.name,
            congestion_control=CONGESTION_CONTROL,
        ) as lab,
        progress.status("building") as status,
    ):
        tell = status.update if progress.is_terminal else lambda _: None
        return compare(lab, programs, Path(folder), tell=tell, **options), len(lab.hosts)
