"""Plots that people look at: nothing is cut off, and files differ where figures do."""

from __future__ import annotations

import re
from collections.abc import Sequence

import matplotlib
import pytest
from matplotlib.figure import Figure as Canvas

from allemande.plot_look import STYLE, save, share_legend
from allemande.svg_text import tidy_svg

LONG = "a title that is too long for letters of the usual size, but which fits in smaller ones"


@pytest.mark.parametrize(
    ("label", "title", "columns"),
    [
        ("a", "short", 3),
        ("a label of which no two fit beside each other on the canvas", "short", 1),
        ("a", LONG, 3),
    ],
)
def test_legend_and_title_fit_the_canvas(label: str, title: str, columns: int) -> None:
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(6.4, 4.6), layout="constrained")
        axes = canvas.subplots()
        for number in range(4):
            axes.plot([0, 1], [number, number], label=f"{label} {number}")
        share_legend(canvas, title)
        canvas.draw_without_rendering()
    (legend,) = canvas.legends
    assert legend.get_window_extent().width <= canvas.bbox.width
    assert len({text.get_window_extent().x0 for text in legend.get_texts()}) == columns
    (shown,) = (text for text in canvas.texts if text.get_text() == title)
    assert (float(shown.get_fontsize()) < 12) == (title == LONG)
    assert shown.get_window_extent().x1 <= canvas.bbox.width


def drawn(values: Sequence[float]) -> list[str]:
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=(6.4, 4.6), layout="constrained")
        axes = canvas.subplots()
        axes.plot(range(len(values)), values, marker="o", label="a name with 0.123456")
        axes.set(xlim=(0, 3), ylim=(0, 10))
        share_legend(canvas, "title")
    return save(canvas, "svg").decode().splitlines()


def test_a_changed_point_changes_its_path_and_its_marker_alone() -> None:
    before, after = drawn([1, 2, 3, 4]), drawn([1, 2, 5, 4])
    assert len(before) == len(after)
    changed = [one for one, other in zip(before, after, strict=True) if one != other]
    assert len(changed) == 2
    assert "<path d=" in changed[0] and "<use " in changed[1]


def test_coordinates_are_short_and_text_is_text() -> None:
    lines = drawn([1 / 3, 2 / 3, 4 / 3])
    assert any(line.endswith(">a name with 0.123456</text>") for line in lines)
    paths = [line for line in lines if "<path " in line]
    assert paths and all(re.search(r' d="[^"]+"', line) for line in paths)
    assert not [line for line in paths if re.search(r"\d\.\d{3}", line)]


@pytest.mark.parametrize(
    ("written", "tidy"),
    [
        ('<path d="M 1.006 2\nL -0.001 331.2 \nz\n"/>', '<path d="M 1.01 2 L 0 331.2 z"/>'),
        ('<use x="76.710002" y="5"/>', '<use x="76.71" y="5"/>'),
        ('<g id="x1.2345"/>', '<g id="x1.2345"/>'),
        ("font-family: 'DejaVu Sans'", "font-family: 'DejaVu Sans', sans-serif"),
    ],
)
def test_what_is_tidied(written: str, tidy: str) -> None:
    assert tidy_svg(written) == tidy
