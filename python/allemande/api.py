"""All-to-all exchanges over mpi4py communicators, without preloading anything.

`alltoall(comm, send, recv)` and `alltoallv(comm, send, recv)` take what `comm.Alltoall` and
`comm.Alltoallv` take and do the same, over allemande's schedules and UDP. The first call on a
communicator makes an exchange for it, which lives as long as the communicator does.
"""

from __future__ import annotations

import atexit
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Any

from allemande import _core
from allemande.api_buffers import BadBuffer, equal_blocks, vector_blocks
from allemande.api_safety import close_once, signals_later
from allemande.errors import BadInput, Failed

__all__ = [
    "BadBuffer",
    "ExchangeError",
    "PeerLost",
    "SizeMismatch",
    "Unavailable",
    "alltoall",
    "alltoallv",
    "attach",
    "counters",
]


class ExchangeError(Failed):
    """An exchange failed. On this communicator every further one does, too."""


class PeerLost(ExchangeError):
    """A rank has been silent for peer_timeout_s."""


class SizeMismatch(ExchangeError):
    """Two ranks do not agree on how much one sends to the other."""


class Unavailable(ExchangeError):
    """UDP cannot be used between these ranks; on all of them."""


_ERRORS: dict[int, type[Exception]] = {
    _core.ALM_ERROR_ARGUMENT: BadBuffer,
    _core.ALM_ERROR_CONFIG: BadInput,
    _core.ALM_ERROR_PEER_LOST: PeerLost,
    _core.ALM_ERROR_MISMATCH: SizeMismatch,
    _core.ALM_ERROR_UNAVAILABLE: Unavailable,
}


def _check(code: int, text: str) -> None:
    if code == _core.ALM_ERROR_BUSY:
        raise ExchangeError("another thread is inside an exchange on this communicator")
    if code != _core.ALM_OK:
        raise _ERRORS.get(code, ExchangeError)(text)


@cache
def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise BadInput(
            f"mpi4py cannot be imported ({error}): allemande.alltoall takes its communicators; "
            "install it with: pip install mpi4py"
        ) from error
    return MPI


class _Progress:
    """Lets MPI's own traffic proceed while an exchange waits.

    Testing a receive that never matches makes every MPI library look after its connections;
    probing does not. The receive exists only while a call waits.
    """

    def __init__(self) -> None:
        self.request: Any = None

    def __call__(self) -> None:
        if self.request is None:
            self.request = _private_comm().Irecv(bytearray(1), source=0)
        self.request.Test()

    def stop(self) -> None:
        if self.request is not None:
            self.request.Cancel()
            self.request.Wait()
            self.request = None


@cache
def _private_comm() -> Any:
    return _mpi().COMM_SELF.Dup()


@dataclass
class _Attached:
    """The exchange of a communicator. It holds no reference to the communicator."""

    exchange: _core.Exchange
    progress: _Progress
    ranks: int
    unavailable: str = ""  # not empty: calls go to the MPI library


@dataclass(eq=False)
class _Token:
    """What the communicator carries. MPI_COMM_WORLD does so until after the interpreter's end."""

    freed: bool = False


_attached: dict[_Token, _Attached] = {}


def _on_free(_comm: Any, _keyval: int, token: _Token) -> None:
    """Called from inside MPI, which may not be called back: closing comes later."""
    token.freed = True


@cache
def _keyval() -> int:
    return int(_mpi().Comm.Create_keyval(delete_fn=_on_free))


def _close_freed() -> None:
    for token in [token for token in _attached if token.freed]:
        close_once(_attached, token)


def _find(comm: Any) -> _Attached | None:
    token = comm.Get_attr(_keyval())
    return None if token is None else _attached.get(token)


@atexit.register
def _close_all() -> None:
    """Before mpi4py finalizes MPI."""
    while _attached:
        _attached.popitem()[1].exchange.close()


def _make(comm: Any, options: dict[str, object]) -> _Attached:
    mpi = _mpi()
    ranks, rank = comm.Get_size(), comm.Get_rank()

    def allgather(mine: bytes) -> bytearray:
        everything = bytearray(len(mine) * ranks)
        comm.Allgather([mine, mpi.BYTE], [everything, mpi.BYTE])
        return everything

    assignments = [f"{key}={_spelled(value)}" for key, value in options.items()]
    progress = _Progress()
    exchange = _core.Exchange(ranks, rank, allgather, progress, assignments)
    try:
        code = exchange.open()
    finally:
        progress.stop()
    state = _Attached(exchange, progress, ranks)
    if code == _core.ALM_ERROR_UNAVAILABLE and options.get("transport") != "udp":
        state.unavailable = exchange.error()
        if rank == 0:
            warnings.warn(
                f"allemande: {state.unavailable}; exchanges of this communicator of {ranks} ranks "
                "are left to the MPI library",
                RuntimeWarning,
                stacklevel=5,
            )
    else:
        _check(code, exchange.error())
    token = _Token()
    comm.Set_attr(_keyval(), token)
    _attached[token] = state
    return state


