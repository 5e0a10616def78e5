from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "side_by_side.py"


def test_what_waits_is_told_last() -> None:
    command = [sys.executable, str(TOOL), "sleep 0.5; echo first", "echo second; sleep 1; echo end"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["first", "second", "end"]


@pytest.mark.parametrize("commands", [("exit 3", "echo end"), ("true", "echo end; exit 4")])
def test_either_failure_is_one(commands: tuple[str, str]) -> None:
    command = [sys.executable, str(TOOL), *commands]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == "end\n"
    (failed,) = [words for words in commands if "exit" in words]
    assert f"`{failed}` failed with code {failed[-1]}" in done.stderr


# A shell may miss a signal that comes just before it waits.
HEARS = """
import pathlib, signal, sys, time
file = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGINT, lambda *_: (file.unlink(), sys.exit()))
file.touch()
while True:
    time.sleep(0.1)
"""


def test_a_signal_ends_both(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    both = [shlex.join([sys.executable, "-I", "-c", HEARS, str(file)]) for file in files]
    with subprocess.Popen([sys.executable, str(TOOL), *both]) as process:
        while not all(file.exists() for file in files):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    assert not any(file.exists() for file in files)
