"""Timelines in labs: shallow queues drop what stock sends, and the program that looks ends."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import compare
from allemande.bench.request import Request
from allemande.bench.runner import Effort
from allemande.bench.timeline import TimelineRequest
from allemande.errors import Failed
from allemande.lab import Lab, booting
from allemande.lab.lookout import Lookout


@pytest.mark.slow
def test_a_timeline_of_stock_shows_drops(nothing_left: Callable[[], None]) -> None:
    """Eight hosts, ten packets at every port, and blocks long enough for TCP's windows to grow
    beyond that in every call: after losses a short block may pass without another one."""
    effort = Effort(rounds=1, warmup=0, calls=1, seconds=0)
    result = compare(
        Request(
            "shallow-4x2",
            [200_000],
            parse_candidates(["openmpi:linear,openmpi"]),
            effort,
            scale=0.5,
            timeline=TimelineRequest(200_000, ("openmpi:linear",)),
        )
    )
    assert not result.failed, result.warnings
    (line,) = result.timelines
    assert line.candidate == "openmpi:linear"
    assert line.calls >= 3
    assert sum(line.drops) > 0
    assert max(line.queue_fill) > 0.5
    assert max(line.link_use) > 0.2
    assert min(line.drops) >= 0 and min(line.timers) >= 0
    assert line.edges_s[0] <= line.period_s and line.edges_s[-1] >= line.seconds
    assert line.processor_part < 1
    nothing_left()


def test_who_takes_nothing_leaves_nothing(
    lab: Lab, marked_processes: Callable[[], list[int]]
) -> None:
    before = set(marked_processes())
    with Lookout(lab, lab.network.ports(), 0.002):
        assert set(marked_processes()) - before
        time.sleep(0.05)
    assert set(marked_processes()) == before


def test_an_interval_of_a_quiet_lab_has_looks_and_no_drops(lab: Lab) -> None:
    ports = lab.network.ports()
    with Lookout(lab, ports, 0.005) as lookout:
        begin_s = time.monotonic()
        time.sleep(0.3)
        looks = lookout.take(begin_s, begin_s + 0.3)
    assert len(looks.times_s) > 3
    assert list(looks.times_s) == sorted(looks.times_s)
    assert {row.port for row in looks.ports} == set(ports)
    assert all(len(row.sent_bytes) == len(looks.times_s) for row in looks.ports)
    assert all(row.dropped_packets[0] == row.dropped_packets[-1] for row in looks.ports)


def test_a_lab_that_is_gone_is_a_message(cluster: Path) -> None:
    lab = Lab.boot(cluster)
    lab.close()
    with pytest.raises(Failed, match="cannot watch"), Lookout(lab, lab.network.ports(), 0.01):
        pass


def test_a_watcher_that_ends_before_it_reads_is_a_message(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is sent is longer than a pipe holds, so that the write meets a closed pipe."""
    monkeypatch.setattr(lab, "inside_state", lambda: {"padding": "x" * 1_000_000})
    ends_at_once = ["sh", "-c", "exec <&-; echo 'out of order' >&2; exit 1"]
    monkeypatch.setattr(lab, "inside_command", lambda _: ends_at_once)
    with (
        pytest.raises(Failed, match=r"cannot watch .* out of order"),
        Lookout(lab, lab.network.ports(), 0.01),
    ):
        pass


def test_a_first_process_that_ends_before_it_reads_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("out of order\n")
    process = subprocess.Popen(
        ["sh", "-c", "exec <&-; exit 1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        with pytest.raises(Failed, match="out of order"):
            booting.build(process, {"padding": "x" * 1_000_000}, tmp_path)
    finally:
        booting.end(process)
