"""The look that all plots of the project share."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.figure import Figure as Canvas

from allemande.svg_text import tidy_svg

INK = "#1c2330"
GRID = "#d9dde4"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": "#8a93a3",
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "allemande",  # the same figures give the same file
    "svg.fonttype": "none",  # text stays text
}
# Colours and markers for the lines of a figure, in order.
COLOURS = ("#D55E00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#8C8C8C", "#E69F00", "#B8A200")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "h")


@contextmanager
def styled_canvas(width: float, height: float) -> Iterator[Canvas]:
    """A canvas of so many inches, in the project's look while it is drawn on."""
    with matplotlib.rc_context(STYLE):
        yield Canvas(figsize=(width, height), layout="constrained", facecolor="white")


def line_style(index: int) -> dict[str, Any]:
    """How the line of this number looks."""
    return {
        "color": COLOURS[index],
        "marker": MARKERS[index],
        "linewidth": 2,
        "markeredgecolor": "white",
    }


def save(canvas: Canvas, kind: str) -> bytes:
    """The drawing as `svg` or `png`."""
    output = io.BytesIO()
    # No version and no date: they would change what the figures do not.
    metadata: dict[str, Any] = {"Date": None, "Creator": None} if kind == "svg" else {}
    with matplotlib.rc_context(STYLE):
        canvas.savefig(output, format=kind, dpi=160, metadata=metadata)
    if kind != "svg":
        return output.getvalue()
    return tidy_svg(output.getvalue().decode()).encode()


def share_legend(canvas: Canvas, title: str, columns: int | None = None) -> None:
    """One for all panels, below them: inside it would hide points.

    It has fewer columns than `columns`, and the title is smaller, where they would be cut off.
    """
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    wanted = columns or min(len(entries), 3 if len(canvas.axes) == 1 else 8)
    for ncols in range(max(1, wanted), 0, -1):
        legend = canvas.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=ncols,
            frameon=False,
            fontsize=9,
        )
        canvas.draw_without_rendering()
        if ncols == 1 or legend.get_window_extent().width <= canvas.bbox.width:
            break
        legend.remove()
    for size in range(12, 8, -1):
        shown = canvas.suptitle(title, x=0.01, ha="left", fontsize=size)
        canvas.draw_without_rendering()
        if shown.get_window_extent().x1 <= canvas.bbox.width:
            break
