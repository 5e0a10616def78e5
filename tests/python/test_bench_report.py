"""The plot and the page: they stand alone, name what they show, and survive missing figures."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from allemande.bench.candidates import parse_candidates
from allemande.bench.comparison import Comparison
from allemande.bench.figures import Figure, make_figure, with_ratios
from allemande.bench.records import SizeRecord
from allemande.bench.setting import Setting
from allemande.bench.timeline import Timeline
from allemande.report.demo_page import build_demo_page
from allemande.report.demo_summary import summarise_demo
from allemande.report.figure_plot import looks, render
from allemande.report.page import build_page
from allemande.report.timeline_plot import (
    describe,
    idle_part,
    idle_spans,
    pairs_of,
    render_timelines,
)

SETTING = Setting(
    "tam-8x4", 32, 0.1, "host links 10 Mbit/s", "cubic", "2026-11-20", "2 x <CPU>", ("MPICH 5.0.2",)
)
VOID_ELEMENTS = {"meta", "path", "use", "rect", "image", "br", "wbr"}


class Balance(HTMLParser):
    """Checks that every element that is opened is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open_: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID_ELEMENTS:
            self.open_.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID_ELEMENTS:
            assert self.open_.pop() == tag


def figures(names: str = "openmpi,mpich,allemande+openmpi") -> list[Figure]:
    result = []
    for size, limit_s in ((1000, 0.026), (50_000, 1.28)):
        for index, candidate in enumerate(parse_candidates([names])):
            seconds = [limit_s * (4 - index) * wobble for wobble in (1.01, 1.02, 1.03)]
            counters = {"allemande_exchanges": 3}
            record = SizeRecord(size, seconds, [], 0, counters, 1.0, 2.0, complete=True)
            result.append(make_figure(candidate, size, limit_s, [record]))
    return with_ratios(result)


def page(of: list[Figure]) -> str:
    return build_page(of, SETTING, render(of, "svg"), "allemande bench --lab tam-8x4")


