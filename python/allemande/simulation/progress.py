"""A bar for what takes longer than two seconds; nothing before."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console

from allemande.bench.progress import ConsoleProgress

SILENT_S = 2.0


class LateProgress:
    """Called with the part that is done; the estimate follows from it and the time passed."""

    def __init__(self, text: str, console: Console | None = None) -> None:
        self.text_ = text
        self.bar_ = ConsoleProgress(console)
        self.begin_ = time.monotonic()
        self.shown_ = False

    def __enter__(self) -> LateProgress:
        self.begin_ = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown_:
            self.bar_.__exit__(kind, error, trace)

    def __call__(self, done: float) -> None:
        passed = time.monotonic() - self.begin_
        if passed < SILENT_S or done <= 0:
            return
        if not self.shown_:
            self.shown_ = True
            self.bar_.__enter__()
        self.bar_.show(self.text_, passed, passed / done)
