from __future__ import annotations

import pytest
from tests.packaging.ahead import Ahead

AHEAD = pytest.StashKey[Ahead]()


def pytest_collection_finish(session: pytest.Session) -> None:
    wanted = any("ahead" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly:
        session.stash[AHEAD] = Ahead()
        session.stash[AHEAD].start()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if AHEAD in session.stash:
        session.stash[AHEAD].stop()


@pytest.fixture
def ahead(request: pytest.FixtureRequest) -> Ahead:
    return request.session.stash[AHEAD]