def test_page_stands_alone_and_is_well_formed() -> None:
    text = page(figures())
    Balance().feed(text)
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(?!#|data:)", text)
    assert "<?xml" not in text


def timeline(candidate: str, seconds: float, *, stalls: bool) -> Timeline:
    """Ten looks; what stalls has drops at the beginning, idles, and goes on after a time-out."""
    use = (0.9, 0.9, *(0.01 if stalls else 0.9 for _ in range(6)), 0.9, 0.9)
    return Timeline(
        candidate=candidate,
        stock=not candidate.startswith("allemande+"),
        library=candidate.removeprefix("allemande+"),
        size=1000,
        seconds=seconds,
        calls=3,
        period_s=seconds / 10,
        level="leaf uplink up",
        processor_part=0.021,
        edges_s=tuple(seconds * edge / 10 for edge in range(11)),
        link_use=use,
        queue_fill=use,
        queue_packets=(10,) * 10,
        drops=(7, *(0,) * 9) if stalls else (0,) * 10,
        tcp={
            "timeouts": (*(0,) * 8, 1, 0) if stalls else (0,) * 10,
            "loss_probes": (0,) * 10,
            "probe_recoveries": (0,) * 10,
            "sack_recoveries": (0,) * 10,
        },
    )


LINES = [
    timeline("allemande+openmpi", 0.1, stalls=False),
    timeline("openmpi", 1.0, stalls=True),
    timeline("mpich", 2.0, stalls=True),
]


def with_timelines() -> str:
    of = figures()
    return build_page(of, SETTING, render(of, "svg"), "allemande bench", LINES)


def pages() -> list[str]:
    names = "openmpi,mpich,openmpi:linear-sync"
    stock = [
        *figures(names),
        *(replace(figure, size=figure.size * 10) for figure in figures(names)),
    ]
    results = [
        Comparison(figures(), SETTING, [], failed=False, timelines=LINES),
        Comparison(stock, replace(SETTING, cluster="oversubscribed-8x4"), [], failed=False),
    ]
    return [with_timelines(), build_demo_page(summarise_demo([("a", results)], 0), results, "line")]


def test_idle_links_are_those_of_the_call() -> None:
    stock = LINES[1]
    assert [each for span in idle_spans(stock) for each in span] == pytest.approx([0.2, 0.8])
    assert idle_part(stock) == pytest.approx(0.6)
    assert idle_part(LINES[0]) == 0
    over = replace(stock, link_use=(0.0,) * 10, seconds=0.25)  # what comes after it does not count
    assert list(idle_spans(over)) == [(0.0, 0.25)]
    assert describe(stock).endswith("links idle 60% of it, 7 drops, 1 time-out")


def test_stock_is_drawn_above_ours_library_by_library() -> None:
    names = [[line.candidate for line in pair] for pair in pairs_of(LINES)]
    assert names == [["openmpi", "allemande+openmpi"], ["mpich"]]
    assert render_timelines(LINES, "svg") == render_timelines(LINES, "svg")


def test_pages_need_no_network_and_no_script() -> None:
    for text in pages():
        Balance().feed(text)
        assert "<script" not in text and "<link" not in text and "@import" not in text
        assert not re.search(r"(src|href)=\"(?!#|data:)", text)
        assert not re.search(r"url\((?!#)", text)


def test_pages_name_what_the_network_did() -> None:
    for text in pages():
        assert "What the network did" in text
        assert "leaf uplink up" in text and "2% of one processor" in text
        assert "openmpi: done after 1 s, links idle 60% of it" in text  # for who cannot see plots
    assert "What the network did" not in page(figures())


def test_pages_are_made_for_paper_too() -> None:
    for text in pages():
        assert "@media print" in text and "break-inside: avoid" in text
        assert "overflow-x" not in text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_pages_fit_a_thousand_pixels(tmp_path: Path) -> None:
    """A browser says how wide the page is; the script that asks is the test's."""
    ask = "<script>document.title = document.documentElement.scrollWidth</script></body>"
    for text in pages():
        file = tmp_path / "page.html"
        file.write_text(text.replace("</body>", ask), encoding="utf-8")
        done = subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu"),
                *("--window-size=1000,800", f"--user-data-dir={tmp_path}/profile"),
                *("--dump-dom", file.as_uri()),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        found = re.search(r"<title>(\d+)</title>", done.stdout)
        assert found and int(found[1]) <= 1000


def test_page_names_everything_needed_to_judge_it() -> None:
    text = page(figures())
    for part in ("tam-8x4", "2026-11-20", "2 x &lt;CPU&gt;", "MPICH 5.0.2", "CPU idle", "limit"):
        assert part in text
    assert "every received byte was right" in text
    assert "Read this first" not in text


def test_page_warns_of_wrong_bytes_and_missing_figures() -> None:
    candidate = parse_candidates(["allemande+mpich"])[0]
    wrong = SizeRecord(1000, [0.1], [], 5, {}, 1.0, 2.0, complete=True)
    broken = [
        *figures("openmpi"),
        make_figure(candidate, 1000, 0.026, [wrong]),
        make_figure(candidate, 50_000, 1.28, [], "ended with status 1: <died>"),
    ]
    text = page(with_ratios(broken))
    assert "5 BYTES WERE WRONG" in text
    assert "Read this first" in text
    assert "ended with status 1: &lt;died&gt;" in text


def test_plot_is_the_same_file_for_the_same_figures() -> None:
    assert render(figures(), "svg") == render(figures(), "svg")
    assert render(figures(), "png").startswith(b"\x89PNG")


def test_stock_is_dashed_and_ours_solid() -> None:
    style = looks(figures())
    assert {name: look.line for name, look in style.items()} == {
        "openmpi": "--",
        "mpich": "--",
        "allemande+openmpi": "-",
    }
    assert len({look.colour for look in style.values()}) == 3
