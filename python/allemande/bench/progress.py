"""Shows how far a comparison is and how long it will take; says nothing when nobody watches."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress


def format_left(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"about {minutes} min {rest:02d} s left" if minutes else f"about {rest} s left"


class ConsoleProgress:
    """A bar on standard error, as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self.console_ = console or Console(stderr=True)
        self.bar_ = RichProgress(
            TextColumn("{task.description}", justify="left"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            console=self.console_,
            transient=True,
            disable=not self.console_.is_terminal,
        )
        self.task_: TaskID | None = None

    def __enter__(self) -> ConsoleProgress:
        self.bar_.start()
        self.task_ = self.bar_.add_task("starting", total=None, left="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar_.stop()

    def show(self, text: str, done_s: float, total_s: float) -> None:
        if self.task_ is None:
            return
        self.bar_.update(
            self.task_,
            description=text,
            completed=min(done_s, total_s),
            total=total_s,
            left=format_left(total_s - done_s),
        )
