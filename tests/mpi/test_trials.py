"""Never slower: the first calls try the ways there are, and the fastest is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

TRYING = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_LOG": "info"}
DECIDED = re.compile(
    r"MPI_Alltoall on (\d+) ranks, (\d+) to (\d+) bytes per pair: (.*) from here on: .*? \((.*)\)$"
)

DECIDED_BLOCKS = re.compile(
    r"MPI_Alltoallv and MPI_Alltoallw on \d+ ranks, (\d+) to (\d+) bytes at the fullest rank: "
    r"(.*) from here on: "
)


def decisions(lines: list[str]) -> list[re.Match[str]]:
    return [match for line in lines if (match := DECIDED.search(line))]


def test_all_ways_are_tried_and_the_bytes_are_right(bench: Bench) -> None:
    calls = 600
    ranks = len(bench.lab.hosts)
    done = bench.run("repeat", str(calls), "2000", env=TRYING)
    done.check()
    ours, native = done.stats["exchanges"], done.stats["native"]
    assert ours + native == calls * ranks
    told = decisions(done.warnings)
    assert told, done.err
    # A call of the library may stall: it may wait until the calls made pay for that.
    assert native >= ranks or "too dear to be tried yet" in told[-1][0]
    assert told[0][2] == "1024" and told[0][3] == "2047"
    tried = [way.rpartition(": ")[0] for way in told[-1][5].split("; ")]
    assert tried[1] == "the MPI library"
    assert "pairwise over MPI point-to-point messages" in tried
    # Where the library's own way is many times as slow, its messages wait for their turn.
    assert done.stats["mpi_messages"] > 0 or "too dear to be tried yet" in told[-1][0]


def test_small_blocks_have_messages_combined_on_trial(bench: Bench) -> None:
    done = bench.run("repeat", "600", "8", env=TRYING)
    done.check()
    assert "bruck over MPI point-to-point messages" in decisions(done.warnings)[-1][5]


def test_every_size_and_type_under_trial(bench: Bench) -> None:
    for what in ("sizes", "types"):
        done = bench.run("correct", what, env={"ALLEMANDE_TRIALS": "on"})
        done.check()
        assert done.stats["native"] > 0


def test_over_messages_alone(bench: Bench) -> None:
    done = bench.run("repeat", "600", "500", env={**TRYING, "ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert done.stats["packets"] == 0
    assert "over UDP" not in decisions(done.warnings)[-1][0]


def test_algorithms_of_the_library_are_on_trial_over_messages(bench: Bench) -> None:
    env = {**TRYING, "ALLEMANDE_TRANSPORT": "mpi"}
    done = bench.run("repeat", "1000", "8", env=env)
    done.check()
    assert "bruck by the MPI library" in decisions(done.warnings)[-1][5]
    bench.run("correct", "types", env=env).check()


def segments(bench: Bench, file: Path, key: str) -> int:
    """TCP's segments with data, of all hosts in a job that takes over the decision for this way.

    Segments that only acknowledge are not counted: a busy machine sends more of them.
    """
    text = re.sub(r'^chosen = ".*"$', f'chosen = "{key}"', file.read_text(), flags=re.MULTILINE)
    # All have been seen, and took times that no call comes near to: nothing else is tried.
    seen = r"time_us = [0-9.]+, seen = \d+"
    text = re.sub(seen, "time_us = 200000.0, seen = 8", text)
    text, found = re.subn(
        rf'(\{{ key = "{key}".*?) {seen}', r"\1 time_us = 100000.0, seen = 8", text
    )
    assert found == 1, text
    file.write_text(text)
    sent = (
        'awk \'/^TcpExt: [A-Z]/ { for (i = 2; i <= NF; ++i) if ($i == "TCPOrigDataSent") at = i }'
        " /^TcpExt: [0-9]/ { print $at }' /proc/net/netstat"
    )
    script = bench.script(
        "counted",
        f"before=$({sent})\n{bench.program('repeat')} 300 8\necho SEGMENTS $(($({sent}) - before))",
    )
    told = {"ALLEMANDE_DECISIONS": str(file), "ALLEMANDE_SUMMARY": "1"}
    done = bench.run(script, env={**TRYING, "ALLEMANDE_TRANSPORT": "mpi", **told})
    done.check()
    assert "as decided before" in done.err
    assert f"  {key}: faster here" in done.err
    assert done.stats["native"] == 300 * len(bench.lab.hosts)
    return sum(int(count) for count in re.findall(r"SEGMENTS (\d+)", done.out))


def test_the_library_takes_what_it_is_told(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "decisions.toml"
    env = {**TRYING, "ALLEMANDE_TRANSPORT": "mpi", "ALLEMANDE_DECISIONS": str(file)}
    bench.run("repeat", "600", "8", env=env).check()
    # Of six ranks each sends three messages, or five.
    few, many = (segments(bench, file, f"library:{name}") for name in ("bruck", "pairwise"))
    assert few < 0.8 * many, (few, many)


@pytest.mark.parametrize(
    "told",
    [
        {"OMPI_MCA_coll_tuned_bcast_algorithm": "1", "MPICH_ALLTOALL_THROTTLE": "8"},
        {"ALLEMANDE_TRIALS": "off"},
    ],
)
def test_a_library_that_the_user_tells_what_to_take_is_told_nothing(
    bench: Bench, told: dict[str, str]
) -> None:
    env = {**TRYING, "ALLEMANDE_TRANSPORT": "mpi", "ALLEMANDE_SUMMARY": "1", **told}
    done = bench.run("repeat", "300", "8", env=env)
    done.check()
    assert "by the MPI library" not in done.err and " library:" not in done.err.replace(
        " library: ", " "
    )


def test_who_names_an_algorithm_gets_it(bench: Bench) -> None:
    env = {"ALLEMANDE_TRIALS": "on", "ALLEMANDE_ALGORITHM": "sync-shuffle"}
    done = bench.run("repeat", "8", "2000", env=env)
    done.check()
    assert done.stats["native"] == 0


@pytest.mark.parametrize("transport", ["auto", "mpi"])
def test_blocks_of_any_size_on_trial(bench: Bench, transport: str) -> None:
    done = bench.run("blocks", "repeated", env={**TRYING, "ALLEMANDE_TRANSPORT": transport})
    done.check()
    calls = 500
    assert done.stats["exchanges"] + done.stats["native"] == calls * len(bench.lab.hosts)
    told = [line for line in done.warnings if DECIDED_BLOCKS.search(line)]
    assert told, done.err
    # Over UDP a call of the library may stall: it may wait until the calls made pay for that.
    if transport == "mpi":
        assert done.stats["native"] > 0
        assert re.search(r"the MPI library: \S+ ms, seen [1-9]", told[-1]), told
