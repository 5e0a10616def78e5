"""One group of the kernel's scheduler for everything that runs in labs.

Launchers start every host's processes in a session of its own (hydra every rank's), and the kernel
gives each session a group (autogroup, man sched(7)). On Linux 6.18 a process that waits busily and
yields, alone in its group on a processor, keeps that processor for seconds, up to minutes, before
all others (ADR 53). In a control group of its own (man cgroups(7)) nothing gets such groups. The
emulator is in it as well: what is outside stands still for up to 52 s.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
NAME = "allemande-lab"
ENDING_S = 1.0
# $0 is the file that lists the group's processes. The command runs in any case.
JOIN = '{ echo $$ >"$0"; } 2>/dev/null; exec "$@"'


def _hierarchy() -> Path | None:
    """The folder of the processor controller's root group, if that is where this process is.

    None: it is in some group already, or nothing can be told. Then there are no sessions' groups,
    or they cannot be helped.
    """
    try:
        lines = OWN.read_text().splitlines()
    except OSError:
        return None
    for number, controllers, path in (line.split(":", 2) for line in lines):
        if path != "/":
            continue
        if "cpu" in controllers.split(","):  # version 1
            return ROOT / controllers if (ROOT / controllers).is_dir() else ROOT / "cpu"
        with contextlib.suppress(OSError):  # version 2
            if number == "0" and "cpu" in (ROOT / "cgroup.subtree_control").read_text().split():
                return ROOT
    return None


def make() -> Path | None:
    """The folder of the group; its `cgroup.procs` takes the ids of processes that are to join it.

    None: no group may be made here, or this process is in one already.
    """
    root = _hierarchy()
    if root is None:
        return None
    group = root / NAME
    try:
        group.mkdir(exist_ok=True)
    except OSError:  # not root, or a container that may not
        return None
    return group


def entering() -> list[str]:
    """What stands before a command that is to run in the group; nothing where there is none."""
    group = make()
    return [] if group is None else ["sh", "-c", JOIN, str(group / "cgroup.procs")]


def remove() -> None:
    """When no lab runs any more. The last commands may still be ending."""
    root = _hierarchy()
    if root is None:
        return
    latest_s = time.monotonic() + ENDING_S
    while time.monotonic() < latest_s:
        try:
            (root / NAME).rmdir()
            break
        except (FileNotFoundError, PermissionError):  # there is none, or it is not ours
            break
        except OSError:  # processes are in it
            time.sleep(0.01)
