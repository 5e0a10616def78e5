"""`allemande compare`: statistics, turns, what jobs write, what runs tell, and input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allemande.compare.job_times import JobTimes, SizeClass, parse_job_times, read_job_times
from allemande.compare.rounds import Plan, Progress, run_all
from allemande.compare.runs import Command, Run, Watched, describe_code, run_once
from allemande.compare.statistics import (
    FASTER,
    NONE_FOUND,
    SLOWER,
    Ratio,
    compare_times,
    paired_ratio,
)
from allemande.compare.turns import PRELOADED, STOCK, order_of_turns
from allemande.compare.verdicts import (
    DIFFERENT,
    EQUAL,
    NOT_REPRODUCIBLE,
    conclusions,
    find,
)
from allemande.compare.verdicts_output import to_csv, to_json
from allemande.compare.written_files import Written, describe_difference, read_written
from allemande.errors import BadInput, Failed
from allemande.report.compare_page import build_compare_page, render

# ---- statistics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("true_ratio", [0.2, 0.95, 1.0, 1.3])
def test_the_true_ratio_lies_within_the_interval(true_ratio: float) -> None:
    """As often as the interval promises, on a machine that becomes slower meanwhile."""
    random = np.random.default_rng(5)
    trials, inside, claims = 2000, 0, 0
    for _ in range(trials):
        state = np.linspace(1, 1.2, 5) * random.lognormal(0, 0.1, 5)  # both runs of a round meet it
        stock = 3 * state * random.lognormal(0, 0.03, 5)
        ours = 3 * true_ratio * state * random.lognormal(0, 0.03, 5)
        ratio = paired_ratio(stock.tolist(), ours.tolist())
        assert ratio is not None
        inside += ratio.low <= true_ratio <= ratio.high
        claims += ratio.verdict != NONE_FOUND
    assert inside / trials > 0.985
    if true_ratio == 1.0:
        assert claims / trials < 0.015
    if true_ratio in (0.2, 1.3):
        assert claims / trials > 0.98


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (Ratio(0.5, 0.4, 0.6), FASTER),
        (Ratio(1.5, 1.4, 1.6), SLOWER),
        (Ratio(0.9, 0.7, 1.1), NONE_FOUND),
        (Ratio(0.995, 0.993, 0.997), NONE_FOUND),  # sure, but of no account
    ],
)
def test_a_difference_is_claimed_with_care(ratio: Ratio, verdict: str) -> None:
    assert ratio.verdict == verdict


def test_there_is_no_ratio_of_nothing() -> None:
    assert paired_ratio([1.0], [1.0]) is None
    assert paired_ratio([1.0, 2.0], [1.0]) is None
    assert paired_ratio([0.0, 1.0], [1.0, 1.0]) is None
    assert compare_times([1.0], [2.0]).verdict == NONE_FOUND


def test_each_pair_of_rounds_has_both_orders() -> None:
    for seed in range(20):
        turns = list(order_of_turns(6, seed))
        assert all(set(sides) == {STOCK, PRELOADED} for sides in turns)
        assert all(turns[i] == turns[i + 1][::-1] for i in (0, 2, 4))
    assert {next(iter(order_of_turns(1, seed)))[0] for seed in range(20)} == {STOCK, PRELOADED}


# ---- what jobs and programs write ----------------------------------------------------------------

COUNTERS = {
    "ranks": 4,
    "exchanges": 30,
    "calls": [
        {
            "function": "MPI_Alltoall",
            "bytes_least": 8192,
            "bytes_most": 16383,
            "way": "sync-shuffle over UDP",
            "calls": 36,
            "seconds": 8.0,
        },
        {
            "function": "MPI_Alltoall",
            "bytes_least": 8192,
            "bytes_most": 16383,
            "way": "library: on trial",
            "calls": 4,
            "seconds": 4.0,
        },
    ],
}


def test_times_of_a_job_are_those_of_a_rank() -> None:
    times = parse_job_times(json.dumps(COUNTERS), "stats.json")
    assert times.accelerated == 30
    one = times.classes[SizeClass("MPI_Alltoall", 8192, 16383)]
    assert (one.calls, one.seconds) == (10, 3)
    assert one.way == "sync-shuffle over UDP"
    assert (times.calls, times.seconds) == (10, 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ranks": 0, "calls": [], "exchanges": 0', "3"])
def test_counters_that_cannot_be_read_are_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    file.write_text(text)
    with pytest.raises(Failed, match=r"stats\.json: the counters cannot be read"):
        read_job_times(file)


def test_differences_of_files_are_located(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_bytes(bytes(200_000))
    one = read_written(file)
    assert describe_difference(one, read_written(file)) == ""
    file.write_bytes(bytes(150_000) + b"x" + bytes(49_999))
    assert "in 131072 to 196607" in describe_difference(one, read_written(file))
    file.write_bytes(b"")
    assert "200000 bytes, the other 0" in describe_difference(one, read_written(file))


@pytest.mark.parametrize(
    ("code", "text"),
    [(3, "exit code 3"), (139, "exit code 139 (SIGSEGV)"), (-9, "exit code 137 (SIGKILL)")],
)
def test_exit_codes_are_told_as_a_shell_tells_them(code: int, text: str) -> None:
    assert describe_code(code) == text


# ---- findings ------------------------------------------------------------------------------------


def job(seconds: float, calls: int = 10, accelerated: int = 9) -> JobTimes:
    text = {
        "ranks": 1,
        "exchanges": accelerated,
        "calls": [
            {
                "function": "MPI_Alltoallv",
                "bytes_least": 512,
                "bytes_most": 1023,
                "way": "uneven steps over UDP",
                "calls": calls,
                "seconds": seconds,
            }
        ]
        if calls
        else [],
    }
    return parse_job_times(json.dumps(text), "stats.json")


def rounds(
    ours: float, *, calls: int = 10, timed: bool = True, outputs: Mapping[str, str] | None = None
) -> list[Run]:
    runs = []
    for number in range(1, 6):
        for side, share in ((STOCK, 1.0), (PRELOADED, ours)):
            noise = 1 + 0.01 * ((number * 7 + len(side)) % 5 - 2)
            written = None
            if outputs is not None:
                text = outputs.get(f"{side}{number}", outputs.get(side, "same"))
                written = Written(len(text), (text.encode(),))
            times = job(2 * share * noise, calls) if timed else None
            seconds = (1 + 2 * share) * noise
            runs.append(Run(side, number, seconds, times, stdout=written))
    return runs


def test_it_says_where_allemande_helps() -> None:
    findings = find(rounds(0.5), 0.99)
    assert findings.total.verdict == FASTER
    assert findings.exchanges is not None and findings.exchanges.verdict == FASTER
    assert findings.exchanges.ratio is not None
    assert findings.exchanges.ratio.low < 0.5 < findings.exchanges.ratio.high
    text = "\n".join(conclusions(findings))
    assert "It helps: MPI_Alltoallv of 512 B to 1023 B" in text
    assert "times as fast with allemande" in text


def test_no_difference_is_an_answer() -> None:
    findings = find(rounds(1.0), 0.99)
    assert findings.total.verdict == NONE_FOUND
    assert "The program: no difference found." in conclusions(findings)


def test_harm_is_said() -> None:
    assert "It does harm: MPI_Alltoallv" in "\n".join(conclusions(find(rounds(1.5), 0.99)))


def test_a_program_without_exchanges_is_named_one() -> None:
    findings = find(rounds(1.0, calls=0), 0.99)
    assert findings.exchanges is None and findings.classes == ()
    assert any("calls no MPI_Alltoall" in note for note in findings.notes)


def test_missing_counters_are_said() -> None:
    findings = find(rounds(1.0, timed=False), 0.99)
    assert findings.exchanges is None
    assert any("must see the folder" in note for note in findings.notes)


@pytest.mark.parametrize(
    ("outputs", "verdict"),
    [
        ({}, EQUAL),
        ({"preloaded3": "other"}, DIFFERENT),
        ({"stock2": "other"}, NOT_REPRODUCIBLE),
        ({"stock2": "other", "preloaded3": "more"}, NOT_REPRODUCIBLE),
    ],
)
def test_outputs_are_judged(outputs: Mapping[str, str], verdict: str) -> None:
    findings = find(rounds(0.9, outputs=outputs), 0.99)
    assert [one.verdict for one in findings.outputs] == [verdict]
    assert findings.differs == (verdict == DIFFERENT)
    assert any(f"Output, stdout: {verdict}" in line for line in conclusions(findings))


def test_everything_can_be_written(tmp_path: Path) -> None:
    for runs in (rounds(0.5, outputs={}), rounds(1.0, calls=0), rounds(1.0, timed=False)):
        findings = find(runs, 0.99)
        told = json.loads(to_json(findings, ["mpirun", "./app"], 0.99))
        assert told["rounds"] == 5 and len(told["runs"]) == 10
        assert told["total"]["verdict"] == findings.total.verdict
        assert to_csv(findings).startswith("what,function,bytes_least")
        assert len(to_csv(findings).splitlines()) == 2 + (
            0 if findings.exchanges is None else 1 + len(findings.classes)
        )
        page = build_compare_page(findings, "allemande compare -- mpirun ./app<1>", 0.99)
        assert "<svg" in page and "./app&lt;1&gt;" in page and "<script" not in page
        assert render(findings, "png").startswith(b"\x89PNG")


# ---- running -------------------------------------------------------------------------------------


def shell(script: str) -> Command:
    return Command(["/bin/sh", "-c", script], os.environ)


def test_a_run_is_timed_and_its_output_kept(tmp_path: Path) -> None:
    stats = json.dumps(COUNTERS)

    def make(side: str, path: Path) -> Command:
        return shell(f"echo '{stats}' > {path}; echo allemande: a word >&2; cat; echo result")

    stdin = tmp_path / "in"
    stdin.write_text("input\n")
    run = run_once(make, STOCK, 1, tmp_path, Watched(stdout=True, stdin=stdin))
    assert run.times is not None and run.times.calls == 10
    assert run.stdout is not None and run.stdout.size == len("input\nresult\n")
    assert run.remarks == ("allemande: a word",)


def test_a_program_that_fails_is_shown(tmp_path: Path) -> None:
    with pytest.raises(Failed) as error:
        run_once(
            lambda side, path: shell("echo so far; echo no good >&2; exit 7"),
            PRELOADED,
            2,
            tmp_path,
            Watched(),
        )
    text = str(error.value)
    assert "the preloaded program in round 2 failed with exit code 7" in text
    assert "so far" in text and "no good" in text


def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"did not end within 1\.5 s and was ended"):
        run_once(
            lambda side, path: shell(f"sleep 600 & echo $! > {tmp_path}/pid; wait"),
            STOCK,
            1,
            tmp_path,
            Watched(timeout_s=1.5),
        )
    state = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    limit = time.monotonic() + 30
    while state.exists() and state.read_text().split()[2] != "Z":  # nobody may have reaped it
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_file_that_is_not_written_is_said(tmp_path: Path) -> None:
    output = tmp_path / "result"
    output.write_text("of an earlier run")
    with pytest.raises(Failed, match="did not write"):
        run_once(lambda side, path: shell("true"), STOCK, 1, tmp_path, Watched(output=output))
    run = run_once(
        lambda side, path: shell(f"echo new > {output}"), STOCK, 1, tmp_path, Watched(output=output)
    )
    assert run.output is not None and run.output.size == 4


def test_an_unknown_command_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such command"):
        run_once(lambda side, path: Command(["no-such"], {}), STOCK, 1, tmp_path, Watched())


def test_all_runs_take_their_turns(tmp_path: Path) -> None:
    done = Progress([])
    told: list[str] = []
    run_all(
        lambda side, path: shell("true"),
        Plan(rounds=2, warmup=1, seed=3),
        Watched(),
        tmp_path,
        done,
        lambda what, passed, whole: told.append(what),
    )
    assert [run.round for run in done.runs] == [0, 1, 1, 2, 2]
    assert told[0] == "stock, not counted" and told[1].startswith("round 1 of 2, ")
    assert len(done.whole_rounds()) == 4
    done.runs.pop()
    assert {run.round for run in done.whole_rounds()} == {1}


# ---- the command ---------------------------------------------------------------------------------


def allemande(*arguments: str, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "allemande", *arguments],
        env={**os.environ, **env},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def srun(tmp_path: Path) -> Path:
    """A launcher that is known by its name, and what it launches is what follows."""
    path = tmp_path / "srun"
    path.write_text('#!/bin/sh\nunset LD_PRELOAD\nexec "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "1"], "--rounds 1"),
        (["--warmup", "-1"], "--warmup -1"),
        (["--timeout", "0"], "--timeout 0"),
        (["--confidence", "1"], "--confidence 1"),
        (["--plot", "x.pdf"], "x.pdf"),
        (["--json", "-", "--csv", "-"], "cannot both be"),
        (["--page", "/no/such/folder/x.html"], "/no/such/folder"),
        (["--output", "/no/such/folder/x"], "/no/such/folder"),
        (["--stdin", "/no/such/file"], "/no/such/file"),
        (["--set", "disable=on"], "disable"),
        (["--lab", "no-such-lab"], "no-such-lab"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], said: str, srun: Path) -> None:
    code, _, err = allemande("compare", *arguments, "--mpi", "openmpi", "--", str(srun), "true")
    assert code == 2, err
    assert said in err


def test_an_unknown_launcher_is_refused() -> None:
    code, _, err = allemande("compare", "--", "true", "./app")
    assert code == 2 and "mpirun" in err


def test_a_failing_program_ends_it_with_one(srun: Path, tmp_path: Path) -> None:
    code, _, err = allemande(
        "compare", "--mpi", "openmpi", "--", str(srun), "sh", "-c", "echo oh no; exit 4",
        cwd=tmp_path,
    )  # fmt: skip
    assert code == 1
    assert "the stock program (before round 1) failed with exit code 4" in err and "oh no" in err
    assert not list(tmp_path.glob(".allemande-compare-*"))


def test_a_program_without_mpi_is_compared_all_the_same(srun: Path, tmp_path: Path) -> None:
    code, out, err = allemande(
        "compare", "--mpi", "openmpi", "--rounds", "2", "--stdout", "--json", "found.json",
        "--", str(srun), "echo", "hello", cwd=tmp_path,
    )  # fmt: skip
    assert code == 0, err
    assert "Output, stdout: equal" in out and "must see the folder" in out
    assert json.loads((tmp_path / "found.json").read_text())["exchanges"] is None


def test_an_output_that_differs_with_allemande_ends_it_with_one(srun: Path, tmp_path: Path) -> None:
    script = 'test -z "$ALLEMANDE_DISABLE" && echo preloaded || echo stock'
    code, out, _ = allemande(
        "compare", "--mpi", "openmpi", "--rounds", "2", "--stdout",
        "--", str(srun), "sh", "-c", script, cwd=tmp_path,
    )  # fmt: skip
    assert code == 1
    assert "Output, stdout: different" in out


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupt_leaves_nothing_behind(
    number: signal.Signals, expected: int, srun: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "allemande", "compare", "--mpi", "openmpi", "--"),
            *(str(srun), "sh", "-c", "echo $$ > pid; sleep 600"),
        ],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 60
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()):
        assert time.monotonic() < limit
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) == expected
    # Who is killed is there until its parent has seen it.
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(int((tmp_path / "pid").read_text()), 0)
            time.sleep(0.05)
    assert not list(tmp_path.glob(".allemande-compare-*"))


def test_an_interrupt_while_a_program_starts_ends_it(
    srun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal that comes before Popen has returned: nobody had a handle of the process."""
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    command = Command([str(srun), "sleep", "600"], dict(os.environ))
    with pytest.raises(KeyboardInterrupt):
        run_once(lambda *_: command, "stock", 1, tmp_path, Watched())
    assert started[0].poll() == -signal.SIGTERM
