"""Plots that people look at: nothing is cut off."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib.figure import Figure as Canvas

from allemande.plot_look import STYLE, share_legend

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
