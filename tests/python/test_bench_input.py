"""What a user may write, and what is said when it is wrong."""

from __future__ import annotations

from dataclasses import fields

import pytest

from allemande.bench.candidates import (
    CANDIDATES,
    NAMES,
    every_candidate,
    parse_candidates,
    split_list,
)
from allemande.bench.comparison import check_memory
from allemande.bench.defaults import LAB, SIZES
from allemande.bench.message_sizes import parse_sizes
from allemande.bench.request import read_request
from allemande.bench.request_text import RequestText
from allemande.bench.timeline import TimelineRequest
from allemande.bench.workload import Workload
from allemande.cli.bench import OPTIONS
from allemande.errors import BadInput
from allemande.lab.placement import one_per_host
from allemande.quantities import format_size


def test_sizes_are_sorted_and_unique() -> None:
    assert parse_sizes("1000,100, 50K,1M,100") == [100, 1000, 50_000, 1_000_000]


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "10,", "ten", "3G", "2147483648", "1e3"])
def test_bad_sizes_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected bytes from 1 to 2147483647"):
        parse_sizes(text)


@pytest.mark.parametrize(
    ("size", "text"), [(100, "100 B"), (1000, "1 KB"), (1500, "1500 B"), (2_000_000, "2 MB")]
)
def test_sizes_are_shown_short(size: int, text: str) -> None:
    assert format_size(size) == text


def test_no_candidate_means_the_usual_ones() -> None:
    names = [candidate.name for candidate in parse_candidates([])]
    assert names == [candidate.name for candidate in CANDIDATES if candidate.usual]
    assert "mpich:ucx" in names and "openmpi:bruck" not in names
    assert not [name for name in names if "by-itself" in name]


def test_options_stay_with_their_candidate() -> None:
    text = "openmpi,allemande+openmpi:window=7,algorithm=pairwise,mpich:ucx,mpich"
    assert split_list(text) == [
        "openmpi",
        "allemande+openmpi:window=7,algorithm=pairwise",
        "mpich:ucx",
        "mpich",
    ]
    ours = parse_candidates([text])[1]
    assert ours.environment["ALLEMANDE_WINDOW_PACKETS"] == "7"
    assert ours.environment["ALLEMANDE_ALGORITHM"] == "pairwise"
    assert (ours.stock, ours.library) == (False, "openmpi")


def test_candidates_differ_in_what_their_names_say() -> None:
    by_name = {candidate.name: candidate for candidate in every_candidate()}
    numbers = {"openmpi:linear": "1", "openmpi:pairwise": "2", "openmpi:linear-sync": "4"}
    for name, number in numbers.items():
        assert by_name[name].arguments[-2:] == ("coll_tuned_alltoall_algorithm", number)
    assert by_name["openmpi"].arguments == ()
    assert (by_name["mpich"].netmod, by_name["mpich:ucx"].netmod) == ("ofi", "ucx")
    assert [name for name in NAMES if not by_name[name].stock] == [
        "allemande+openmpi",
        "allemande+mpich",
        "allemande+openmpi:by-itself",
        "allemande+mpich:by-itself",
    ]


def test_by_itself_is_what_a_user_gets_who_says_nothing() -> None:
    (alone,) = parse_candidates(["allemande+openmpi:by-itself"])
    (told,) = parse_candidates(["allemande+openmpi:cluster=off,trials=on,decisions=off"])
    assert alone.environment == told.environment and alone.with_trials and not alone.stock


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "openmp",
            r"unknown candidate 'openmp'; did you mean 'openmpi'\? expected some of: openmpi",
        ),
        ("openmpi:window=7", "unknown candidate"),
        ("", "unknown candidate ''"),
        ("mpich,mpich", "'mpich' is given twice"),
        ("allemande+mpich:colour=red", "no option is called 'colour'; expected one of: cluster, "),
        ("allemande+mpich:window=red", "`red` is not valid; expected an integer"),
        ("allemande+mpich:window", "'window' is not valid; expected option=value"),
        (
            "allemande+mpich:paths=4:path_policy=assigned",
            "joined by commas: 4,path_policy=assigned",
        ),
        ("allemande+mpich:window=7,window_packets=8", "window_packets is given twice"),
        ("allemande+mpich:by-itself,paths=2", "by-itself takes no options; expected cluster=off"),
        ("allemande+mpich:by-itself:paths=2", "by-itself takes no options"),
        ("allemande+mpich:paths=40", "`40` is not valid; expected one of auto, 1..32"),
        ("allemande+mpich:paths=04", "`04` is not valid"),
    ],
)
def test_bad_candidates_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_candidates([text])


def test_too_little_memory_is_said_before_anything_starts() -> None:
    def workload(size: int) -> Workload:
        return Workload({size: 1.0}, placement=one_per_host(32))

    check_memory(workload(200_000), 4000)
    with pytest.raises(BadInput, match=r"32 ranks with .* use smaller --sizes"):
        check_memory(workload(100_000_000), 4000)


def test_the_command_offers_everything_that_can_be_asked_for() -> None:
    assert [*OPTIONS, "timeline"] == [field.name for field in fields(RequestText)]


def test_a_request_is_read_from_words() -> None:
    usual = read_request(RequestText())
    assert usual == read_request(RequestText(sizes=SIZES, warmup=1, against=[]))
    assert (usual.cluster, usual.collective, usual.effort.calls_max) == (LAB, "alltoall", 200)
    asked = read_request(
        RequestText(sizes="1K,100", calls=500, seconds=60, pattern="drc", idle=3, timers="real")
    )
    assert (asked.sizes, asked.collective, asked.timers) == ([100, 1000], "alltoallv", "real")
    assert (asked.effort.calls_max, asked.effort.seconds_max) == (500, 60)
    assert asked.conditions.idle_ms == 3
    timeline = read_request(RequestText(timeline="1K", sizes="100,1000")).timeline
    assert timeline == TimelineRequest(1000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RequestText(scale=0), "--scale 0 is not valid; expected 0.0001 to 1000"),
        (RequestText(seed=-1), "--seed -1 is not valid"),
        (RequestText(cold=True, warmup=2), "--cold has no --warmup"),
        (RequestText(pattern="drc", matrix="zipf:1"), "leave out --matrix and --timeline"),
        (RequestText(pattern="drc", collective="ialltoall"), "needs --collective ialltoallv"),
        (RequestText(collective="allgather"), "collective 'allgather' is unknown"),
        (RequestText(timeline="1K,2K"), "--timeline 1K,2K is not valid"),
    ],
)
def test_bad_requests_are_refused(text: RequestText, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_request(text)
