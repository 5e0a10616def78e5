from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.packaging.wheel_build import WheelBuild


@pytest.fixture(scope="session")
def wheel_build() -> Iterator[WheelBuild]:
    build = WheelBuild()
    build.start()
    yield build
    build.stop()
