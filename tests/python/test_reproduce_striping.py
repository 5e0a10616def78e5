"""Paper 004's figures: stripes over paths, and weights that are learnt, in small."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from allemande import _core
from allemande.errors import BadInput
from allemande.reproduce import experiment as experiments
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.kinds import run
from allemande.reproduce.learning_figure import run_learning
from allemande.reproduce.number_order import order_numbers
from allemande.reproduce.striping_figure import run_striping
from allemande.simulation.networks import find_cluster

STRIPING = [name for name in experiments.names() if experiments.load(name).kind == "striping"]
LEARNING = [name for name in experiments.names() if experiments.load(name).kind == "learning"]


def _only(curves: list[dict[str, Any]], *labels: str) -> list[dict[str, Any]]:
    return [curve for curve in curves if curve["label"] in labels]


@pytest.mark.parametrize("name", STRIPING)
def test_rows_of_striping_name_what_is_run(name: str) -> None:
    data = experiments.load(name).data
    labels = [curve["label"] for curve in data["curve"]]
    assert len(set(labels)) == len(labels)
    for row in data["row"]:
        for where in (row["value"], row["of"]):
            if where not in ("bound", "routes"):
                assert where[0] in labels
                assert where[1] in data["values"]


@pytest.mark.parametrize("name", LEARNING)
def test_rows_of_learning_name_what_is_run(name: str) -> None:
    experiment = experiments.load(name)
    labels = [curve["label"] for curve in experiment.data["curve"]]
    for row in experiment.data["row"]:
        assert row["curve"] in labels
        assert row["take"] in ("best", "first", "last")
    for curve in experiment.data["curve"]:
        name = curve.get("cluster", experiment.data["cluster"])
        assert len(find_experiment_cluster(experiment, name).hosts) == 144


# 24 hosts on two leaf blocks instead of 48 on four: up to four first paths meet on a spine.
def test_stripes_take_less_than_one_path() -> None:
    loaded = experiments.load("004-fig-10")
    one, bss, assigned = "one path", "BSS(12,3)", "assigned, over UDP"
    data = {
        **loaded.data,
        "hosts": "h[0-23]",
        "values": [65536],
        "exchanges": 3,
        "last": 2,
        "curve": _only(loaded.data["curve"], one, bss, assigned),
        "row": [
            {"point": "routes", "value": [one, 65536], "of": "routes"},
            {"point": "ratio", "value": [bss, 65536], "of": [one, 65536], "published": 0.5},
            {"point": "gain", "value": [bss, 65536], "of": [one, 65536], "share": 0.25},
            {"point": "share", "value": [bss, 65536], "of": [one, 65536], "gain": 0.1},
            {"point": "bound", "value": [assigned, 65536], "of": "bound"},
            {"point": "computing", "value": [bss, 65536], "of": [one, 65536], "computing_ms": 5},
            {
                "point": "times",
                "value": [one, 65536],
                "of": [one, 65536],
                "computing_ms": 5,
                "share": 0.25,
            },
        ],
    }
    outcome = run_striping(replace(loaded, data=data), 1, None)
    ours = {row.point: row.ours or 0 for row in outcome.rows}
    assert 0.7 < ours["routes"] <= 1
    assert ours["ratio"] < 0.75
    assert ours["gain"] == pytest.approx(0.25 * (1 - ours["ratio"]))
    assert ours["share"] == pytest.approx(0.1 / (1 - ours["ratio"]))
    assert 0.95 < ours["bound"] <= 1
    # A share of a quarter leaves computing three times as long as the exchange.
    one_ms = ours["times"] * 5 / 3
    assert ours["computing"] == pytest.approx(one_ms / (one_ms + 5) * (1 - ours["ratio"]))
    assert b"<svg" in outcome.draw("svg")


def test_an_axis_that_there_is_not_is_refused() -> None:
    loaded = experiments.load("004-sweep")
    with pytest.raises(BadInput, match="x 'hosts' is unknown; expected size, cost_ns, alpha"):
        run(replace(loaded, data={**loaded.data, "x": "hosts"}))


def test_a_displaced_ring_gains_by_stripes() -> None:
    loaded = experiments.load("004-fig-14")
    labels = ("one path", "HSAM(4)", "BSS(4,2)", "BSS(12,3)", "assigned, over UDP")
    data = {
        **loaded.data,
        "visits": 3,
        "whole_visits": 1,
        "curve": _only(loaded.data["curve"], *labels),
        "row": [{"point": label, "curve": label, "take": "last"} for label in labels],
    }
    outcome = run_learning(replace(loaded, data=data), 1, None)
    ours = {row.point: row.ours or 0 for row in outcome.rows}
    assert ours["one path"] == pytest.approx(0.25, abs=0.01)
    assert ours["HSAM(4)"] > 0.75
    # After three visits, before batches that are learnt meet.
    assert ours["BSS(4,2)"] > 1.5 * ours["one path"]
    assert ours["BSS(12,3)"] > 0.8
    assert ours["assigned, over UDP"] > 0.97
    assert b"<svg" in outcome.draw("svg")


def test_numbers_of_a_host_lead_where_the_order_says() -> None:
    cluster = find_cluster("leaf-spine:2x2x4")
    made = _core.make_routes(cluster, "lid", 2).lid_tables()
    own = order_numbers(cluster, {"lmc": 2, "number_order": [2, 0, 3, 1]})
    assert set(own) == {"lmc", "lid_tables"}
    for before, after in zip(made, own["lid_tables"], strict=True):
        for first in range(0, len(before), 4):
            ports = before[first : first + 4]
            assert after[first : first + 4] == [ports[2], ports[0], ports[3], ports[1]]
    with pytest.raises(BadInput, match="does not name each number from 0 to 3 once"):
        order_numbers(cluster, {"lmc": 2, "number_order": [0, 1, 2, 2]})
