"""What other threads and signals must not do to the exchanges of the Python interface."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def close_once(attached: dict[Any, Any], token: object) -> None:
    """Closes the exchange of this token, unless another thread has taken it meanwhile."""
    freed = attached.pop(token, None)
    if freed is not None:
        freed.exchange.close()


@contextmanager
def signals_later() -> Iterator[None]:
    """Calls the program's signal handlers afterwards, where they may raise.

    One that raises between two collectives of this rank would leave the other ranks waiting.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread
        return
    came: list[int] = []
    handlers = {each: signal.getsignal(each) for each in signal.valid_signals()}
    held = {each: handler for each, handler in handlers.items() if callable(handler)}
    for each in held:
        signal.signal(each, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for each, handler in held.items():
            signal.signal(each, handler)
        for number in came:
            signal.raise_signal(number)
