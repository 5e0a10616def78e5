"""One run of the program: started, watched, ended in any case, and what it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from allemande.compare.job_times import JobTimes, read_job_times
from allemande.compare.written_files import Written, read_written, stamp_of
from allemande.entry import end_deferred
from allemande.errors import BadInput, Failed
from allemande.quantities import format_seconds

# How long a launcher that is told to end may take to take its ranks along.
ENDING_S = 10.0
TAIL_LINES = 20
TAIL_BYTES = 8000
OUR_LINES = "allemande: "


@dataclass(frozen=True)
class Command:
    """What starts the program on one side. `stats` is where rank 0 leaves the counters."""

    line: Sequence[str]
    environment: Mapping[str, str]


# Makes the command of a side (turns.SIDES), with the counters in this file.
MakeCommand = Callable[[str, Path], Command]


@dataclass(frozen=True)
class Watched:
    """What is looked at beside the times."""

    output: Path | None = None  # a file that the program writes
    stdout: bool = False
    stdin: Path | None = None
    timeout_s: float | None = None


@dataclass(frozen=True)
class Run:
    side: str
    round: int  # 0: it does not count
    seconds: float  # of the whole command
    times: JobTimes | None = None  # None: the job left none
    output: Written | None = None
    stdout: Written | None = None
    remarks: tuple[str, ...] = field(default=())  # what allemande said


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """The launcher and what it started here; it takes its ranks along."""
    for number, patience_s in ((signal.SIGTERM, ENDING_S), (signal.SIGKILL, ENDING_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            break
    # A launcher that has gone first may have left some of its own behind.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _tail_of(path: Path) -> str:
    """The last lines of what the program wrote."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        text = file.read().decode(errors="replace")
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def describe_code(code: int) -> str:
    """An exit code as a shell tells it, and what it means where a signal ended the program."""
    number = -code if code < 0 else code - 128 if code > 128 else 0
    told = 128 - code if code < 0 else code
    with contextlib.suppress(ValueError):
        if number > 0:
            return f"exit code {told} ({signal.Signals(number).name})"
    return f"exit code {told}"


def _told(folder: Path) -> str:
    texts = []
    for name in ("stdout", "stderr"):
        if tail := _tail_of(folder / name).strip():
            texts.append(f"the end of its {name}:\n{tail}")
    return "\n".join(texts) or "it wrote nothing"


def _remarks(path: Path) -> tuple[str, ...]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(dict.fromkeys(line for line in lines if line.startswith(OUR_LINES)))


def _start(
    command: Command, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command.line),
            env=dict(command.environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C is for us, who then end the whole group
        )
    except FileNotFoundError as error:
        raise BadInput(f"{command.line[0]}: no such command") from error
    except OSError as error:
        raise Failed(f"{command.line[0]}: cannot be run: {error.strerror}") from error


def _wait(command: Command, folder: Path, watched: Watched, label: str) -> tuple[int, float]:
    """The exit code and the seconds. Whatever happens, nothing of it runs on afterwards."""
    with contextlib.ExitStack() as stack:
        stdout = stack.enter_context((folder / "stdout").open("wb"))
        stderr = stack.enter_context((folder / "stderr").open("wb"))
        stdin = stack.enter_context(open(watched.stdin or os.devnull, "rb"))
        begun_s = time.monotonic()
        with contextlib.ExitStack() as running:
            with end_deferred():
                process = _start(command, stdin, stdout, stderr)
                running.callback(_end_group, process)
            try:
                code = process.wait(watched.timeout_s)
            except subprocess.TimeoutExpired as error:
                running.close()
                raise Failed(
                    f"{label} did not end within {format_seconds(watched.timeout_s)} and was ended "
                    f"(--timeout says how long it may take); {_told(folder)}"
                ) from error
            running.pop_all()
        return code, time.monotonic() - begun_s


def run_once(make: MakeCommand, side: str, number: int, folder: Path, watched: Watched) -> Run:
    """Raises Failed if the program does not end well. `folder` is for its files; ranks see it."""
    label = f"the {side} program" + (f" in round {number}" if number else " (before round 1)")
    stats = folder / "stats.json"
    stats.unlink(missing_ok=True)
    before = None if watched.output is None else stamp_of(watched.output)
    code, seconds = _wait(make(side, stats), folder, watched, label)
    if code != 0:
        raise Failed(f"{label} failed with {describe_code(code)}; {_told(folder)}")
    output = None
    if watched.output is not None:
        after = stamp_of(watched.output)
        if after is None or after == before:
            raise Failed(
                f"{label} did not write {watched.output}; expected the file of --output to be "
                "written by every run"
            )
        output = read_written(watched.output)
    return Run(
        side,
        number,
        seconds,
        read_job_times(stats),
        output,
        read_written(folder / "stdout") if watched.stdout else None,
        _remarks(folder / "stderr"),
    )
