"""The demo in short: tables and sentences follow from the figures, whatever these are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from allemande.bench.comparison import Comparison
from allemande.bench.figures import Figure, with_ratios
from allemande.bench.setting import Setting
from allemande.quantities import MISSING
from allemande.report.demo_summary import (
    BEGIN,
    COLUMNS,
    END,
    HAND_PICKED,
    ITS_NAME,
    busy_note,
    make_grid,
    print_summary,
    sentences,
    summarise_demo,
    to_html,
    to_markdown,
)

ROOT = Path(__file__).parents[2]


def figure(candidate: str, size: int, median_s: float | None, void: bool = False) -> Figure:
    return Figure(
        candidate=candidate,
        stock=not candidate.startswith("allemande+"),
        library=candidate.removeprefix("allemande+").partition(":")[0],
        size=size,
        median_s=median_s,
        limit_s=0.1,
        fraction_of_limit=None if median_s is None else 0.1 / median_s,
        packets=0,
        retransmitted=0,
        wrong_bytes=0,
        calls=3,
        void=void,
    )


def result(cluster: str, figures: list[Figure]) -> Comparison:
    setting = Setting(
        cluster, 8, 1.0, "host links 100 Mbit/s", "cubic", "2026-11-23", "2 x CPU", ("MPICH 5",)
    )
    return Comparison(with_ratios(figures), setting, [], failed=False)


LOT = result(
    "deep",
    [
        figure("openmpi", 1000, 4.0),
        figure("openmpi:pairwise", 1000, 0.4),
        figure("allemande+openmpi", 1000, 0.2),
    ],
)
MIXED = result(
    "flat",
    [
        figure("openmpi", 1000, 0.30),
        figure("mpich", 1000, 0.22),
        figure("allemande+openmpi", 1000, 0.20),
        figure("openmpi", 50_000, 1.98),
        figure("mpich", 50_000, 2.5),
        figure("allemande+openmpi", 50_000, 2.0),
    ],
)


def test_sentences_say_where_it_gains_a_lot_a_little_and_nothing() -> None:
    lot, little, nothing, default = sentences([LOT, MIXED])
    assert "gains a lot" in lot and "deep at 1 KB" in lot
    assert "200 ms instead of 400 ms by openmpi:pairwise: 2.0 times" in lot
    assert "a little on flat at 1 KB (200 ms instead of 220 ms by mpich: 1.10 times)" in little
    assert "nothing on flat at 50 KB (2 s instead of 1.98 s by openmpi: 0.99 times)" in nothing
    assert "0.99 times (flat, 50 KB) to 20 times (deep, 1 KB)" in default


def test_sentences_say_so_where_there_is_no_such_place() -> None:
    assert sentences([LOT])[1:3] == [
        "Nowhere does it gain a little.",
        "Nowhere here does it gain nothing.",
    ]
    assert sentences([MIXED])[0].startswith("Nowhere here does allemande gain a lot")
    assert sentences([result("none", [figure("openmpi", 10, 1.0)])]) == []


def test_void_figures_gain_nothing() -> None:
    void = [figure("openmpi", 10, 9.0, void=True), figure("mpich", 10, 1.0)]
    lines = sentences([result("one", [*void, figure("allemande+mpich", 10, 0.5)])])
    assert "instead of 1 s by mpich" in lines[0]


def test_the_best_hand_picked_algorithm_has_a_row_and_a_name() -> None:
    grid = make_grid("title", [LOT, MIXED])
    assert grid.heads == ("candidate", "deep 1 KB", "flat 1 KB", "50 KB")
    assert make_grid("title", [MIXED]).heads == ("candidate", "1 KB", "50 KB")
    rows = {row[0]: row[1:] for row in grid.rows}
    assert "openmpi:pairwise" not in rows
    assert rows[HAND_PICKED] == ("400 ms (25%)", MISSING, MISSING)
    assert rows[ITS_NAME] == ("openmpi:pairwise", MISSING, MISSING)
    assert rows["mpich"] == (MISSING, "220 ms (45%)", "2.5 s (4%)")
    assert list(rows)[-1] == "allemande+openmpi"


def test_markdown_is_what_the_command_prints() -> None:
    summary = summarise_demo([("one", [LOT]), ("two", [MIXED])], busy=0.02)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(width=80, record=True, file=nowhere)
        print_summary(console, summary)
        printed = console.export_text()
    text = to_markdown(summary)
    assert text.startswith(BEGIN) and text.endswith(f"{END}\n")
    for grid in summary.grids:
        for row in grid.rows:
            assert all(cell in printed and cell in text for cell in row)
    joined = " ".join(text.split())
    for line in summary.sentences:
        assert line in printed and line in joined
    assert all(len(line) <= COLUMNS for line in text.splitlines() if not line.startswith("|"))
    assert "MEASURED ANEW" not in text


def test_a_busy_machine_is_named_in_the_tables() -> None:
    summary = summarise_demo([("one", [LOT])], busy=0.4)
    for text in (to_markdown(summary), to_html(summary)):
        assert "TO BE MEASURED ANEW" in text and "40% of the processors" in text
    assert busy_note(0.05) is None


def test_the_tables_are_pasted_over_the_old_ones(tmp_path: Path) -> None:
    block, document = tmp_path / "readme.md", tmp_path / "README.md"
    block.write_text(to_markdown(summarise_demo([("one", [LOT])], busy=0.02)), encoding="utf-8")
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools/paste_demo.py"), str(block), str(document)]
    for _ in range(2):
        subprocess.run(command, check=True)
        text = document.read_text(encoding="utf-8")
        assert text == f"before\n{block.read_text(encoding='utf-8')}after\n"
    document.write_text("no marks\n")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_the_readme_holds_one_place_for_the_tables() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(BEGIN) == 1 and text.count(END) == 1
    assert text.index(BEGIN) < text.index(END)
