"""The first process of a lab: builds it from a plan, keeps it, and takes it along when it ends.

    python init.py < plan and then lines     > status lines

It starts as an ordinary process, makes the lab's user (when not root), PID, mount and IPC
namespaces and forks; the child is process 1 in there. A host's namespaces are held by a process
of its own, a child of process 1, and so are those of the network: their holder becomes the
emulator. When process 1 ends for whatever reason, even kill -9, the kernel
kills all of them and everything started in the lab, and with them go namespaces, links and mounts.

Standard input carries the plan as one line of JSON. After that its end means that whoever booted
the lab is gone: process 1 removes the lab's directory and exits. The line `keep` before the end
means that the lab stays until it is told to go.
Standard output carries lines of JSON: {"pid": …} as seen from outside, then {"ready": …} or
{"error": …}.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import qdisc
from . import system_calls as calls

TOOLS = ("ip", "bridge", "tc")
UP_TIMEOUT_S = 60
ENDED_WITHIN_S = 2
GROUP_ENDED_WITHIN_S = 0.5


def _say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def _read_line(descriptor: int) -> bytes:
    """One line at a time: whoever writes waits for an answer before the next."""
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, 65536)
        if not part:
            break
        line += part
    return bytes(line)


def _enter_new_namespaces() -> None:
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        calls.unshare(calls.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    calls.unshare(calls.CLONE_NEWPID | calls.CLONE_NEWNS | calls.CLONE_NEWIPC)


def _private_mounts(directory: Path) -> None:
    """What programs leave in shared memory or in temporary files goes with the lab."""
    calls.mount("none", "/", None, calls.MS_REC | calls.MS_PRIVATE)
    calls.mount("proc", "/proc", "proc", calls.MS_NOSUID | calls.MS_NODEV)
    for target in ("/dev/shm", str(directory / "tmp")):
        calls.mount("tmpfs", target, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "mode=1777")
    calls.mount(str(directory / "hosts"), "/etc/hosts", None, calls.MS_BIND)


def _apply(settings: dict[str, str], optional: bool) -> None:
    for name, value in settings.items():
        try:
            Path("/proc/sys", name).write_text(value)
        except OSError as error:
            if not optional and not isinstance(error, FileNotFoundError):
                raise OSError(error.errno, f"/proc/sys/{name}: {error.strerror}") from error


def _batch(tool: str, lines: list[str]) -> None:
    if not lines:
        return
    done = subprocess.run(
        [tool, "-batch", "-"], input="\n".join(lines), text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise OSError(f"{tool}: {done.stderr.strip()}")


def _wait_until_up(devices: list[str], in_bridge: bool) -> None:
    """The kernel lets a link carry traffic some time after it was set up; until then it drops."""
    deadline = time.monotonic() + UP_TIMEOUT_S
    for device in devices:
        folder = Path("/sys/class/net", device)
        state, wanted = (
            (folder / "brport/state", "3") if in_bridge else (folder / "operstate", "up")
        )
        while state.read_text().strip() != wanted:
            if time.monotonic() > deadline:
                raise OSError(f"{device} does not come up")
            time.sleep(0.002)
    # The state changes a moment before queues open, under one lock; so wait for that lock.
    with qdisc.open_socket() as netlink:
        qdisc.dump(netlink)


class Holder:
    """A child that makes the namespaces of a host or of the network, and stays there.

    The plan's entry names its `host`, or has the command line of the `emulator`.
    """

    def __init__(self, entry: dict[str, Any], offloads: bool) -> None:
        self.host: str | None = entry.get("host")
        self.name = self.host or "the network"
        self.entry = entry
        self.offloads = offloads
        to_child, self.to_child = os.pipe()
        self.from_child, from_child = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.to_child)
            os.close(self.from_child)
            self._hold(to_child, from_child)
        os.close(to_child)
        os.close(from_child)

    def _hold(self, commands: int, results: int) -> None:
        """In the child: never returns."""
        try:
            calls.set_process_name(self.name)
            calls.unshare(calls.CLONE_NEWNET | calls.CLONE_NEWUTS | calls.CLONE_NEWNS)
            if self.host is not None:
                socket.sethostname(self.host)
            # /sys/class/net shows the namespace it was mounted in; libraries list devices there.
            calls.mount("sysfs", "/sys", "sysfs", calls.MS_NOSUID | calls.MS_NODEV)
            _apply(self.entry["settings"], optional=False)
            os.write(results, b"\n")
            finished = False
            while not finished:
                command = json.loads(_read_line(commands))
                self._carry_out(command)
                finished = command["finish"]
                if not finished:
                    os.write(results, b"\n")
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            if "emulator" in self.entry:
                self._become_emulator(command["hosts"], results)
        except BaseException as error:
            os.write(results, f"{self.name}: {error}\n".encode())
            os._exit(1)
        os.write(results, b"\n")
        os.closerange(3, results + 1)
        while True:
            signal.pause()

    def _become_emulator(self, hosts: list[int], results: int) -> None:
        """It answers by itself: with an empty line when it is ready, or with what is wrong."""
        os.set_inheritable(results, True)
        words = ["--hosts", ",".join(map(str, hosts)), "--ready", str(results)]
        os.execv(self.entry["emulator"][0], [*self.entry["emulator"], *words])

    def _carry_out(self, command: dict[str, Any]) -> None:
        for tool in TOOLS:
            _batch(tool, command.get(tool, []))
        if command["finish"]:
            _apply(self.entry["optional_settings"], optional=True)
            for device in self.entry["devices"]:
                calls.set_offloads(device, self.offloads)
            _wait_until_up(self.entry["devices"], in_bridge="bridge" in self.entry)

    def tell(self, command: dict[str, Any]) -> None:
        os.write(self.to_child, json.dumps(command).encode() + b"\n")

    def wait(self) -> None:
        answer = _read_line(self.from_child)
        if answer != b"\n":
            raise OSError(answer.decode().strip() or f"{self.name}: its process ended early")

    def settle(self) -> None:
        """Waits for the last command and lets go of the pipes."""
        self.wait()
        os.close(self.to_child)
        os.close(self.from_child)


def _build(plan: dict[str, Any]) -> list[Holder]:
    """All namespaces at once, then the links between them, then each namespace's own settings."""
    holders = [Holder(entry, plan["offloads"]) for entry in plan["namespaces"]]
    for holder in holders:
        holder.wait()
    # "{0}" in a command is the process that holds the first namespace's, and so on.
    pids = [holder.pid for holder in holders]
    last = holders[-1]
    last.tell({"ip": [line.format(*pids) for line in plan["links"]], "finish": False})
    last.wait()
    hosts = [holder.pid for holder in holders if holder.host is not None]
    for holder in holders:
        lines = {tool: holder.entry.get(tool, []) for tool in TOOLS}
        holder.tell({**lines, "hosts": hosts, "finish": True})
    # The network first: when it fails, every host loses its links and complains of that.
    for holder in reversed(holders):
        holder.settle()
    return holders


