"""Curves that the lab has measured; the lab here is a formula."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from allemande.bench import comparison
from allemande.bench.comparison import Comparison
from allemande.bench.figures import Figure
from allemande.bench.request import Request
from allemande.bench.setting import describe_setting
from allemande.errors import BadInput, Failed
from allemande.reproduce import experiment as experiments
from allemande.reproduce import lab_runs
from allemande.reproduce.experiment import Experiment
from allemande.topology import load_cluster

SECONDS = 0.02  # of full speed, for every candidate


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    requests: list[Request] = []

    def measured(request: Request) -> Comparison:
        requests.append(request)
        scale = request.scale or 1
        figures = [
            Figure(
                candidate=candidate.name,
                stock=candidate.stock,
                library=candidate.library,
                size=size,
                median_s=SECONDS / scale,
                limit_s=SECONDS / scale,
                fraction_of_limit=1.0,
                packets=1,
                retransmitted=0,
                wrong_bytes=0,
                times_s=[SECONDS / scale],
            )
            for candidate in request.candidates
            for size in request.sizes
        ]
        cluster = load_cluster(request.cluster)
        setting = describe_setting(cluster, scale, "cubic", ["Open MPI v5.0.11, x"])
        return Comparison(figures, setting, [], failed=False)

    monkeypatch.setattr(comparison, "compare", measured)
    return requests


def of_one_network(name: str, size: int) -> Experiment:
    """The ablation on one network alone, at a size that is quickly simulated."""
    loaded = experiments.load(name)
    data = loaded.data

    def mine(label: str) -> bool:
        return label.startswith("8x2, ")

    at = {"at": size}
    return replace(
        loaded,
        data={
            **data,
            "values": [size],
            "in_lab": {
                **data["in_lab"],
                "sizes": [size],
                "candidate": [one for one in data["in_lab"]["candidate"] if mine(one["label"])],
            },
            "panel": [panel for panel in data["panel"] if mine(panel["prefix"])],
            "curve": [
                {**one, **({"values": [size]} if "values" in one else {})}
                for one in data["curve"]
                if mine(one["label"])
            ],
            "published": [{**one, **at} for one in data["published"] if mine(one["curve"])],
        },
    )


def test_networks_are_measured_once_each_and_held_against_the_simulator(
    asked: list[Request], tmp_path: Path
) -> None:
    experiment = of_one_network("000-ablation", 20_000)
    path = tmp_path / "000-ablation-measured-lab.json"
    measured = replace(experiment, data={**experiment.data, "lab": "measured-lab.json"})
    outcome = lab_runs.run_in_lab(measured, None, None, tmp_path)
    (request,) = asked
    assert request.output_frames == 2
    assert len(load_cluster("tam-8x2-u412").hosts) == 16
    assert [one.environment.get("ALLEMANDE_CLUSTER") for one in request.candidates] == [
        None,
        "off",
        None,
        "off",
    ]
    rows = {row.point: row.ours for row in outcome.rows}
    mb_s = 15 * 20_000 / SECONDS / 1e6
    assert rows["8x2, both: lab, part of the bound at 200 KB"] == pytest.approx(mb_s / 12.07)
    against = rows["8x2, both: lab, of the same simulated at 200 KB"]
    other = rows["8x2, neither: lab, of the same simulated at 200 KB"]
    assert against is not None and other is not None
    assert other > against  # the simulated one is slower, the lab here is not
    assert path.is_file()
    lab_runs.run_in_lab(measured, None, None, tmp_path)
    assert len(asked) == 1


def test_what_the_lab_has_not_measured_is_missed_by_name(
    asked: list[Request], tmp_path: Path
) -> None:
    experiment = of_one_network("000-ablation", 20_000)
    lab_runs.run_in_lab(experiment, None, None, tmp_path)
    data = {**experiment.data, "published": [{**experiment.data["published"][-1], "at": 5}]}
    with pytest.raises(BadInput, match=r"the lab has no goodput_mb_s of '8x2, neither' at 5"):
        lab_runs.run_in_lab(replace(experiment, data=data), None, None, tmp_path)
    path = tmp_path / "000-ablation-measured-lab.json"
    kept = json.loads(path.read_text())
    for point in kept["points"]:
        point["void"] = "frames lost"
    path.write_text(json.dumps(kept))
    with pytest.raises(Failed, match="'8x2, both' at 20000 is void: frames lost"):
        lab_runs.run_in_lab(experiment, None, None, tmp_path)
