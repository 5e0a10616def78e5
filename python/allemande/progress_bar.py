"""Shows how far a command is and how long it will take: a bar, or a line now and then in a log."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

SILENT_S = 2.0
LOG_EVERY_S = 60.0


def format_left(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"about {minutes} min {rest:02d} s left" if minutes else f"about {rest} s left"


class ConsoleProgress:
    """A bar on standard error, as a context manager.

    Where standard error is no terminal it is a line every LOG_EVERY_S.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._logged_s = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> ConsoleProgress:
        self._bar.start()
        self._task = self._bar.add_task("starting", total=None, left="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, text: str, done_s: float, total_s: float) -> None:
        if self._task is None:
            return
        if not self._console.is_terminal:
            self._log(f"{text}, {format_left(total_s - done_s)}")
            return
        self._bar.update(
            self._task,
            description=text,
            completed=min(done_s, total_s),
            total=total_s,
            left=format_left(total_s - done_s),
        )

    def _log(self, line: str) -> None:
        now_s = time.monotonic()
        if now_s - self._logged_s >= LOG_EVERY_S:
            self._logged_s = now_s
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class LateProgress:
    """A bar for what takes longer than SILENT_S; nothing before.

    Called with the part that is done; the estimate follows from it and the time passed.
    """

    def __init__(self, text: str, bar: ConsoleProgress | None = None) -> None:
        self.text = text  # may change on the way
        self._bar = bar or ConsoleProgress()
        self._begin_s = time.monotonic()
        self._shown = False

    def __enter__(self) -> LateProgress:
        self._begin_s = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._bar.__exit__(kind, error, trace)

    def __call__(self, done: float) -> None:
        passed_s = time.monotonic() - self._begin_s
        if passed_s < SILENT_S or done <= 0:
            return
        if not self._shown:
            self._shown = True
            self._bar.__enter__()
        self._bar.show(self.text, passed_s, passed_s / done)
