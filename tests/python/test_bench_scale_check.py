"""Times at smaller scales beside those at full speed."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from allemande.plot_look import save
from allemande.study.scale_check import Run, at_full_speed, draw, points_of, runs_of, tables


def entry(candidate: str, median_s: float | None, *, stock: bool = True) -> dict[str, Any]:
    return {
        "candidate": candidate,
        "stock": stock,
        "size": 3000,
        "limit_s": 0.02,
        "median_s": median_s,
        "times_s": [] if median_s is None else [median_s, median_s, 0.03],
    }


def test_full_speed_has_real_timers_and_smaller_scales_have_both() -> None:
    assert [(run.scale, run.timers) for run in runs_of(["a"])] == [
        (1.0, "real"),
        (0.3, "scaled"),
        (0.3, "real"),
        (0.1, "scaled"),
        (0.1, "real"),
    ]


def test_times_are_multiplied_by_the_scale_and_held_against_full_speed() -> None:
    points = points_of(Run("a", 1.0, "real"), [entry("openmpi", 0.2)])
    points += points_of(Run("a", 0.1, "scaled"), [entry("openmpi", 2.2)])
    points += points_of(Run("a", 0.1, "real"), [entry("openmpi", None)])
    full, scaled, failed = points
    assert scaled.off(at_full_speed(points, scaled)) == (2.2 * 0.1) / 0.2 - 1
    assert failed.off(full) is None
    assert full.off(at_full_speed(points, full)) == 0


def test_calls_that_took_a_minimum_time_out_are_told_apart() -> None:
    (full,) = points_of(Run("a", 1.0, "real"), [entry("openmpi", 0.25)])
    assert (full.late, full.prompt) == ([0.25, 0.25], [0.03])
    (scaled,) = points_of(Run("a", 0.1, "scaled"), [entry("openmpi", 2.1)])
    assert len(scaled.late) == 2  # the limit is 2 ms, and 210 ms have passed
    (real,) = points_of(Run("a", 0.1, "real"), [entry("openmpi", 0.25)])
    assert (len(real.late), len(real.prompt)) == (2, 1)


def test_what_is_too_far_off_is_red_only_with_scaled_timers() -> None:
    points = points_of(Run("a", 1.0, "real"), [entry("x", 0.2), entry("y", 0.2, stock=False)])
    for timers in ("scaled", "real"):
        run = Run("a", 0.1, timers)
        points += points_of(run, [entry("x", 2.3), entry("y", 2.3, stock=False)])
    console = Console(width=120, record=True, file=io.StringIO(), force_terminal=True)
    for table in tables(points):
        console.print(table)
    rows = [line for line in console.export_text(styles=True).splitlines() if "+15%" in line]
    assert ["\x1b[31m" in line for line in rows] == [False, True]
    assert rows[1].count("\x1b[31m") == 1
    assert "scale 0.1" not in rows[0]


def test_the_plot_is_one_file_that_is_always_the_same() -> None:
    points = points_of(Run("a", 1.0, "real"), [entry("openmpi", 0.2)])
    points += points_of(Run("a", 0.1, "scaled"), [entry("openmpi", 2.2)])
    assert save(draw(points), "svg") == save(draw(points), "svg")
