"""From recorded runs to the figures and their four shapes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.python.bench_runs import read_run

from allemande.bench import figure_output
from allemande.bench.candidates import parse_candidates
from allemande.bench.figures import Figure, make_figure, summarise, warnings, with_ratios
from allemande.bench.records import SizeRecord, add_own_counters
from allemande.bench.setting import Setting, processor, short_version
from allemande.lab.timers import choose_timers
from allemande.quantities import MISSING, format_seconds
from allemande.row_text import csv_rows, json_rows

RECORDED = Path(__file__).parents[1] / "fixtures" / "bench"
LIMITS = {1000: 0.026, 10_000: 0.255}
REQUIRED_KEYS = (
    "candidate",
    "stock",
    "library",
    "size",
    "median_s",
    "limit_s",
    "fraction_of_limit",
    "packets",
    "retransmitted",
    "wrong_bytes",
)
SETTING = Setting(
    "tam-8x4",
    32,
    0.1,
    "host links 10 Mbit/s",
    "cubic",
    "2026-11-20",
    "2 x CPU",
    ("Open MPI v5.0.11",),
)


def recorded_figures(names: str = "openmpi,allemande+openmpi") -> list[Figure]:
    figures = []
    for candidate in parse_candidates([names]):
        text = (RECORDED / f"{candidate.name.replace('+', '_')}.jsonl").read_text()
        run = read_run(text)
        for size, limit_s in LIMITS.items():
            figures.append(make_figure(candidate, size, limit_s, [run.size(size)]))
    return with_ratios(figures)


def record(seconds: list[float], **counters: int) -> SizeRecord:
    return SizeRecord(1000, seconds, [], 0, counters, 1.0, 2.0, complete=True)


def test_a_recorded_run_is_read() -> None:
    run = read_run((RECORDED / "openmpi.jsonl").read_text())
    assert run.finished
    assert run.ranks == 32
    assert run.mpi_version.startswith("Open MPI v5.0.11")
    assert run.size(1000).seconds == [0.09, 0.088, 0.092]
    assert run.size(1000).warmup_seconds == [0.15]
    assert run.size(10_000).counters["tcp_retransmitted"] == 420


def test_a_run_that_broke_off_keeps_what_it_measured() -> None:
    lines = (RECORDED / "openmpi.jsonl").read_text().splitlines()
    run = read_run("\n".join([*lines[:3], lines[3][:20], "mpirun noticed that a rank died"]))
    assert not run.finished
    assert run.size(1000).seconds == [0.09]
    assert not run.size(1000).complete


def test_the_counters_of_all_ranks_are_added_up() -> None:
    run = read_run((RECORDED / "allemande_openmpi.jsonl").read_text())
    before = run.size(10_000).counters["allemande_packets"]
    rank = (RECORDED / "stats.json").read_text()
    add_own_counters(run, [rank, rank])
    assert run.size(10_000).counters["allemande_packets"] == before + 2 * 868
    assert run.size(10_000).counters["allemande_retransmitted"] == 3 + 2


def test_summary_is_median_and_quartiles() -> None:
    summary = summarise([4.0, 1.0, 2.0, 3.0, 100.0])
    assert (summary.low, summary.median, summary.high) == (2.0, 3.0, 4.0)
    assert summary.spread == pytest.approx(2 / 3)


def test_figures_are_set_against_limit_and_best_stock() -> None:
    small, large, our_small, our_large = recorded_figures()
    assert small.median_s == 0.09
    assert small.fraction_of_limit == pytest.approx(0.026 / 0.09)
    assert our_small.ratio_to_best_stock == pytest.approx(0.09 / 0.03)
    assert large.ratio_to_best_stock == 1.0
    assert (large.packets, large.retransmitted, large.dropped) == (41_000 + 420, 420, 420)
    assert (our_large.packets, our_large.retransmitted) == (20_832, 3)
    assert our_large.cpu_idle == pytest.approx(0.6)


def test_void_rounds_do_not_count_while_there_are_others() -> None:
    candidate = parse_candidates(["openmpi"])[0]
    bad, good = record([9.0], softnet_drops=3), record([1.0, 1.0])
    mixed = make_figure(candidate, 1000, 0.5, [bad, good])
    assert (mixed.median_s, mixed.void, mixed.rounds) == (1.0, False, 1)
    assert (mixed.calls, mixed.void_calls) == (2, 1)
    assert warnings([mixed]) == [
        "openmpi, 1000 bytes: 1 of 3 calls are left out: the machine was too slow for them"
    ]
    void = make_figure(candidate, 1000, 0.5, [bad])
    assert (void.calls, void.void_calls) == (1, 0)
    assert void.void
    assert void.void_reason == "3 packets dropped by the machine's softnet queue"


def test_the_best_stock_is_never_void_or_ours() -> None:
    stock, other, ours = parse_candidates(["openmpi,mpich,allemande+openmpi"])
    figures = with_ratios(
        [
            make_figure(stock, 1000, 0.5, [record([4.0])]),
            make_figure(other, 1000, 0.5, [record([2.0], receive_buffer_drops=1)]),
            make_figure(ours, 1000, 0.5, [record([1.0], allemande_exchanges=8)]),
        ]
    )
    assert [figure.ratio_to_best_stock for figure in figures] == [1.0, 2.0, 4.0]


def test_a_candidate_that_failed_has_no_figure_but_a_reason() -> None:
    candidate = parse_candidates(["mpich"])[0]
    figure = make_figure(candidate, 1000, 0.5, [], "ended with status 1")
    assert (figure.median_s, figure.fraction_of_limit, figure.calls) == (None, None, 0)
    assert warnings([figure]) == ["mpich, 1000 bytes: void: ended with status 1"]
    json.loads(json_rows([figure]))


def test_warnings_name_wrong_bytes_and_busy_processors() -> None:
    ours = parse_candidates(["allemande+mpich"])[0]
    busy = SizeRecord(1000, [1.0], [], 7, {}, 0.1, 2.0, complete=True)
    lines = warnings([make_figure(ours, 1000, 0.5, [busy])])
    assert lines[0] == "allemande+mpich, 1000 bytes: 7 WRONG BYTES"
    assert "void: allemande passed the calls through to the MPI library" in lines[1]
    assert "least: 5%, allemande+mpich, 1000 bytes" in lines[2]


def test_json_is_one_array_with_the_promised_keys() -> None:
    array = json.loads(json_rows(recorded_figures()))
    assert isinstance(array, list)
    assert [(entry["candidate"], entry["size"]) for entry in array] == [
        ("openmpi", 1000),
        ("openmpi", 10_000),
        ("allemande+openmpi", 1000),
        ("allemande+openmpi", 10_000),
    ]
    for entry in array:
        assert tuple(entry)[: len(REQUIRED_KEYS)] == REQUIRED_KEYS
        assert entry["wrong_bytes"] == 0


def test_csv_holds_the_same_figures_as_json() -> None:
    figures = recorded_figures()
    rows = list(csv.DictReader(io.StringIO(csv_rows(figure_output.CSV_COLUMNS, figures))))
    array = json.loads(json_rows(figures))
    assert [float(row["median_s"]) for row in rows] == [entry["median_s"] for entry in array]
    assert list(rows[0]) == list(array[0])


def test_markdown_has_candidates_as_rows_and_says_when_and_where() -> None:
    text = figure_output.markdown(recorded_figures(), SETTING)
    lines = text.splitlines()
    assert lines[0] == "| candidate | 1 KB | 10 KB |"
    assert lines[2] == "| physical limit | 26 ms | 255 ms |"
    assert lines[4].startswith("| allemande+openmpi | **30 ms (87%)** |")
    assert "2026-11-20" in text
    assert "scale 0.1" in text


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    """On wider ones what a call costs stands beside its time."""
    for width, count in ((80, 3), (140, 1)):
        output = io.StringIO()
        tables = figure_output.rich_tables(recorded_figures(), "title", width)
        assert len(tables) == count
        for table in tables:
            Console(file=output, width=width).print(table)
        text = output.getvalue()
        assert "…" not in text
        for part in ("allemande+openmpi", "slowest", "P90", "P99", "CPU/call", "RTOs", "resent"):
            assert part in text


def test_what_timed_calls_cost_is_told_per_candidate() -> None:
    _, _, stock, ours = sorted(recorded_figures(), key=lambda figure: figure.size)
    assert (stock.tcp_timeouts, stock.tcp_retransmitted, stock.resent) == (55, 300, 300)
    assert (ours.tcp_timeouts, ours.resent) == (0, 3)
    assert stock.cpu_s_per_call == pytest.approx(2.3)
    assert ours.cpu_s_per_call == pytest.approx(0.15)
    assert stock.slowest_s is not None and stock.median_s is not None
    assert stock.slowest_s >= stock.median_s
    for entry in (stock.as_json(), ours.as_json()):
        assert {"timers", "tcp_timeouts", "cpu_s_per_call", "slowest_s"} <= set(entry)


def test_runs_recorded_without_these_counters_have_no_such_figures() -> None:
    figure = make_figure(parse_candidates(["openmpi"])[0], 1000, 0.026, [record([1.0])])
    assert (figure.cpu_s_per_call, figure.tcp_timeouts) == (None, 0)


def test_the_setting_says_what_the_timers_favour() -> None:
    """Under every table, and on the page."""
    for timers, rto, part in (
        (choose_timers("scaled", 0.1), "minimum RTO 2 s", "delayed acknowledgements (40 ms)"),
        (choose_timers("real", 0.1), "minimum RTO 200 ms", "favours the stock libraries"),
    ):
        lines = replace(SETTING, timers=timers).lines()
        assert rto in lines[0]
        assert part in lines[1]
    full_speed = replace(SETTING, scale=1.0, timers=choose_timers(None, 1.0))
    assert not any("timers" in line for line in full_speed.lines())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, MISSING),
        (12.345, "12.3 s"),
        (123.4, "123 s"),
        (0.0123456, "12.3 ms"),
        (5e-5, "50 µs"),
    ],
)
def test_seconds_have_three_digits(value: float | None, text: str) -> None:
    assert format_seconds(value) == text


def test_versions_and_processor_are_shortened() -> None:
    assert short_version("Open MPI v5.0.11, package: x") == "Open MPI v5.0.11"
    assert short_version("MPICH Version:      5.0.2") == "MPICH 5.0.2"
    assert processor("processor : 0\nmodel name\t: Some   CPU\n") == "Some CPU"
