"""Which labs run: one directory per lab under a directory of the user's own.

    BASE/NAME/state.json     what others need to enter it; written when it is up
    BASE/NAME/boot.json      who is booting it, until then
    BASE/NAME/cluster.toml   the effective cluster file
    BASE/NAME/tmp            a private tmpfs inside the lab, empty outside

A lab is alive while the process in its state is, with the same start time. Entries of dead ones
are removed by whoever looks.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import shutil
import signal
import stat
import time
from pathlib import Path
from typing import Any

from allemande.errors import BadInput, Failed
from allemande.lab import processor_group

# An entry that does not say whose it is, is being made or being removed this very moment.
HALF_MADE_S = 60
DOWN_TIMEOUT_S = 20


def _base_path() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.path.isdir(runtime) and os.stat(runtime).st_uid == os.geteuid():
        return Path(runtime, "allemande")
    return Path("/run/allemande" if os.geteuid() == 0 else f"/tmp/allemande-{os.geteuid()}")


def _base_directory() -> Path:
    base = _base_path()
    try:
        base.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise Failed(f"cannot make {base} for the lab: {error.strerror}") from error
    _require_private(base)
    return base


def _require_private(base: Path) -> None:
    """What is in there decides which processes get killed and entered."""
    status = base.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not private or status.st_mode & 0o077:
        raise Failed(
            f"{base} is not a directory that only you can use (mode 0700, your own); "
            "remove it, or set XDG_RUNTIME_DIR"
        )


def _start_time(pid: int) -> int | None:
    """In clock ticks since boot; with the process id it names a process for good."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field, the name, may hold spaces and parentheses.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


def process(pid: int) -> dict[str, int]:
    return {"pid": pid, "start": _start_time(pid) or 0}


def is_alive(entry: dict[str, int]) -> bool:
    return _start_time(entry["pid"]) == entry["start"]


def kill_and_wait(entry: dict[str, int]) -> None:
    """By pid and start time, so that nobody else's process is meant."""
    try:
        descriptor = os.pidfd_open(entry["pid"])
    except ProcessLookupError:
        return
    try:
        if _start_time(entry["pid"]) != entry["start"]:
            return
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(DOWN_TIMEOUT_S * 1000):
            raise Failed(f"process {entry['pid']} of the lab does not end, though killed")
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def write(path: Path, content: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content))
    part.rename(path)


def _entries() -> list[Path]:
    base = _base_path()
    try:
        _require_private(base)
        return sorted(base.iterdir())
    except FileNotFoundError:  # no lab runs, or the last has just ended
        return []


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0


def _prune() -> None:
    for directory in _entries():
        state = _read(directory / "state.json")
        owner = state["init"] if state else _read(directory / "boot.json")
        dead = not is_alive(owner) if owner else _age_s(directory) > HALF_MADE_S
        if dead:
            remove(directory)


def claim(wanted: str, exact: bool) -> Path:
    """Makes the directory of a new lab: `wanted`, or with a number where that is taken."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", wanted):
        raise BadInput(
            f"lab name {wanted!r}: expected letters, digits, '-', '_' and '.', starting with a "
            "letter or a digit, for example demo-1"
        )
    _prune()
    number = 1
    while True:
        name = wanted if number == 1 else f"{wanted}-{number}"
        # Appears with its owner in it, so that nobody prunes or trips over a half-made entry.
        base = _base_directory()
        staging, directory = base / f".{name}.{os.getpid()}", base / name
        try:
            staging.mkdir(mode=0o700)
            write(staging / "boot.json", process(os.getpid()))
            staging.rename(directory)
        except FileNotFoundError:
            continue  # the last lab has just ended, and the base with it
        except OSError as error:
            shutil.rmtree(staging, ignore_errors=True)
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise Failed(f"cannot make {directory} for the lab: {error.strerror}") from error
            if exact:
                raise BadInput(
                    f"a lab named {name!r} is running already; `allemande lab down {name}` "
                    "ends it, or choose another --name"
                ) from error
            number += 1
            continue
        return directory


def remove(directory: Path) -> None:
    """The entry, and with the last one the base and the group of processes."""
    shutil.rmtree(directory, ignore_errors=True)
    with contextlib.suppress(OSError):
        directory.parent.rmdir()
        processor_group.remove()


def running() -> list[dict[str, Any]]:
    """The states of all labs that are up, by name."""
    _prune()
    states = [_read(directory / "state.json") for directory in _entries()]
    return [state for state in states if state is not None]


def find(name: str | None) -> dict[str, Any]:
    states = running()
    names = [state["name"] for state in states]
    if name is None:
        if len(states) == 1:
            return states[0]
        if not states:
            raise BadInput("no lab is running; `allemande lab up CLUSTER` boots one")
        raise BadInput(f"several labs are running, say which: {', '.join(names)}")
    for state in states:
        if state["name"] == name:
            return state
    known = ", ".join(names) if names else "none"
    raise BadInput(f"no lab named {name!r} is running; running: {known}")
