"""Rounds, repeats of void runs, failures and hangs, with a stand-in for the benchmark program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from allemande.bench import runner as runner_module
from allemande.bench.candidates import Candidate, parse_candidates
from allemande.bench.conditions import Conditions
from allemande.bench.job_plan import JobPlan
from allemande.bench.runner import REPEATS_OF_VOID_MAX, Effort, Runner
from allemande.bench.setting import REAL_TIMERS
from allemande.bench.workload import Workload
from allemande.lab.placement import Placement
from allemande.lab.stats import EmulatorStats
from allemande.lab.timers import Timers, choose_timers
from allemande.progress_bar import ConsoleProgress, format_left

# Behaves as the program: options in, records out; the launch number picks what goes wrong.
STAND_IN = """
import json, os, sys, time
from pathlib import Path
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
behaviour = json.loads(os.environ["BEHAVIOUR"])
with open(options["--output"], "w") as out:
    def write(**entry):
        print(json.dumps(entry), file=out, flush=True)
    write(type="start", ranks=4, mpi="Stand-in MPI 1.0")
    for size in map(int, options["--sizes"].split(",")):
        write(type="call", size=size, warmup=True, seconds=9, wrong_bytes=0)
        if behaviour.get("hang"):
            time.sleep(60)
        for _ in range(int(options["--min-calls"])):
            write(type="call", size=size, warmup=False, seconds=behaviour["seconds"],
                  wrong_bytes=behaviour.get("wrong", 0))
        drops = behaviour.get("drops", 0)
        write(type="size", size=size, calls=1, softnet_drops=drops, cpu_idle_s=1, cpu_total_s=2)
        if behaviour.get("die"):
            print("a rank died", file=sys.stderr)
            sys.exit(3)
    write(type="end")
if "ALLEMANDE_STATS" in os.environ:
    sizes = [dict(bytes=10, exchanges=2, packets=30, retransmitted=1)]
    for rank in range(4):
        path = Path(os.environ["ALLEMANDE_STATS"].replace("%r", str(rank)))
        path.write_text(json.dumps(dict(sizes=sizes)))
