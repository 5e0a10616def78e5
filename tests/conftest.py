"""What every test may rely on, however the run was started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    # A shell starts what it puts in the background with SIGINT ignored, and children inherit that:
    # tests that interrupt a command would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