def _reap() -> list[int]:
    ended: list[int] = []
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append(pid)


def _others_live() -> bool:
    """In this PID namespace. Dead ones may wait long for somebody outside to reap them."""
    here = os.readlink("/proc/self/ns/pid")
    me = os.readlink("/proc/self")
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or entry == me:
            continue
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{entry}/ns/pid") == here:
                state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    return True
    return False


def _end_others() -> None:
    """Nobody is to write into the lab's directory while it goes."""
    if os.getpid() != 1:
        return
    limit = time.monotonic() + ENDED_WITHIN_S
    while time.monotonic() < limit:
        try:
            os.kill(-1, signal.SIGKILL)  # all of this PID namespace but this one
        except ProcessLookupError:
            return
        _reap()
        if not _others_live():
            return
        time.sleep(0.005)


def _remove(directory: Path, inode: int) -> None:
    """The lab's own directory, not a later one of the same name."""
    with contextlib.suppress(OSError):  # not mounted yet, or removed already
        calls.unmount(str(directory / "tmp"))
    with contextlib.suppress(OSError):
        if directory.stat().st_ino == inode:
            shutil.rmtree(directory, ignore_errors=True)
            directory.parent.rmdir()  # unless other labs are in there


def _remove_group(folder: str) -> None:
    """The processes' group (processor_group.py), unless other labs are in it: who booted this lab
    may be dead, and does not see to it."""
    limit = time.monotonic() + GROUP_ENDED_WITHIN_S
    while folder and time.monotonic() < limit:
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:  # the last processes are still ending, or other labs'
            time.sleep(0.01)


def _keep(holders: list[Holder]) -> None:
    """Until the boot's parent is gone or a holder is; returns when the lab should end."""
    held = {holder.pid for holder in holders}
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(wake_read, select.POLLIN)
    poll.register(0, select.POLLIN)
    if held.intersection(_reap()):
        return
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == 0:
                if _read_line(0) != b"keep\n":
                    return
                poll.unregister(0)
            else:
                os.read(wake_read, 4096)
                if held.intersection(_reap()):
                    return


def _first_process(plan: dict[str, Any]) -> None:
    directory = Path(plan["directory"])
    inode = directory.stat().st_ino
    try:
        calls.set_process_name("lab " + directory.name)
        os.chdir("/")
        _private_mounts(directory)
        holders = _build(plan)
        _say({"ready": [holder.pid for holder in holders]})
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.close(null)
        gc.freeze()
        _keep(holders)
    except Exception as error:
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
            _say({"error": str(error)})
    finally:
        _end_others()
        _remove(directory, inode)
        _remove_group(plan.get("group", ""))


def main() -> None:
    line = _read_line(0)
    if not line.endswith(b"\n"):
        return  # whoever started us is gone already
    plan = json.loads(line)
    try:
        _enter_new_namespaces()
    except OSError as error:
        _say({"error": str(error), "stage": "namespaces"})
        sys.exit(1)
    pid = os.fork()
    if pid == 0:
        _first_process(plan)
        os._exit(0)
    with contextlib.suppress(BrokenPipeError):
        _say({"pid": pid})


if __name__ == "__main__":
    main()
