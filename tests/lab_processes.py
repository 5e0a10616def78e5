"""Which processes are a lab's, and what they are.

Other labs may run at the same time, with the same programs and the same numbers inside.
"""

from __future__ import annotations

import os
from pathlib import Path

from allemande.lab import Lab


def processes_of(lab: Lab) -> list[Path]:
    """The folders in /proc of those that live in the lab's PID namespace, as seen from here."""
    init = lab.inside_state()["init"]["pid"]
    try:
        namespace = os.readlink(f"/proc/{init}/ns/pid")
    except OSError:
        return []
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns/pid") == namespace:
                found.append(folder)
        except OSError:
            continue
    return found


def name_of_process(folder: Path) -> str:
    """Empty: it has ended."""
    try:
        return (folder / "comm").read_text().strip()
    except OSError:
        return ""


def command_line(pid: int) -> str:
    """Empty: it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
