"""The sweep: what is launched, what is kept, what comes of it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from allemande.bench.message_sizes import parse_sizes
from allemande.bench.workload import Workload
from allemande.entry import run_command
from allemande.errors import BadInput
from allemande.quantities import TIMES
from allemande.study import sweep as sweep_module
from allemande.study.sweep import choose, effort_of, find_jobs, group
from allemande.study.sweep_store import Launch, Plan, Store, opening_s, summarise, trial_cost
from allemande.study.sweep_table import print_cluster, print_worst

LIMITS = {100: 0.5, 1000: 1.0}


def launch(candidate: str, size: int, *seconds: float, **more: Any) -> Launch:
    return replace(Launch(candidate, size, 0, list(seconds)), **more)


LAUNCHES = [
    launch("openmpi", 100, 4.0),
    launch("openmpi:bruck", 100, 3.0, 3.0, 9.0),
    launch("openmpi:pairwise", 100, 1.0, void_reason="dropped"),
    launch("allemande+openmpi", 100, 2.0, first=[6.0, 4.0, 2.0, 2.0], own_part=0.75),
    launch("mpich", 100, 2.0),
    launch("mpich:ucx", 100, 1.0),
    launch("allemande+mpich", 100, 4.0, own_part=0.25, wrong_bytes=3),
]


def test_best_and_default_are_of_the_same_library() -> None:
    first, second = summarise(LAUNCHES, LIMITS, 4)
    assert (first.library, first.best_stock, first.best_stock_s) == ("openmpi", "openmpi:bruck", 3)
    assert (first.default_s, first.ours_s) == (4.0, 2.0)
    assert (first.against_best, first.against_default) == (1.5, 2.0)
    assert (first.own_part, first.wrong_bytes) == (0.75, 0)
    assert (second.best_stock, second.against_best, second.against_default) == (
        "mpich:ucx",
        0.25,
        0.5,
    )
    assert (second.wrong_bytes, second.trial_cost) == (3, None)


def test_idle_processors_count_only_where_our_way_was_kept() -> None:
    """Where the library's own calls were, its ranks spin while they wait."""

    def busy(**more: Any) -> bool:
        (row,) = summarise([launch("allemande+mpich", 100, 1.0, **more)], {100: 0.5}, 4)
        return row.is_busy

    assert busy(own_part=0.9, cpu_idle=0.1)
    assert not busy(own_part=0.9, cpu_idle=0.3)
    assert not busy(own_part=0.1, cpu_idle=0.0)
    assert not busy(own_part=0.9)


def test_sizes_are_measured_at_the_scale_of_their_group() -> None:
    plan = Plan(scales=(0.01, 0.05, 0.1))
    assert [plan.scale_of(size) for size in (1, 999, 1000, 10_000, 10_001)] == [
        0.01,
        0.01,
        0.05,
        0.05,
        0.1,
    ]


def test_cost_of_trials_is_what_the_first_calls_took_longer() -> None:
    """6 + 4 + 2 + 2 in the first four calls; settled ones take 2: 14 / 8. In the first size of a
    launch the first call counts as a settled one: 10 / 8; and 1.5 s of the second are stock's."""
    one = launch("allemande+mpich", 100, 2.0, first=[6.0, 4.0, 2.0, 2.0])
    assert trial_cost([one], 4) == pytest.approx(14 / 8 - 1)
    opens = replace(one, opens=True)
    assert trial_cost([opens], 4) == pytest.approx(10 / 8 - 1)
    assert trial_cost([opens], 4, 1.5) == pytest.approx(8.5 / 8 - 1)
    assert trial_cost([opens], 4, 50.0) == pytest.approx(0)
    stock = launch("mpich", 100, 2.0, 3.0, first=[5.0, 3.0], opens=True)
    assert opening_s([stock, launch("mpich", 100, 2.0, first=[9.0])]) == pytest.approx(2.0)
    assert opening_s([]) == 0
    assert trial_cost([one], 5) is None  # too few were timed
    assert trial_cost([one], 0) is None


def test_sizes_are_launched_in_groups_small_ones_often() -> None:
    sizes = parse_sizes(sweep_module.SIZES)
    small, medium, large = group(sizes)
    assert (small[0], small[-1], medium[0], medium[-1], large[-1]) == (1, 512, 1000, 10_000, 65_536)
    assert [*small, *medium, *large] == sizes
    plan = Plan()
    stock, ours = choose(["mpich,allemande+mpich"])
    assert plan.rounds * effort_of(plan, stock, 0, small).calls >= 50
    assert effort_of(plan, stock, 0, small).warmup == sweep_module.STOCK_WARMUP
    assert effort_of(plan, ours, 0, small).warmup == sweep_module.SETTLED_AFTER[0]
    assert effort_of(plan, ours, 0, medium).warmup == 200
    assert effort_of(plan, ours, 1, medium).warmup == sweep_module.SETTLED_AFTER[1]
    assert effort_of(plan, ours, 0, large).warmup == sweep_module.SETTLED_AFTER[2]
    assert effort_of(plan, ours, 0, large).calls == plan.calls


