"""Figures that are drawn from times measured in the lab; the lab here is a formula."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allemande.bench import comparison
from allemande.bench.comparison import Comparison
from allemande.bench.figures import Figure
from allemande.bench.request import Request
from allemande.bench.setting import describe_setting
from allemande.errors import BadInput
from allemande.reproduce import experiment as experiments
from allemande.reproduce import lab_runs, lab_times
from allemande.topology import load_cluster


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of hosts a lab was asked for; times in it are those of Eq 5."""
    counts: list[int] = []

    def measured(request: Request) -> Comparison:
        scale = request.scale or 1
        cluster = load_cluster(request.cluster)
        hosts = len(cluster.hosts)
        counts.append(hosts)
        gamma, delta = (1.0, 0.0) if hosts == 2 else (3.0, 0.005)
        figures = []
        for size in request.sizes:
            seconds = (hosts - 1) * (1e-4 + 8e-8 * gamma * size + (delta if size >= 2048 else 0))
            figures.append(
                Figure(
                    candidate="openmpi:linear",
                    stock=True,
                    library="openmpi",
                    size=size,
                    median_s=seconds,
                    limit_s=seconds,
                    fraction_of_limit=1.0,
                    packets=1,
                    retransmitted=0,
                    wrong_bytes=0,
                    times_s=[0.9 * seconds / scale, 1.1 * seconds / scale],
                    tcp_timeouts=int(hosts == 60),
                )
            )
        setting = describe_setting(cluster, scale, "cubic", ["Open MPI v5.0.11, x"])
        return Comparison(figures, setting, [], failed=False)

    monkeypatch.setattr(comparison, "compare", measured)
    return counts


def test_a_signature_is_measured_in_the_lab_once(asked: list[int], tmp_path: Path) -> None:
    experiment = experiments.load("003-fig-2")
    outcome = lab_runs.run_in_lab(experiment, None, None, tmp_path)
    assert asked == [2, *experiment.data["hosts"]]
    ours = {row.point: row.ours for row in outcome.rows}
    assert ours["gamma"] == pytest.approx(3, rel=0.01)
    assert ours["delta, ms"] == pytest.approx(5, rel=0.02)
    assert ours["M, bytes"] == 2048
    assert ours["largest error, saturated"] == pytest.approx(0, abs=0.01)
    assert ours["points with a TCP time-out, part of all"] == pytest.approx(1 / 9)
    assert outcome.draw("svg").startswith(b"<?xml")

    path = tmp_path / "003-fig-2-measured-lab.json"
    kept = json.loads(path.read_text())
    kept["points"] = [point for point in kept["points"] if point["hosts"] < 60]
    path.write_text(json.dumps(kept))
    again = lab_runs.run_in_lab(experiment, None, None, tmp_path)
    assert asked[-1] == 60 and len(asked) == 10
    assert again.rows == outcome.rows
    with pytest.raises(BadInput, match="measured otherwise"):
        lab_runs.run_in_lab(experiment, 0.05, None, tmp_path)


def test_times_that_were_never_measured_are_missed_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nothing\.json: no such file; --lab measures"):
        lab_times.read_times(tmp_path / "nothing.json")
    (tmp_path / "empty.json").write_text('{"measured": "", "points": []}')
    with pytest.raises(BadInput, match="holds no points"):
        lab_times.read_times(tmp_path / "empty.json")


def test_a_time_curve_says_how_far_it_is_from_a_line(asked: list[int], tmp_path: Path) -> None:
    outcome = lab_runs.run_in_lab(experiments.load("003-fig-1"), None, None, tmp_path)
    ours = {row.point: row.ours for row in outcome.rows}
    assert asked == [2, 40]
    assert (ours["most below it, ratio"] or 0) < 1
    assert (ours["most above the straight line, ratio"] or 0) >= 1
    assert ours["smallest size with a TCP time-out, bytes"] is None
    assert outcome.draw("svg").startswith(b"<?xml")
