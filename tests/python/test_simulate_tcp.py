"""Algorithms of MPI libraries over TCP, simulated."""

from __future__ import annotations

import json
from typing import Any

import pytest

from allemande.cli import main
from allemande.errors import BadInput
from allemande.simulation.case import simulate


def test_stock_exchanges_report_what_tcp_did() -> None:
    result = simulate("shallow-4x2", "openmpi:pairwise", 10_000, transport="tcp:cubic", exchanges=6)
    assert result.algorithm == "openmpi:pairwise"
    assert len(result.tcp["exchange_waits"]) == 6
    # A call that waits takes the minimum time-out at least, and the others do not.
    for seconds, waits in zip(result.raw["exchange_s"], result.tcp["exchange_waits"], strict=True):
        assert (seconds > 0.2) == (waits > 0)
    assert result.as_json()["tcp"] == result.tcp


def test_a_shorter_minimum_timeout_makes_calls_shorter() -> None:
    given: dict[str, Any] = {"transport": "tcp", "exchanges": 4, "rack": False}
    slow = simulate("shallow-4x2", "openmpi:linear", 20_000, **given)
    fast = simulate("shallow-4x2", "openmpi:linear", 20_000, rto_min_ms=10, **given)
    assert slow.tcp["timeouts"] > 0
    assert fast.time_s < slow.time_s / 3


def test_exchanges_of_ours_do_not_speak_of_tcp() -> None:
    result = simulate("shallow-4x2", size=10_000)
    assert not result.tcp
    assert "tcp" not in result.as_json()


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("openmpi:pairwise", {}, "expected transport tcp"),
        ("sync-shuffle", {"transport": "tcp"}, "carries algorithms of MPI libraries"),
        ("openmpi", {"transport": "tcp"}, "openmpi:linear-sync"),
        ("openmpi:pairwise", {"transport": "tcp:reno"}, "tcp:newreno"),
        ("openmpi:pairwise", {"transport": "tcp", "ranks_per_host": 2}, "every host has one rank"),
    ],
)
def test_what_does_not_go_together_is_refused(
    algorithm: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        simulate("shallow-4x2", algorithm, 1000, **options)


def test_the_command_splits_calls_by_whether_they_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["simulate", "shallow-4x2", "--algorithm", "openmpi:pairwise,mpich:scattered"]
    arguments += ["--transport", "tcp", "--size", "10KB", "--exchanges", "3", "--workers", "1"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "that wait" in shown
    assert "mpich:scattered" in shown
    assert main([*arguments, "--json", "-"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert [len(one["tcp"]["exchange_waits"]) for one in results] == [3, 3]
