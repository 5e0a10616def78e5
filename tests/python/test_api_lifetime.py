"""Exchanges that the Python interface closes, and signals that come while it makes them."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from allemande import api


class Exchange:
    """Closing it lets another thread look at what is to be closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
        api._close_freed()


def test_two_threads_may_close_what_was_freed() -> None:
    exchanges: list[Any] = [Exchange() for _ in range(3)]
    for exchange in exchanges:
        api._attached[api._Token(freed=True)] = api._Attached(exchange, api._Progress(), 2)
    api._close_freed()
    assert [exchange.closed for exchange in exchanges] == [1, 1, 1]
    assert not api._attached


def test_a_handler_that_raises_waits_until_the_exchange_is_made() -> None:
    def raises(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, raises)
    made = False
    try:
        with pytest.raises(TimeoutError), api._signals_later():
            signal.raise_signal(signal.SIGALRM)
            made = True
        assert made and signal.getsignal(signal.SIGALRM) is raises
    finally:
        signal.signal(signal.SIGALRM, before)
