"""Labs begin and end whole, whoever ends them and however."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab_processes import name_of_process, processes_of

from allemande.errors import BadInput, Failed
from allemande.lab import Lab, processor_group, registry

Check = Callable[[], None]
Find = Callable[[], set[str]]

ALLEMANDE = (sys.executable, "-m", "allemande", "lab")
PATIENCE_S = 60

PARENT = """
import sys, time
from allemande.lab import Lab
lab = Lab.boot(sys.argv[1])
command = lab.popen("h0", ["sleep", "600"])
print("ready", flush=True)
time.sleep(600)
"""


def allemande(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ALLEMANDE, *words], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def sleeper(started: Path) -> str:
    return f"touch {started}; exec sleep 600"


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def parent_with_lab(cluster: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(cluster)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_end_of_the_block_leaves_nothing(
    cluster: Path, namespaces_of: Find, nothing_left: Check
) -> None:
    with Lab.boot(cluster) as lab:
        background = lab.popen("h0", ["sleep", "600"])
        seen = namespaces_of()
        assert len(seen) >= 2 * len(lab.hosts) + 2  # net and uts per host, switches, pid
    assert background.wait() != 0
    nothing_left()


def test_kill_of_the_parent_leaves_nothing(cluster: Path, nothing_left: Check) -> None:
    with parent_with_lab(cluster) as parent:
        parent.kill()
    nothing_left()


def test_kill_of_the_first_process_leaves_nothing(cluster: Path, nothing_left: Check) -> None:
    with Lab.boot(cluster, persistent=True) as lab:
        os.kill(json.loads((lab.directory / "state.json").read_text())["init"]["pid"], 9)
        wait_for(lambda: registry.running() == [])
        with pytest.raises(Failed, match="not running any more"):
            lab.command("h0", ["true"])
    nothing_left()


def test_kill_of_a_process_inside_ends_the_whole_lab(cluster: Path, nothing_left: Check) -> None:
    with Lab.boot(cluster, persistent=True) as lab:
        # Process 2 holds the namespaces of the first host.
        lab.exec("h1", ["sh", "-c", "kill -9 2"], check=False)
        wait_for(lambda: registry.running() == [])
    nothing_left()


def test_kill_of_the_emulator_ends_the_whole_lab(cluster: Path, nothing_left: Check) -> None:
    with Lab.boot(cluster, persistent=True) as lab:
        (emulator,) = (
            int(folder.name)
            for folder in processes_of(lab)
            if name_of_process(folder).startswith("allemande-emul")
        )
        os.kill(emulator, signal.SIGKILL)
        wait_for(lambda: registry.running() == [])
    nothing_left()


def test_interrupt_ends_the_run_and_leaves_nothing(
    cluster: Path, nothing_left: Check, registry_base: Path
) -> None:
    started = registry_base / "started"
    process = subprocess.Popen(
        [*ALLEMANDE, "run", str(cluster), "-n", "2", "--", "sh", "-c", sleeper(started)],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(started.exists)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE_S) != 0
    nothing_left()


@pytest.mark.alone
def test_killing_the_run_leaves_no_group_of_processes(
    cluster: Path, nothing_left: Check, registry_base: Path
) -> None:
    group = processor_group.make()
    if group is None:
        pytest.skip("no group may be made here")
    started = registry_base / "started"
    command = [*ALLEMANDE, "run", str(cluster), "-n", "2", "--", "sh", "-c", sleeper(started)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    wait_for(started.exists)
    process.kill()
    process.wait(PATIENCE_S)
    wait_for(lambda: not group.exists())
    nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("after_ms", [50, 200, 350, 500, 650])
def test_ended_while_booting_leaves_nothing(
    cluster: Path, nothing_left: Check, number: signal.Signals, after_ms: int
) -> None:
    process = subprocess.Popen(
        [*ALLEMANDE, "run", str(cluster), "--", "sleep", "600"],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(after_ms / 1000)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.kill()
    assert process.wait(PATIENCE_S) != 0
    nothing_left()


def test_the_third_interrupt_ends_a_deaf_command(lab: Lab, registry_base: Path) -> None:
    started = registry_base / "started"
    deaf = f"trap '' INT; {sleeper(started)}"
    process = subprocess.Popen(
        [*ALLEMANDE, "exec", "h0", "--", "sh", "-c", deaf], start_new_session=True
    )
    wait_for(started.exists)
    for _ in range(3):
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)  # two at once would count as one
    assert process.wait(PATIENCE_S) == 128 + signal.SIGKILL
    assert registry.running() != []


def test_a_lab_that_is_up_stays_until_down(cluster: Path, nothing_left: Check) -> None:
    up = allemande("up", str(cluster), "--name", "first")
    assert up.returncode == 0, up.stderr
    rows = json.loads(allemande("ls", "--json").stdout)
    assert [(row["name"], row["hosts"]) for row in rows] == [("first", 4)]
    assert "first" in allemande("ls").stdout
    down = allemande("down")
    assert (down.returncode, down.stdout) == (0, "lab first is down\n")
    nothing_left()
    assert allemande("down").returncode == 2


def test_two_labs_run_at_once_and_are_told_apart(cluster: Path, nothing_left: Check) -> None:
    with Lab.boot(cluster) as one, Lab.boot(cluster) as two:
        assert (one.name, two.name) == ("small", "small-2")
        for lab in (one, two):
            name = lab.exec("h3", ["hostname"], capture_output=True, text=True, check=True).stdout
            assert name == "h3\n"
        with pytest.raises(BadInput, match="say which: small, small-2"):
            Lab.attach()
        assert Lab.attach("small-2").directory == two.directory
        with pytest.raises(BadInput, match="running already"):
            Lab.boot(cluster, name="small")
        one.close()
        assert two.exec("h0", ["true"], check=False).returncode == 0
    nothing_left()


def test_processes_are_known_by_their_lab(cluster: Path) -> None:
    with Lab.boot(cluster, name="one") as one, Lab.boot(cluster, name="two") as two:
        sleepers = {lab.name: lab.popen("h0", ["sleep", "600"]) for lab in (one, two)}

        def sleeping(lab: Lab) -> list[Path]:
            return [path for path in processes_of(lab) if name_of_process(path) == "sleep"]

        wait_for(lambda: len(sleeping(one)) == len(sleeping(two)) == 1)
        assert sleeping(one) != sleeping(two)
        one.close()
        wait_for(lambda: sleepers["one"].poll() is not None)
        assert sleeping(one) == []
        assert len(sleeping(two)) == 1


def test_a_killed_exec_takes_its_command_along(lab: Lab, registry_base: Path) -> None:
    started = registry_base / "started"
    process = subprocess.Popen([*ALLEMANDE, "exec", "h0", "--", "sh", "-c", sleeper(started)])
    wait_for(started.exists)
    process.kill()
    process.wait()
    listing = ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]
    wait_for(
        lambda: "sleep 600" not in lab.exec("h1", listing, capture_output=True, text=True).stdout
    )


@pytest.mark.parametrize("name", ["", "a/b", "-x", ".x", "a b"])
def test_names_that_make_no_directory_are_refused(cluster: Path, name: str) -> None:
    with pytest.raises(BadInput, match="lab name"):
        Lab.boot(cluster, name=name)
