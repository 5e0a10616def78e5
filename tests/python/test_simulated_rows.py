"""`allemande plan` and `predict --simulate`: the best candidates are simulated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from allemande.cli import main
from allemande.model.planning import make_plan
from allemande.model.predict import Predictions, Row
from allemande.model.profile import Profile, Sample, save_profile
from allemande.model.samples import profile_of, simulated_candidate
from allemande.model.simulated_libraries import Calls
from allemande.model.simulated_rows import FIRST, SEEDS, SIMULATED, simulate_best
from allemande.simulation.case import Case, make_case, run_case
from allemande.topology import load_cluster

SHUFFLE = simulated_candidate("sync-shuffle")
PAIRWISE = "openmpi:pairwise"
HELD_OUT_SEEDS = range(11, 17)  # no plan has them


def profile_of_cluster(name: str) -> Profile:
    return profile_of(load_cluster(name), [], mpi="Open MPI 5.0.11", simulated=True)


def test_the_first_choice_takes_what_the_simulator_says() -> None:
    profile = profile_of_cluster("shallow-4x2")
    plan = make_plan(profile, 8, [1000, 20_000], simulate=True)
    for size, row in plan.best().items():
        assert row.basis == SIMULATED
        algorithm = row.way.removeprefix("udp ").partition("@")[0]
        alone = run_case(Case(profile.cluster, algorithm, size, "packet", {})).time_s  # type: ignore[arg-type]
        assert row.low_s <= alone <= row.high_s
    assert {row.basis for row in make_plan(profile, 8, [1000]).rows} == {"extrapolated"}


def test_what_loses_packets_is_not_the_first_choice() -> None:
    """The first three of the ranking take ten times their forecast: the next ones are simulated."""
    profile = profile_of_cluster("tam-8x2")
    members = profile.network.hosts
    rows = Predictions(profile, members).rows(20_000)
    bad = {row.way for row in rows[:3]}
    asked: list[str] = []

    def run(case: Case) -> float:
        asked.append(case.algorithm)
        expected = {row.way.split()[1].partition("@")[0]: row for row in rows if row.way}
        row = expected[case.algorithm]
        if row.way in bad:
            return row.time_s * 10
        return row.time_s * (1 + int(case.options.get("seed", 0)))

    found = simulate_best(profile, members, rows, run)
    assert found[0].way not in bad
    assert found[0].basis == SIMULATED
    assert found[0].high_s > 2 * found[0].low_s  # chance opens the interval
    assert len(asked) == len(set(asked)) + FIRST * len(SEEDS)  # with ranks apart


def test_what_was_measured_and_what_is_large_stays() -> None:
    profile = profile_of_cluster("tam-8x2")
    members = profile.network.hosts
    sample = Sample(SHUFFLE, 1000, (0.0123,), members)
    with_sample = replace(profile, samples=(sample,))
    rows = Predictions(with_sample, members).rows(1000)
    found = simulate_best(with_sample, members, rows, lambda case: 1.0)
    assert next(row for row in found if row.candidate == SHUFFLE).time_s == pytest.approx(0.0123)
    large = Predictions(profile, members).rows(100_000_000)
    assert simulate_best(profile, members, large, lambda case: 1.0) == large


def test_losses_of_a_library_open_its_interval() -> None:
    """Samples among few hosts show none: what simulated TCP shows counts."""
    profile = profile_of_cluster("tam-8x2")
    pairwise = [
        Sample("openmpi:pairwise", size, (size * 7 * 9e-8,), profile.network.hosts[:8])
        for size in (5000, 20_000, 80_000)
    ]
    known = replace(profile, samples=tuple(pairwise))
    members = profile.network.hosts
    rows = Predictions(known, members).rows(10_000)
    before = next(row for row in rows if row.candidate == "openmpi:pairwise")

    def after(dropped: int) -> Row:
        calls = iter([Calls((1.0, 2.0), dropped), Calls((1.0, 1.0), 0), Calls((1.0, 3.0), 0)])
        found = simulate_best(known, members, rows, lambda case: 1.0, lambda case: next(calls))
        return next(row for row in found if row.candidate == "openmpi:pairwise")

    assert after(0) == before
    told = after(5)
    assert (told.basis, told.time_s, told.high_s) == (SIMULATED, 1.0, 3.0)
    assert told.low_s == before.low_s


def known_among_few(name: str) -> tuple[Profile, Sequence[str]]:
    """Open MPI's pairwise exchange was measured on one leaf, where it loses nothing."""
    profile = profile_of_cluster(name)
    few = profile.network.hosts[: len(profile.network.hosts) // 2]
    samples = []
    for size in (3000, 10_000, 100_000):
        limit_s = Predictions(profile, few).limit_s(size)
        assert limit_s is not None
        samples.append(Sample(PAIRWISE, size, (1.05 * limit_s,), few))
    return replace(profile, samples=tuple(samples)), profile.network.hosts


def row_of(rows: Sequence[Row], candidate: str) -> Row:
    return next(row for row in rows if row.candidate == candidate)


def calls_of(name: str, size: int, jitter_us: float) -> list[float]:
    """Held out: what calls take over simulated TCP, by seeds of which no plan knows."""
    calls: list[float] = []
    for seed in HELD_OUT_SEEDS:
        case = make_case(
            load_cluster(name),
            PAIRWISE,
            size,
            transport="tcp",
            exchanges=5,
            seed=seed,
            jitter_us=jitter_us,
        )
        calls += run_case(case).raw["exchange_s"][1:]
    return calls


def part_within(row: Row, calls: Sequence[float]) -> float:
    return sum(row.low_s <= time_s <= row.high_s for time_s in calls) / len(calls)


@pytest.mark.parametrize("jitter_us", [50, 480])
def test_where_loss_is_chance_the_interval_holds_calls_of_other_seeds(jitter_us: float) -> None:
    """No stub: some calls meet a time-out of 200 ms, others none."""
    profile, members = known_among_few("shallow-4x2")
    rows = Predictions(profile, members).rows(10_000)
    before = row_of(rows, PAIRWISE)
    after = row_of(simulate_best(profile, members, rows), PAIRWISE)
    calls = calls_of("shallow-4x2", 10_000, jitter_us)
    assert min(calls) < 0.02
    assert max(calls) > 0.2
    assert part_within(before, calls) <= 0.1
    assert part_within(after, calls) >= 0.9
    assert after.basis == SIMULATED
    assert after.high_s / after.low_s > 10 * before.high_s / before.low_s


@pytest.mark.parametrize("jitter_us", [50, 480])
def test_where_every_call_loses_the_time_is_that_of_other_seeds(jitter_us: float) -> None:
    profile, members = known_among_few("shallow-4x2")
    rows = Predictions(profile, members).rows(100_000)
    truth_s = median(calls_of("shallow-4x2", 100_000, jitter_us))
    assert row_of(rows, PAIRWISE).time_s < 0.5 * truth_s
    after = row_of(simulate_best(profile, members, rows), PAIRWISE)
    assert after.time_s == pytest.approx(truth_s, rel=0.10)


def test_what_loses_nothing_keeps_its_interval() -> None:
    profile, members = known_among_few("tam-8x2")
    rows = Predictions(profile, members).rows(3000)
    found = simulate_best(profile, members, rows)
    assert row_of(found, PAIRWISE) == row_of(rows, PAIRWISE)


def test_a_library_may_be_first_after_its_losses() -> None:
    """Its row has no way of ours, and does not run again as one."""
    profile, members = known_among_few("tam-8x2")
    rows = Predictions(profile, members).rows(20_000)
    found = simulate_best(
        profile, members, rows, lambda case: 10.0, lambda case: Calls((0.5, 0.6), 3)
    )
    assert (found[0].candidate, found[0].basis) == (PAIRWISE, SIMULATED)


def test_a_table_of_all_has_every_way_simulated() -> None:
    """Where ranks enter together, what is simulated is exact, whatever the samples say."""
    profile = profile_of_cluster("tam-8x3")
    members = profile.network.hosts
    rows = Predictions(profile, members).rows(20_000)
    found = simulate_best(profile, members, rows, every_way=True)
    assert {row.basis for row in found} == {SIMULATED}
    assert {row.basis for row in simulate_best(profile, members, rows)} != {SIMULATED}
    shift = row_of(found, simulated_candidate("shift-exchange"))
    alone = run_case(make_case(load_cluster("tam-8x3"), "shift-exchange", 20_000)).time_s
    assert shift.time_s == pytest.approx(alone)


def test_the_commands_say_what_was_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "net.toml")
    save_profile(profile_of_cluster("shallow-4x2"), path)

    def bases(*arguments: str) -> set[str]:
        assert main([*arguments, "--size", "1000", "--json", "-"]) == 0
        told = json.loads(capsys.readouterr().out)
        return {row["basis"] for row in (told if isinstance(told, list) else told["ranking"])}

    assert bases("plan", path) == {SIMULATED, "extrapolated"}
    assert bases("plan", path, "--no-simulate") == {"extrapolated"}
    assert bases("predict", path) == {"extrapolated"}
    assert bases("predict", path, "--simulate") == {SIMULATED}
    assert main(["predict", path, "--simulate", "--hosts", "16"]) == 2
    assert "--hosts asks for 16" in capsys.readouterr().err
