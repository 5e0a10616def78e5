"""The command itself: registry, exit codes, lazy imports, arguments after `--`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
import typer

from allemande import __version__, cli
from allemande.entry import EXIT_INTERRUPTED
from allemande.errors import BadInput, Failed

# The command, which makes a file once its workers compute.
SIDE_BY_SIDE = """
import pathlib, sys
from allemande.cli import main
from allemande.progress_bar import LateProgress

ready = pathlib.Path(sys.argv[1])

def look(self, done):
    if done > 0:
        ready.touch()

LateProgress.__call__ = look
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that stands in for one of the commands."""
    module = ModuleType("allemande.cli.stand_in")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(cli.COMMANDS, "stand-in", (module.__name__, "Stands in."))
    return module


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in cli.COMMANDS:
        assert f" {name} " in printed


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"allemande {__version__}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_paragraphs_of_help_flow(name: str) -> None:
    command = cli.load_command(name)
    for each in (command, *getattr(command, "commands", {}).values()):
        for paragraph in each.help.split("\n\n"):
            assert "\n" not in paragraph or "\n  " in f"\n{paragraph}", paragraph


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_loads_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert f"allemande {name}" in capsys.readouterr().out


def test_unknown_command_lists_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lap"]) == 2
    printed = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "Did you mean 'lab'?" in printed
    assert ", ".join(cli.COMMANDS) in printed


@pytest.mark.parametrize("arguments", [["--nope"], ["config", "--nope"], ["config", "extra"]])
def test_unknown_option_is_bad_input(arguments: list[str]) -> None:
    assert cli.main(arguments) == 2


def test_everything_after_two_dashes_is_untouched(command: ModuleType) -> None:
    seen: list[str] = []

    def run(words: Annotated[list[str], typer.Argument()], scale: float = 1) -> None:
        seen.extend([str(scale), *words])

    command.command = run  # type: ignore[attr-defined]
    arguments = ["mpirun", "--scale", "3", "--help", "--", "./app", "-x"]
    assert cli.main(["stand-in", "--scale", "2", "--", *arguments]) == 0
    assert seen == ["2.0", *arguments]


@pytest.mark.parametrize(
    ("error", "code"), [(BadInput("no such host h9"), 2), (Failed("the lab is gone"), 1)]
)
def test_errors_become_a_message_and_an_exit_code(
    error: Exception, code: int, command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    command.command = fail  # type: ignore[attr-defined]
    assert cli.main(["stand-in"]) == code
    captured = capsys.readouterr()
    assert captured.err == f"allemande: {error}\n"
    assert captured.out == ""


def test_exit_code_of_a_command_is_kept(command: ModuleType) -> None:
    app = typer.Typer()

    @app.command()
    def leave() -> None:
        raise typer.Exit(7)

    command.app = app  # type: ignore[attr-defined]
    assert cli.main(["stand-in"]) == 7


def test_interrupt_exits_130(command: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    command.command = interrupted  # type: ignore[attr-defined]
    assert cli.main(["stand-in"]) == EXIT_INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_whoever_is_told_to_end_cleans_up(command: ModuleType, number: signal.Signals) -> None:
    cleaned: list[bool] = []

    def told() -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            cleaned.append(True)

    command.command = told  # type: ignore[attr-defined]
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert cli.main(["stand-in"]) == 128 + number
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert cleaned == [True]


def test_what_is_ignored_stays_ignored(command: ModuleType) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    command.command = lambda: os.kill(os.getpid(), signal.SIGHUP)  # type: ignore[attr-defined]
    try:
        assert cli.main(["stand-in"]) == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_help_imports_no_command_and_nothing_heavy() -> None:
    program = (
        "import sys; from allemande import cli; cli.main(['--help']);"
        "heavy = {'numpy', 'matplotlib', 'allemande._core', 'tomllib'}"
        " | {module for module, _ in cli.COMMANDS.values()};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--output", "/dev/full"], ["--lid-tables", "/dev/full"]]
)
def test_a_full_disk_is_told_in_one_line(arguments: list[str]) -> None:
    line = [sys.executable, "-m", "allemande", "topology", "tam-8x1", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    ["simulate tam-8x1 --size 1 --json -", "topology tam-8x1 -o -", "emit json --ranks 2 -o -"],
)
def test_a_closed_standard_output_is_told_in_one_line(arguments: str) -> None:
    line = f"exec '{sys.executable}' -m allemande {arguments} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith(
        "allemande: standard output is closed; open it, or name a file in place of '-'\n"
    )


def test_a_lack_of_memory_is_told_in_one_line(
    command: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> None:
        raise MemoryError

    command.command = run  # type: ignore[attr-defined]
    assert cli.main(["stand-in"]) == 1
    assert capsys.readouterr().err.startswith("allemande: there is not enough memory")


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "allemande", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"allemande {__version__}\n")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("study.by_itself", "bench-by-itself"),
        ("study.without_file", "bench-without-file"),
        ("study.emitted_rules", "bench-rules"),
        ("study.profile_trials", "bench-trials"),
        ("study.scale_check", "bench-scale"),
        ("study.sweep", "bench-mpi"),
    ],
)
def test_programs_behind_make_targets_refuse_bad_input_as_the_command_does(
    module: str, name: str, tmp_path: Path
) -> None:
    line = [sys.executable, "-m", f"allemande.{module}", "--sizes", "1K,none"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{name}: ") and "'none'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_simulations_side_by_side_end_when_told_to(number: signal.Signals, tmp_path: Path) -> None:
    # Each takes seconds, and its network fills the pipe to the workers.
    ready = tmp_path / "ready"
    line = [
        *(sys.executable, "-c", SIDE_BY_SIDE, str(ready)),
        *("simulate", "fat-tree:512", "--size", "1MiB,2MiB,3MiB,4MiB", "--workers", "2"),
    ]
    with subprocess.Popen(line, stderr=subprocess.PIPE) as process:
        try:
            while not ready.exists() and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(number)
            assert process.wait(20) == 128 + number
        finally:
            process.kill()
