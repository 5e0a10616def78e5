"""Exchanges that the Python interface closes, and signals that come while it makes them."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest

from allemande.api_safety import close_once, signals_later


def test_two_threads_may_close_what_was_freed() -> None:
    closed = []
    attached = {number: SimpleNamespace(exchange=None) for number in range(3)}

    def close() -> None:
        """It lets another thread close, too."""
        closed.append(len(attached))
        for other in list(attached):
            close_once(attached, other)

    for state in attached.values():
        state.exchange = SimpleNamespace(close=close)
    for number in range(3):
        close_once(attached, number)
    assert closed == [2, 1, 0] and not attached


def test_a_handler_that_raises_waits_until_the_exchange_is_made() -> None:
    def raises(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, raises)
    made = False
    try:
        with pytest.raises(TimeoutError), signals_later():
            signal.raise_signal(signal.SIGALRM)
            made = True
        assert made and signal.getsignal(signal.SIGALRM) is raises
        with pytest.raises(TimeoutError), signals_later():
            signal.raise_signal(signal.SIGALRM)
            raise ValueError  # the signal is not lost with it
    finally:
        signal.signal(signal.SIGALRM, before)
