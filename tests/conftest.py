"""What every test may rely on, however the run was started."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    # A shell starts what it puts in the background with SIGINT ignored, and children inherit that:
    # tests that interrupt a command would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What jobs have decided must not tell in later ones.
    os.environ.setdefault("ALLEMANDE_DECISIONS", "off")
    # Labs are known by name, and one worker's must not end another's.
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        registry = Path(f"/tmp/allemande-tests-{os.geteuid()}-{worker}")
        registry.mkdir(mode=0o700, exist_ok=True)
        os.environ["XDG_RUNTIME_DIR"] = str(registry)


# With two workers one compiles, and takes only processor time that the other leaves, as long as
# there are tests left that wait for most of their time.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: "wheel_build" not in getattr(item, "fixturenames", ()))
