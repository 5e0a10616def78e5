"""Time over message size at one number of hosts, beside a straight line (003 Figure 1).

sizes: bytes; the line goes through the first and the last of them. Times are those of a file
measured in the lab (lab, lab_times.py); hosts: a list of the one number.
"""

from __future__ import annotations

from matplotlib.ticker import FuncFormatter

from allemande.plot_look import COLOURS, INK, save, styled_canvas
from allemande.quantities import format_seconds, format_size
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.lab_times import KeptTimes, read_times


def run_time_curve(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    return time_curve_of_lab(experiment, read_times(experiment.folder / experiment.data["lab"]))


def time_curve_of_lab(experiment: Experiment, kept: KeptTimes) -> Outcome:
    (hosts,) = experiment.data["hosts"]
    points = [point for point in kept.points if point["hosts"] == hosts]
    sizes = [point["size"] for point in points]
    times = [kept.times[hosts, size] for size in sizes]
    slope = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    lines = [times[0] + slope * (size - sizes[0]) for size in sizes]
    ratios = [time / line for time, line in zip(times, lines, strict=True)]
    late = [point["tcp_timeouts"] > 0 for point in points]
    first = next((size for size, timeout in zip(sizes, late, strict=True) if timeout), None)
    rows = [
        experiment.row(text, None, value)
        for text, value in (
            ("most above the straight line, ratio", max(ratios)),
            ("most below it, ratio", min(ratios)),
            ("smallest size with a TCP time-out, bytes", first),
        )
    ]

    def draw(kind: str) -> bytes:
        with styled_canvas(8, 4.4) as canvas:
            axes = canvas.subplots()
            axes.plot(sizes, lines, color=INK, linestyle="--", label="straight line")
            for timeout, label in ((False, "no time-out"), (True, "calls with TCP time-outs")):
                mine = [i for i, one in enumerate(late) if one is timeout]
                if not mine:
                    continue
                axes.plot(
                    [sizes[i] for i in mine],
                    [times[i] for i in mine],
                    color=COLOURS[int(timeout)],
                    marker="o",
                    linestyle="none",
                    label=label,
                )
            axes.set_xlabel("message to each other host")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(int(value))))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_seconds(value)))
            axes.set_ylim(bottom=0)
            axes.set_title(
                f"Time of one exchange, {hosts} hosts", loc="left", fontsize=11, fontweight="bold"
            )
            axes.legend(frameon=False)
            canvas.suptitle(experiment.title, x=0.01, ha="left", fontweight="bold")
            return save(canvas, kind)

    return Outcome(rows, draw)
