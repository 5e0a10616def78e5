"""A figure of lines, one panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from allemande.plot_look import line_style, save, share_legend, styled_canvas
from allemande.quantities import format_seconds, format_size


def draw_lines(
    title: str,
    lines: Iterable[tuple[str, Sequence[float], Sequence[float]]],
    dress: Callable[[Axes], None],
    kind: str,
    from_zero: bool = True,
) -> bytes:
    """`lines`: label, x and y. `dress` names the axes and adds what is not a line."""
    with styled_canvas(6.4, 4.6) as canvas:
        axes = canvas.subplots()
        for index, (label, x, y) in enumerate(lines):
            axes.plot(
                x,
                y,
                **line_style(index),
                label=label,
            )
        dress(axes)
        if from_zero:
            axes.set_ylim(bottom=0)
        share_legend(canvas, title)
        return save(canvas, kind)


def dress_times(axes: Axes) -> None:
    """Times of one exchange over message size, both in decades."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("message to each other host")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(int(value))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
    axes.set_ylabel("time of one exchange")
