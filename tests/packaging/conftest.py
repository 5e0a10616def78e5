from __future__ import annotations

import pytest
from tests.packaging.wheel_build import WheelBuild

WHEEL_BUILD = pytest.StashKey[WheelBuild]()


def pytest_collection_finish(session: pytest.Session) -> None:
    wanted = any("wheel_build" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly:
        session.stash[WHEEL_BUILD] = WheelBuild()
        session.stash[WHEEL_BUILD].start()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if WHEEL_BUILD in session.stash:
        session.stash[WHEEL_BUILD].stop()


@pytest.fixture
def wheel_build(request: pytest.FixtureRequest) -> WheelBuild:
    return request.session.stash[WHEEL_BUILD]
