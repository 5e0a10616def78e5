"""The decision file: written by one job, taken over by the next."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

from allemande.decisions import load_decisions


def trying(file: Path) -> dict[str, str]:
    return {
        "ALLEMANDE_TRIALS": "on",
        "ALLEMANDE_LOG": "info",
        "ALLEMANDE_DECISIONS": str(file),
    }


def test_what_one_job_decides_the_next_takes_over(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "decisions.toml"
    bench.run("repeat", "600", "300", env=trying(file)).check()
    (decision,) = load_decisions(str(file))
    ranks = len(bench.lab.hosts)
    assert (decision.ranks, decision.hosts) == (ranks, ranks)
    assert (decision.least_bytes, decision.most_bytes) == (256, 511)
    # The library's own way may wait for its turn: where its first call took long, it is dear.
    assert "the MPI library" in [way.name for way in decision.ways]
    assert any(way.seen > 0 for way in decision.ways)

    # Too few calls to look at it again, which on a busy machine may find it to be of another day.
    again = bench.run("repeat", "5", "300", env=trying(file))
    again.check()
    told = [line for line in again.warnings if "as decided before" in line]
    assert len(told) == 1 and decision.chosen.partition(" over ")[0] in told[0]
    by_library = decision.chosen == "the MPI library"  # two calls over UDP vouch for it
    assert again.stats["native"] == (3 * ranks if by_library else 0)
    assert load_decisions(str(file)) == [decision]

    # Another size is tried out, and joins the file.
    bench.run("repeat", "600", "3000", env=trying(file)).check()
    assert [one.least_bytes for one in load_decisions(str(file))] == [256, 2048]


def test_a_job_takes_over_what_the_one_before_has_decided_without_an_option(
    bench: Bench, tmp_path: Path
) -> None:
    env = {**trying(Path("auto")), "XDG_CACHE_HOME": str(tmp_path)}
    bench.run("repeat", "300", "300", env=env).check()
    assert load_decisions(str(tmp_path / "allemande/decisions.toml"))
    again = bench.run("repeat", "20", "300", env=env)
    again.check()
    assert any("as decided before" in line for line in again.warnings)


def test_blocks_of_any_size_have_decisions_too(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "decisions.toml"
    bench.run("blocks", "repeated", env=trying(file)).check()
    found = load_decisions(str(file))
    assert found and all(one.calls == "MPI_Alltoallv and MPI_Alltoallw" for one in found)
    # What a rank carries: 5 blocks of less than 500 bytes, later 5,000.
    assert found[-1].most_bytes <= 32767

    again = bench.run("blocks", "repeated", env=trying(file))
    again.check()
    told = [line for line in again.warnings if "as decided before" in line]
    assert len(told) == len(found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("decisions = 2\n[[decision]]\nranks = 'many'\n", "no decision file"),
        ("decisions = 1\n", "format 1 of an earlier version"),
    ],
)
def test_a_file_that_is_of_no_use_is_a_warning_and_left_alone(
    bench: Bench, tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "decisions.toml"
    file.write_text(text)
    done = bench.run("repeat", "30", "300", env=trying(file))
    done.check()
    assert any(told in line for line in done.warnings), done.err
    assert file.read_text() == text