def _spelled(value: object) -> str:
    """An option as text: on, 40, or 30,30 for a list."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(one) for one in value)
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _check_sites(sites: object, ranks: int) -> None:
    if not isinstance(sites, (list, tuple)):
        return
    for count in sites:
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
            raise BadInput(f"sites has {count!r}; expected numbers of ranks above 0")
    if sum(sites) != ranks:
        raise BadInput(
            f"sites has {sum(sites)} ranks at {len(sites)} sites; expected all {ranks} of comm"
        )


def _check_comm(comm: Any) -> None:
    mpi = _mpi()
    if mpi.Is_finalized():
        raise BadInput("MPI has been finalized; exchange before MPI.Finalize()")
    if not isinstance(comm, mpi.Comm):
        raise BadInput(
            f"comm is of type {type(comm).__name__}; expected an mpi4py intracommunicator, for "
            "example MPI.COMM_WORLD"
        )
    if comm == mpi.COMM_NULL:
        raise BadInput("comm is MPI.COMM_NULL: it has been freed, or this rank is not part of it")
    if comm.Is_inter():
        raise BadInput("comm is an intercommunicator; expected an intracommunicator")


@contextmanager
def _in_call(comm: Any) -> Iterator[_Attached]:
    """The exchange of `comm`. The first call makes it, and signals wait until that is over."""
    _check_comm(comm)
    _close_freed()
    state = _find(comm)
    if state is not None:
        yield state
        return
    with signals_later():
        yield _make(comm, {})


def attach(comm: Any, **options: object) -> None:
    """Collective. Makes the exchange of `comm` now, with options of its own.

    They are those of docs/options.md (`cluster="net.toml", window_packets=40`) and come before
    environment and configuration file. With `transport="udp"` a communicator on which UDP does not
    work is an error; otherwise its exchanges are left to the MPI library, with a warning.
    `sites=[30, 30]` says how many of its ranks are at each site, in their order.

    Raises BadInput for options that are none, for sites that are not those of all ranks, and if
    `comm` has an exchange already.
    """
    _check_comm(comm)
    _close_freed()
    if _find(comm) is not None:
        raise BadInput("comm has its exchange already; call allemande.attach before the first one")
    _check_sites(options.get("sites"), comm.Get_size())
    with signals_later():
        _make(comm, options)


def counters(comm: Any) -> dict[str, Any]:
    """This rank's counters on `comm` (docs/preload.md); {} before the first exchange.

    While another thread is inside an exchange on `comm` they change: an ExchangeError then.
    """
    _check_comm(comm)
    state = _find(comm)
    if state is None:
        return {}
    code, text = state.exchange.counters()
    _check(code, state.exchange.error())
    found: dict[str, Any] = json.loads(text)
    return found


def alltoall(comm: Any, send: Any, recv: Any) -> None:
    """Collective. Block r of `send` goes to rank r, block r of `recv` comes from rank r.

    Buffers are contiguous arrays of any dtype (NumPy, or whatever has the buffer protocol) whose
    items divide evenly among the ranks; `[array, MPI.DOUBLE]` is taken, too. `send` may be
    MPI.IN_PLACE. Other threads of the process run meanwhile.
    """
    with _in_call(comm) as state:
        source, target, block_bytes = equal_blocks(send, recv, state.ranks)
        if state.unavailable:
            comm.Alltoall(send, recv)
        else:
            _run(state, lambda: state.exchange.alltoall(source, target, block_bytes))


def alltoallv(comm: Any, send: Any, recv: Any) -> None:
    """Collective. The same with blocks of any size.

    Buffers are given as to `comm.Alltoallv`: `[array, counts]`, `[array, (counts, displacements)]`
    or `[array, counts, displacements, datatype]`, counted in items of the array. Without
    displacements blocks lie back to back. `send` may be MPI.IN_PLACE.
    """
    with _in_call(comm) as state:
        source, out, target, into = vector_blocks(send, recv, state.ranks)
        if state.unavailable:
            comm.Alltoallv(send, recv)
        else:
            _run(state, lambda: state.exchange.alltoallv(source, out, target, into))


def _run(state: _Attached, call: Any) -> None:
    try:
        code = call()
    finally:
        state.progress.stop()
    _check(code, state.exchange.error())
