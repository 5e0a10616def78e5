"""`_core.Exchange` while threads use it: two ranks in this process, over loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from allemande import _core

RANKS = 2
PATIENCE_S = 60


class Bootstrap:
    """An allgather among threads."""

    def __init__(self) -> None:
        self.parts = [b""] * RANKS
        self.barrier = threading.Barrier(RANKS, timeout=PATIENCE_S)

    def of_rank(self, rank: int) -> Callable[[bytes], object]:
        def allgather(mine: bytes) -> bytes:
            self.parts[rank] = mine
            self.barrier.wait()
            everything = b"".join(self.parts)
            self.barrier.wait()
            return everything

        return allgather


def in_threads(*work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def opened() -> list[_core.Exchange]:
    bootstrap = Bootstrap()
    exchanges = [
        _core.Exchange(RANKS, rank, bootstrap.of_rank(rank), None, []) for rank in range(RANKS)
    ]
    codes: list[int] = []
    in_threads(*(lambda one=one: codes.append(one.open()) for one in exchanges))
    assert codes == [_core.ALM_OK] * RANKS, [one.error() for one in exchanges]
    return exchanges


def test_counters_are_refused_while_another_thread_is_inside_an_exchange() -> None:
    first, second = opened()
    codes: list[int] = []
    waiting = threading.Thread(
        target=lambda: codes.append(first.alltoall(bytes(2 * 8), bytearray(2 * 8), 8))
    )
    waiting.start()
    limit = time.monotonic() + PATIENCE_S
    while first.counters()[0] != _core.ALM_ERROR_BUSY:
        assert time.monotonic() < limit
        time.sleep(0.001)
    assert second.counters()[0] == _core.ALM_OK
    assert second.alltoall(bytes(2 * 8), bytearray(2 * 8), 8) == _core.ALM_OK
    waiting.join(PATIENCE_S)
    assert codes == [_core.ALM_OK]
    code, text = first.counters()
    assert code == _core.ALM_OK and '"exchanges": 1' in text
    in_threads(first.close, second.close)


def test_the_words_of_a_failed_call_stay_while_another_call_runs() -> None:
    first, second = opened()
    counts = [(0, 0), (0, 0)]
    assert first.alltoallv(bytes(16), [(0, 8), (8, 8)], bytearray(16), counts) != _core.ALM_OK
    said = first.error()
    assert "sends 8 bytes to itself but expects 0" in said
    waiting = threading.Thread(target=lambda: first.alltoall(bytes(16), bytearray(16), 8))
    waiting.start()
    limit = time.monotonic() + PATIENCE_S
    while first.counters()[0] != _core.ALM_ERROR_BUSY:
        assert time.monotonic() < limit
        time.sleep(0.001)
    assert first.error() == said
    assert second.alltoall(bytes(16), bytearray(16), 8) == _core.ALM_OK
    waiting.join(PATIENCE_S)
    in_threads(first.close, second.close)