def test_ours_runs_with_trials_and_every_stock_algorithm_is_there() -> None:
    candidates = choose([])
    names = [candidate.name for candidate in candidates]
    assert {"openmpi:bruck", "mpich:bruck", "mpich:ucx"} <= set(names)
    assert all(candidate.with_trials for candidate in candidates if not candidate.stock)
    with pytest.raises(BadInput, match="no options in a sweep"):
        choose(["allemande+mpich:window=3"])


def test_what_is_there_is_not_launched_again(tmp_path: Path) -> None:
    plan = Plan(rounds=2)
    store = Store(tmp_path / "c.json", plan)
    candidates = choose(["mpich,allemande+mpich"])
    workload = Workload(LIMITS)
    assert len(find_jobs(plan, candidates, workload, store)) == 2 * 2
    store.add([launch("mpich", 100, 1.0, void_reason="dropped"), launch("mpich", 1000, 1.0)])
    store.write("c", LIMITS)
    again = Store(tmp_path / "c.json", plan)
    assert again.launches == store.launches
    jobs = find_jobs(plan, candidates, workload, again)
    assert [(job.candidate.name, job.turn, *job.workload.limits_s) for job in jobs[:2]] == [
        ("mpich", 0, 100),
        ("allemande+mpich", 0, 100, 1000),
    ]
    assert len(jobs) == 4
    again.add([launch("mpich", 100, 2.0)])  # in place of the void one
    assert [each.seconds for each in again.launches] == [[1.0], [2.0]]
    rows = json.loads((tmp_path / "c.json").read_text())["rows"]
    assert [(row["size"], row["best_stock"]) for row in rows] == [(100, None), (1000, "mpich")]


def test_another_build_of_allemande_is_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    store = Store(path, Plan())
    ours = launch("allemande+mpich", 100, 1.0, build="old")
    store.add([launch("mpich", 100, 1.0), ours])
    store.write("c", LIMITS)
    assert len(Store(path, Plan(), builds={"mpich": "", "allemande+mpich": "old"}).launches) == 2
    left = Store(path, Plan(), builds={"mpich": "", "allemande+mpich": "new"}).launches
    assert [each.candidate for each in left] == ["mpich"]


def test_results_of_another_plan_or_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    Store(path, Plan()).write("c", {})
    with pytest.raises(BadInput, match="was measured otherwise"):
        Store(path, Plan(scales=(0.1, 0.1, 0.5)))
    with pytest.raises(BadInput, match="on another cluster of this name"):
        Store(path, Plan(), "another")
    path.write_text("[]")
    with pytest.raises(BadInput, match="is no result of a sweep"):
        Store(path, Plan())


def test_the_worst_ratios_are_printed_last() -> None:
    output = io.StringIO()
    console = Console(file=output, width=80)
    rows = summarise(LAUNCHES, LIMITS, 4)
    print_cluster(console, "c", rows)
    print_worst(console, {"c": rows})
    lines = output.getvalue().splitlines()
    assert any("openmpi:bruck" in line and f"1.50{TIMES}" in line for line in lines)
    assert "…" not in output.getvalue()
    assert lines[-4] == "cost of trials over the first calls: +75.0% on average, +75.0% worst"
    assert lines[-3] == "3 WRONG BYTES"
    assert (
        lines[-2] == f"worst of best stock / ours: 0.25{TIMES} (c, 100 B, mpich); below 1 in 1 of 2"
    )
    assert (
        lines[-1]
        == f"worst of default stock / ours: 0.50{TIMES} (c, 100 B, mpich); below 1 in 1 of 2"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", "tam-9x9"], "no cluster is called 'tam-9x9'"),
        (["--clusters", "tam-8x1,tam-8x1"], "names one twice"),
        (["--scale", "0"], "--scale '0' is not valid"),
        (["--timers", "fast"], "timers 'fast' are unknown; expected one of: scaled, real"),
        (["--scale", "0.1,x,1"], "--scale '0.1,x,1' is not valid"),
        (["--scale", "0.1,0.2"], "expected one number of 0.0001 to 1000, or 3 of them"),
        (["--against", "nobody"], "unknown candidate 'nobody'"),
    ],
)
def test_bad_input_exits_with_2(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["sweep", *arguments])
    assert run_command("bench-mpi", sweep_module.command) == 2
    assert message in capsys.readouterr().err


def test_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "allemande.study.sweep", "--sizes", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "size '0' is not valid" in done.stderr
