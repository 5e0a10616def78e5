#!/usr/bin/env python3
"""Runs two commands at once: one that computes, and one that waits for most of its time.

The first shows its output as it comes, and takes the processors that the second leaves. What the
second has said follows then, up to its end, which is the end of the output. Fails if one of them
failed, after both have ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO

LOOK_S = 0.2
# Ranks that wait poll, and yield to others: against them a lower priority gets nothing at all.
NICENESS = 5


class Ended(Exception):
    """A signal asked for the end."""


def end_at_signal(number: int, _: object) -> None:
    raise Ended(128 + number)


def start(command: str, niceness: int, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    """In a group of its own, so that all it has started can be ended."""
    return subprocess.Popen(
        ["nice", "-n", str(niceness), "bash", "-c", command],
        stdout=output,
        stderr=output and subprocess.STDOUT,
        start_new_session=True,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(computing: str, waiting: str) -> int:
    with tempfile.TemporaryFile() as told:
        second = start(waiting, 0, told)
        first = start(computing, NICENESS)
        try:
            code = first.wait()
            shown = 0
            while True:
                over = second.poll() is not None
                if more := os.pread(told.fileno(), 1 << 20, shown):
                    shown += len(more)
                    sys.stdout.buffer.write(more)
                    sys.stdout.flush()
                elif over:
                    break
                else:
                    time.sleep(LOOK_S)
        finally:
            end(first)
            end(second)
    for command, status in ((computing, code), (waiting, second.returncode)):
        if status:
            print(f"side by side: `{command}` failed with code {status}", file=sys.stderr)
    return 1 if code or second.returncode else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("computing", help="a command of a shell, whose output comes first")
    parser.add_argument("waiting", help="another, whose output comes last")
    commands = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_at_signal)
    try:
        return run(commands.computing, commands.waiting)
    except Ended as ended:
        return int(ended.args[0])


if __name__ == "__main__":
    sys.exit(main())