"""


class FakeBed:
    """Runs the stand-in here; keeps which candidates were launched with which sizes."""

    def __init__(self, behaviours: Mapping[str, Sequence[str]]) -> None:
        self.behaviours = {name: list(texts) for name, texts in behaviours.items()}
        self.launches: list[tuple[str, str]] = []
        self.emulated: list[EmulatorStats] = []  # before and after each launch

    def command(
        self,
        candidate: Candidate,
        program: Sequence[str],
        environment: Mapping[str, str],
        placement: Placement | None = None,
    ) -> list[str]:
        texts = self.behaviours[candidate.name]
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        self.launches.append((candidate.name, program[program.index("--sizes") + 1]))
        settings = [f"{name}={value}" for name, value in environment.items()]
        return ["env", f"BEHAVIOUR={text}", *settings, sys.executable, "-c", STAND_IN, *program]

    def emulator_stats(self) -> EmulatorStats | None:
        return self.emulated.pop(0) if self.emulated else None


class Watcher:
    def __init__(self) -> None:
        self.parts: list[float] = []

    def show(self, text: str, done_s: float, total_s: float) -> None:
        self.parts.append(done_s / total_s)


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "build_program", lambda library: Path(f"/{library}"))


def make_runner(
    bed: FakeBed,
    sizes: Sequence[int] = (10,),
    rounds: int = 2,
    watcher: Watcher | None = None,
    timers: Timers = REAL_TIMERS,
    plan: JobPlan | None = None,
) -> Runner:
    candidates = parse_candidates([",".join(bed.behaviours)])
    effort = Effort(rounds=rounds, calls=2)
    whole = plan or JobPlan.of(Workload(dict.fromkeys(sizes, 0.5)))
    return Runner(bed, candidates, whole, effort, watcher or Watcher(), timers)


def emulated(frames: int, lost: int, late: int, late_ns: int) -> EmulatorStats:
    counts = {field.name: 0 for field in fields(EmulatorStats)}
    seen = {"frames_out": frames, "lost_frames": lost, "late_frames": late, "late_ns": late_ns}
    return EmulatorStats(**{**counts, **seen})


@pytest.mark.parametrize(
    ("lost", "late", "late_ns", "reason"),
    [
        (0, 1, 1_900_000_000, None),
        (3, 0, 0, "3 frames lost by the lab's emulator"),
        (0, 2, 0, "2 frames of the lab's emulator too late"),
        (0, 0, 2_100_000_000, "too late"),
    ],
)
def test_what_the_emulator_loses_or_delivers_too_late_voids(
    lost: int, late: int, late_ns: int, reason: str | None
) -> None:
    """Calls take 1 s; 100 frames cross in each launch."""
    bed = FakeBed({"mpich": ['{"seconds": 1}']})
    launches = 1 if reason is None else 1 + REPEATS_OF_VOID_MAX
    for launch in range(launches):
        for number in (launch, launch + 1):
            bed.emulated.append(
                emulated(100 * number, lost * number, late * number, late_ns * number)
            )
    runner = make_runner(bed, rounds=1)
    (figure,) = runner.run()
    assert len(bed.launches) == launches
    assert figure.void == (reason is not None)
    assert reason is None or reason in (figure.void_reason or "")


def test_candidates_take_turns() -> None:
    bed = FakeBed({"openmpi": ['{"seconds": 2}'], "allemande+mpich": ['{"seconds": 1}']})
    runner = make_runner(bed, sizes=(10, 20))
    figures = runner.run()
    assert [name for name, _ in bed.launches] == ["openmpi", "allemande+mpich"] * 2
    assert {sizes for _, sizes in bed.launches} == {"10,20"}
    assert [(f.size, f.candidate) for f in figures] == [
        (10, "openmpi"),
        (10, "allemande+mpich"),
        (20, "openmpi"),
        (20, "allemande+mpich"),
    ]
    assert (figures[0].median_s, figures[0].calls, figures[0].rounds) == (2.0, 4, 2)
    assert figures[1].ratio_to_best_stock == 2.0
    assert (figures[1].packets, figures[1].retransmitted) == (2 * 4 * 30, 2 * 4)
    assert figures[1].accelerated
    assert not figures[0].accelerated
    assert runner.outcome.mpi_versions["mpich"] == "Stand-in MPI 1.0"


def test_progress_only_grows_to_its_end() -> None:
    bed = FakeBed({"openmpi": ['{"seconds": 0.001}']})
    watcher = Watcher()
    make_runner(bed, watcher=watcher).run()
    assert watcher.parts
    assert all(0 <= part <= 1 for part in watcher.parts)


VOID = '{"seconds": 9, "drops": 4}'


@pytest.mark.parametrize(
    ("launches", "launched", "median_s", "void", "wrong_bytes"),
    [
        ([VOID, '{"seconds": 1}'], 2, 1.0, False, 0),  # repeated
        ([VOID], 1 + runner_module.REPEATS_OF_VOID_MAX, 9.0, True, 0),  # stays void
        # Wrong bytes are never repeated away.
        (['{"seconds": 9, "drops": 4, "wrong": 5}', '{"seconds": 1}'], 1, 9.0, True, 10),
    ],
)
def test_void_runs_are_repeated(
    launches: list[str], launched: int, median_s: float, void: bool, wrong_bytes: int
) -> None:
    bed = FakeBed({"mpich": launches})
    figure = make_runner(bed, rounds=1).run()[0]
    assert len(bed.launches) == launched
    assert (figure.median_s, figure.void, figure.wrong_bytes) == (median_s, void, wrong_bytes)


def test_a_void_cold_call_is_left_out_and_counted() -> None:
    bed = FakeBed({"mpich": [VOID] * (1 + REPEATS_OF_VOID_MAX) + ['{"seconds": 1}']})
    plan = replace(JobPlan.of(Workload({10: 0.5})), conditions=Conditions(cold=True))
    (figure,) = make_runner(bed, rounds=1, plan=plan).run()
    assert (figure.median_s, figure.calls, figure.void_calls) == (1.0, 1, 1)


def test_a_candidate_that_keeps_failing_is_left_out() -> None:
    bed = FakeBed({"openmpi": ['{"seconds": 1}'], "mpich": ['{"seconds": 1, "die": 1}']})
    runner = make_runner(bed, sizes=(10, 20), rounds=4)
    figures = runner.run()
    names = [name for name, _ in bed.launches]
    assert (names.count("openmpi"), names.count("mpich")) == (4, 2)
    assert runner.outcome.failures["mpich"][0] == "ended with status 3: a rank died"
    by_key = {(figure.candidate, figure.size): figure for figure in figures}
    assert by_key["mpich", 10].median_s == 1.0
    assert by_key["mpich", 20].median_s is None
    assert by_key["mpich", 20].void_reason == "ended with status 3: a rank died"


def test_a_hang_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "SILENCE_S", 0.5)
    monkeypatch.setattr(runner_module, "SILENCE_LIMITS", 0.0)
    bed = FakeBed({"openmpi": ['{"seconds": 1, "hang": 1}']})
    runner = make_runner(bed, rounds=1)
    figure = runner.run()[0]
    assert figure.median_s is None
    assert "no call completed" in (figure.void_reason or "")


def test_a_lab_whose_timers_are_scaled_may_be_silent_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner_module, "SILENCE_S", 0.1)
    monkeypatch.setattr(runner_module, "SILENCE_LIMITS", 0.0)
    bed = FakeBed({"openmpi": ['{"seconds": 1, "hang": 1}']})
    figure = make_runner(bed, rounds=1, timers=choose_timers("scaled", 0.1)).run()[0]
    assert figure.timers == "scaled"
    assert "no call completed for 1 s" in (figure.void_reason or "")


def test_no_bar_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with ConsoleProgress() as progress:
        progress.show("round 1", 1.0, 10.0)
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")


def test_a_log_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("allemande.progress_bar.time.monotonic", lambda: now)
    with ConsoleProgress() as progress:
        for now in (130.0, 160.0, 190.0, 221.0):
            progress.show("round 1/2  openmpi", now - 100, 200)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "round 1/2  openmpi, about 2 min 20 s left",
        "round 1/2  openmpi, about 1 min 19 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(125.2, "about 2 min 05 s left"), (9.6, "about 10 s left"), (-3, "about 0 s left")],
)
def test_time_left_is_readable(seconds: float, text: str) -> None:
    assert format_left(seconds) == text
