"""The plot and the page: they stand alone, name what they show, and survive missing figures."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from allemande.bench.candidates import parse_candidates
from allemande.bench.figures import Figure, make_figure, with_ratios
from allemande.bench.records import SizeRecord
from allemande.bench.setting import Setting
from allemande.report.figure_plot import looks, render
from allemande.report.page import build_page

SETTING = Setting(
    "tam-8x4", 32, 0.1, "host links 10 Mbit/s", "cubic", "2026-11-20", "2 x <CPU>", ("MPICH 5.0.2",)
)
VOID_ELEMENTS = {"meta", "path", "use", "rect", "image", "br"}


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
