"""003 Figures 6 to 9: exchanges between two sites, measured in the lab and forecast."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from allemande import _core
from allemande.bench import comparison
from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison
from allemande.bench.crossings import with_crossings
from allemande.bench.figures import Figure
from allemande.bench.request import Request
from allemande.bench.setting import describe_setting
from allemande.errors import BadInput
from allemande.reproduce import experiment as experiments
from allemande.reproduce import lab_runs
from allemande.reproduce.kinds import run
from allemande.reproduce.site_example import make_example
from allemande.reproduce.site_forecast import site_forecast_of_lab
from allemande.reproduce.site_times import KeptSites, SitePoint, read_sites
from allemande.topology import load_cluster

FIGURES = ("003-fig-6", "003-fig-7", "003-fig-8", "003-fig-9")
LOCAL_GROUP = "allemande+openmpi:algorithm=local-group"
MULTI_SITE = "allemande+openmpi:algorithm=multi-site"
SHUFFLE = "allemande+openmpi:algorithm=sync-shuffle"


def rows_of(name: str) -> dict[str, float | None]:
    return {row.point: row.ours for row in run(experiments.load(name)).rows}


@pytest.mark.parametrize("name", FIGURES)
def test_what_was_measured_says_when_and_lacks_nothing(name: str) -> None:
    experiment = experiments.load(name)
    kept = read_sites(experiment.folder / "measured-lab.json")
    assert "UTC" in kept.measured
    for part in experiment.data["in_lab"]["run"]:
        points = kept.of(part["part"], part["candidate"])
        assert set(part["sizes"]) <= set(points)
        for size in part["sizes"]:
            assert points[size].times_s
    assert all(point.wrong_bytes == 0 for point in kept.points)
    assert b"<svg" in run(experiment).draw("svg")


def test_figure_7_pairs_the_hosts_that_the_paper_names() -> None:
    rows = {row.point: row for row in run(experiments.load("003-fig-7")).rows}
    # The paper names three blocks in the message from 8 to 2, and forgets that of host 9.
    largest = rows.pop("blocks in the largest of them")
    assert (largest.published, largest.ours) == (3, 4)
    for row in rows.values():
        assert row.published is None or row.ours == row.published, row.point
    example = make_example(3, 7, "local-group-simple")
    assert example.steps() == [[(0, 3), (1, 4), (2, 5)], [(0, 6), (1, 7), (2, 8)], [(0, 9)]]
    (message,) = (m for m in example.crossing if (m.sender, m.receiver) == (8, 2))
    assert set(message.blocks) == {(6, 2), (7, 2), (8, 2), (9, 2)}


def test_local_group_takes_two_thirds_of_a_library_and_half_of_a_slow_one() -> None:
    rows = rows_of("003-fig-8")
    least, slow = (
        rows["the least of these"],
        rows["the most where the library is below 30 % of the bound"],
    )
    assert least is not None and least <= 0.67
    assert slow is None or slow <= 0.5


def test_equation_7_holds_where_it_is_corrected() -> None:
    rows = rows_of("003-fig-9")
    bounds = {
        "Eq 7 corrected, local-group": 0.10,
        "ours, local group, local-group": 0.07,
        "ours, multi-site, multi-site": 0.07,
    }
    for text, most in bounds.items():
        error = rows[f"{text}: median error"]
        assert error is not None and error <= most, text
    printed = rows["Eq 7 as printed, local-group, 65536 B: error"]
    assert printed is not None and printed < -0.2


def test_equation_6_fails() -> None:
    rows = rows_of("003-fig-6")
    error = rows["Eq 6, openmpi: median error"]
    assert error is not None and error > 0.10


def kept_times(seconds: dict[tuple[str, str], Any], sizes: Sequence[int]) -> KeptSites:
    return KeptSites(
        "2026-01-01 00:00 UTC",
        [
            SitePoint(
                part=part,
                cluster="",
                candidate=candidate,
                size=size,
                times_s=(said(size),) * 3,
                limit_s=0.0,
                latency_s=0.0,
                tcp_timeouts=0,
                tcp_retransmitted=0,
                wrong_bytes=0,
                cpu_idle=1.0,
                void_reason=None,
            )
            for (part, candidate), said in seconds.items()
            for size in sizes
        ],
    )


def test_parameters_are_fitted_on_one_site_alone() -> None:
    alpha, beta, gamma = 1e-4, 8e-9, 1.5
    site = _core.Signature(alpha, beta, gamma)
    link_beta = 8e-6 / 10_000 * load_cluster("grid-30-30").framed_bytes(1472) / 1448
    two = _core.TwoSites(30, 30, site, 5e-3, beta, link_beta)
    kept = kept_times(
        {
            ("pair", SHUFFLE): lambda m: alpha + beta * m,
            ("far", MULTI_SITE): lambda m: 5e-3 + beta * m,
            ("site", SHUFFLE): lambda m: 29 * (alpha + gamma * beta * m),
            ("grid", LOCAL_GROUP): two.local_group_overlapped_s,
            ("grid", MULTI_SITE): two.multi_site_s,
        },
        (1000, 10_000, 100_000, 1_000_000),
    )
    rows = {r.point: r.ours for r in site_forecast_of_lab(experiments.load("003-fig-9"), kept).rows}
    assert rows["sync-shuffle: gamma"] == pytest.approx(gamma, rel=1e-3)
    assert rows["sync-shuffle: alpha_w, ms"] == pytest.approx(5, rel=1e-3)
    for text in ("ours, local group, local-group", "ours, multi-site, multi-site"):
        assert rows[f"{text}: median error"] == pytest.approx(0, abs=1e-3)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(candidate, sizes) of each comparison in the lab, which is not there."""
    calls: list[tuple[str, str]] = []

    def measured(request: Request) -> Comparison:
        (candidate,) = request.candidates
        calls.append((candidate.name, ",".join(map(str, request.sizes))))
        figures = [
            Figure(
                candidate=candidate.name,
                stock=False,
                library="openmpi",
                size=size,
                median_s=1.0,
                limit_s=0.5,
                fraction_of_limit=0.5,
                packets=1,
                retransmitted=0,
                wrong_bytes=0,
                times_s=[1.0, 1.0],
                latency_s=0.25,
            )
            for size in request.sizes
        ]
        setting = describe_setting(
            load_cluster(request.cluster), request.scale or 1, "cubic", ["Open MPI v5.0.11, x"]
        )
        return Comparison(figures, setting, [], failed=False)

    monkeypatch.setattr(comparison, "compare", measured)
    return calls


