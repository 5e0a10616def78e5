"""Everything started in labs shares one group of the kernel's scheduler (ADR 53)."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from allemande.lab import Lab, processor_group

TWO_HOSTS = """
format = 1
name = "grouped"
switch = [{ name = "s" }]
host = [{ name = "h[0-1]" }]
link = [{ from = "h[0-1]", to = "s", rate_mbit_s = 10 }]
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processor_group, "ROOT", tmp_path)
    monkeypatch.setattr(processor_group, "OWN", tmp_path / "own")
    return tmp_path


@pytest.mark.parametrize(
    ("own", "folder"),
    [
        ("5:cpuset:/\n4:cpu,cpuacct:/\n0::/x\n", "cpu,cpuacct"),
        ("3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n", "cpu"),
        ("0::/\n", "."),
    ],
)
def test_a_command_joins_the_group(machine: Path, own: str, folder: str) -> None:
    (machine / "own").write_text(own)
    (machine / "cgroup.subtree_control").write_text("cpu memory\n")
    (machine / folder).mkdir(exist_ok=True)
    command = [*processor_group.entering(), "sh", "-c", "echo $$"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    group = machine / folder / "allemande-lab"
    assert (group / "cgroup.procs").read_text() == done.stdout
    (group / "cgroup.procs").unlink()
    processor_group.remove()
    assert not group.exists()


@pytest.mark.parametrize("own", ["1:cpu:/user/1000\n", "0::/user.slice/1000\n", "1:memory:/\n", ""])
def test_what_is_in_a_group_stays_there(machine: Path, own: str) -> None:
    (machine / "own").write_text(own)
    (machine / "cgroup.subtree_control").write_text("cpu\n")
    (machine / "cpu").mkdir()
    assert processor_group.entering() == []


def test_without_the_controller_nothing_changes(machine: Path) -> None:
    (machine / "own").write_text("0::/\n")
    assert processor_group.entering() == []
    (machine / "cgroup.subtree_control").write_text("memory pids\n")
    assert processor_group.entering() == []
    processor_group.remove()


def test_who_may_not_make_groups_runs_without(machine: Path) -> None:
    (machine / "own").write_text("1:cpu:/\n")
    (machine / "cpu").mkdir()
    (machine / "cpu/allemande-lab").touch()  # in the way
    assert processor_group.entering() == []


def test_a_command_runs_although_the_group_is_gone(machine: Path) -> None:
    (machine / "own").write_text("1:cpu:/\n")
    (machine / "cpu").mkdir()
    command = [*processor_group.entering(), "echo", "a word", "$x"]
    processor_group.remove()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("a word $x\n", "")


def test_the_group_goes_when_its_last_process_has_ended(machine: Path) -> None:
    (machine / "own").write_text("1:cpu:/\n")
    group = machine / "cpu/allemande-lab"
    group.mkdir(parents=True)
    (group / "cgroup.procs").touch()
    ending = threading.Timer(0.1, (group / "cgroup.procs").unlink)
    ending.start()
    processor_group.remove()
    ending.join()
    assert not group.exists()


def test_sessions_of_a_lab_are_in_its_group_until_it_ends(tmp_path: Path) -> None:
    if not processor_group.entering():
        pytest.skip("no groups of processes may be made here")
    cluster = tmp_path / "grouped.toml"
    cluster.write_text(TWO_HOSTS)
    with Lab.boot(cluster, force=True) as lab:
        done = lab.exec(
            "h1", ["setsid", "--wait", "cat", "/proc/self/cgroup"], capture_output=True, text=True
        )
        assert "/allemande-lab\n" in done.stdout
        *_, processes = processor_group.entering()
    assert not Path(processes).exists() or Path(processes).read_text()  # other labs'
