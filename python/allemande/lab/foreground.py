"""Runs a command in the foreground, as a shell does: Ctrl-C is for the command."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Sequence

INTERRUPTS_MAX = 3
ENTERING_S = 3.0  # a busy machine takes this long to start a command inside a lab
HEARING_S = 2.0


def run_in_foreground(argv: Sequence[str]) -> int:
    """Returns the exit code, as a shell tells it.

    A command that does not end for Ctrl-C is killed at the third. One that has hardly begun may
    still be on its way into the lab, where nobody hears the signal: it is killed a little later.
    """
    begun = time.monotonic()
    process = subprocess.Popen(argv)
    interrupts = 0
    unheard = threading.Timer(HEARING_S, process.kill)
    unheard.daemon = True

    def count(*_: object) -> None:
        nonlocal interrupts
        interrupts += 1
        if interrupts == INTERRUPTS_MAX:
            process.kill()
        elif interrupts == 1 and time.monotonic() - begun < ENTERING_S:
            unheard.start()

    handler = signal.signal(signal.SIGINT, count)
    try:
        code = process.wait()
    finally:
        unheard.cancel()
        signal.signal(signal.SIGINT, handler)
    return code if code >= 0 else 128 - code