def test_what_was_measured_is_not_measured_again(
    asked: list[tuple[str, str]], tmp_path: Path
) -> None:
    experiment = experiments.load("003-fig-7")
    outcome = lab_runs.run_in_lab(experiment, None, None, tmp_path)
    assert len(asked) == 1
    rows = {row.point: row.ours for row in outcome.rows}
    assert rows["lab, local-group, 65536 B: part of the bound"] == pytest.approx(0.75)
    path = tmp_path / "003-fig-7-measured-lab.json"
    data = json.loads(path.read_text())
    assert data["points"][0]["times_s"] == [0.02, 0.02]  # at full speed
    lab_runs.run_in_lab(experiment, None, None, tmp_path)
    assert len(asked) == 1
    data["points"] = data["points"][:1]
    path.write_text(json.dumps(data))
    lab_runs.run_in_lab(experiment, None, None, tmp_path)
    assert len(asked) == 2
    with pytest.raises(BadInput, match="measured otherwise"):
        lab_runs.run_in_lab(experiment, 0.05, None, tmp_path)


def test_figures_between_sites_say_how_often_blocks_cross() -> None:
    cluster = load_cluster("grid-8-8-8")
    hosts = [host.name for host in cluster.hosts]
    names = ["mpich", "allemande+mpich:algorithm=coordinator", "allemande+mpich"]
    candidates = parse_candidates(names, "alltoall")
    figures = [
        Figure(name, name == "mpich", "mpich", 65536, 1.0, 0.5, 0.5, 1, 0, 0) for name in names
    ]
    found = with_crossings(figures, candidates, cluster, hosts)
    assert [one.crossings for one in found] == [None, {"leaf": 1.0, "site": 1.0}, None]
    assert with_crossings(figures, candidates, cluster, hosts[:3]) == figures
