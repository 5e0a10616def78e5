"""How every command ends: by an exit code, with a message and no traceback, cleaned up.

`allemande` and the Python programs behind the benchmarks' make targets start here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import typer

from allemande.control_characters import told
from allemande.errors import AllemandeError

EXIT_INTERRUPTED = 130
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
ALL_ENDING_SIGNALS = (*ENDING_SIGNALS, signal.SIGINT)


def _end(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough: cleaning up is not to be cut short
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _cleaning_up_when_told_to_end() -> Iterator[None]:
    """Ends by an exception, as Ctrl-C does: labs, processes and temporary files go."""
    changed = [one for one in ENDING_SIGNALS if signal.getsignal(one) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def end_deferred() -> Iterator[None]:
    """Signals that end this process take effect at the end of the block.

    For what must not be torn apart: a process that was started, but whose handle nobody had yet
    received, would run on. Python calls handlers in the main thread alone; elsewhere nothing is to
    be done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ALL_ENDING_SIGNALS}
    # What is ignored stays so, also in what is started here.
    held = [number for number, handler in handlers.items() if callable(handler)]
    for number in held:
        signal.signal(number, lambda which, _frame: came.append(which))
    try:
        yield
    finally:
        # None comes while some have their handlers back, and others do not.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, held)
        for number in held:
            signal.signal(number, handlers[number])
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if came:
            signal.raise_signal(came[0])


def exit_code_of(name: str, body: Callable[[], int | None]) -> int:
    """Carries out `body`: 0 done, 1 failed, 2 bad input, 130 Ctrl-C, or what it returns.

    Messages begin with `name`.
    """
    code = _code_of(name, body)
    try:
        _flush()
    except OSError as error:
        # Python would say it again at its end, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not code:
            return _failed(name, error)
    return code


def _flush() -> None:
    if sys.stdout is not None:  # it is None where a program was started without one
        sys.stdout.flush()


def _failed(name: str, error: OSError | MemoryError) -> int:
    """What the system lacks or refuses, said in one line: no traceback explains it better."""
    if isinstance(error, MemoryError):
        reason = "there is not enough memory; make the input smaller"
    else:
        reason = error.strerror or str(error)
        if error.filename is not None:
            from allemande.text_files import shown  # what it imports, few commands need

            reason = f"{shown(error.filename)}: {reason}"
    print(f"{name}: {reason}", file=sys.stderr)
    return 1


def _code_of(name: str, body: Callable[[], int | None]) -> int:
    try:
        with _cleaning_up_when_told_to_end():
            return body() or 0
    except AllemandeError as error:
        with contextlib.suppress(OSError):
            _flush()
        print(f"{name}: {told(str(error))}", file=sys.stderr)
        return error.exit_code
    except (OSError, MemoryError) as error:
        return _failed(name, error)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 1
        return stop.code or 0


def run_command(name: str, command: Callable[..., object]) -> int:
    """The exit code of a function that typer understands, with the arguments of this process."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)

    def body() -> None:
        app(prog_name=name)

    return exit_code_of(name, body)
