"""Jobs of several ranks on each of four hosts, for the tests of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.mpi.mpi_job import Done

NODE_CLUSTER = Path(__file__).parent / "clusters" / "four-hosts.toml"
EQUAL = (2, 2, 2, 2)
UNEQUAL = (4, 2, 1, 3)
SLOTS = [EQUAL, UNEQUAL]
# With two leaders on every host all ranks are leaders, or not.
TWO_LEADERS = {"ALLEMANDE_LEADERS_PER_HOST": "2", "ALLEMANDE_LOG": "info"}
LED_BY_TWO = [EQUAL, (4, 2, 2, 3)]


def name_of(slots: Sequence[int]) -> str:
    return "-".join(map(str, slots))


def check_udp(done: Done) -> None:
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings
