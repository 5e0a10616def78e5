"""Predictions and plans: what they rest on, how they are written, and that they hold."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from allemande import _core
from allemande.cli import main
from allemande.errors import BadInput
from allemande.model.fits import with_fits
from allemande.model.growth import grown
from allemande.model.planning import make_plan
from allemande.model.predict import COLUMNS, Predictions, Row, predict
from allemande.model.profile import (
    Network,
    Parameter,
    Profile,
    Sample,
    format_profile,
    save_profile,
)
from allemande.model.samples import profile_of, simulated_candidate
from allemande.model.ways import own_candidates, way_of
from allemande.report.prediction_plot import crossovers, render
from allemande.simulation.case import make_case, run_case
from allemande.study.random_sites import random_sites
from allemande.topology import load_cluster, parse_cluster

CLUSTER = "tam-8x2"
SIZES = (1000, 10_000, 50_000)
LINK_PARAMETERS = (
    Parameter("alpha", 1e-4, "across", "mpi"),
    Parameter("beta", 8.2e-8, "across", "mpi"),
)


def simulated(algorithm: str, size: int, members: tuple[str, ...]) -> Sample:
    result = run_case(make_case(CLUSTER, algorithm, size, hosts=list(members)))
    return Sample(simulated_candidate(algorithm), size, (result.time_s,), members)


@pytest.fixture(scope="module")
def profile() -> Profile:
    cluster = load_cluster(CLUSTER)
    hosts = tuple(host.name for host in cluster.hosts)
    samples = [
        simulated(algorithm, size, hosts[:ranks])
        for algorithm in ("sync-shuffle", "group-shuffle")
        for ranks in (8, 16)
        for size in SIZES
    ]
    stock = [
        Sample("openmpi:linear", size, (0.004 + size * 3e-6,), hosts)
        for size in (1000, 4000, 10_000, 50_000)
    ]
    made = profile_of(cluster, [*samples, *stock], mpi="Open MPI 5.0.11", simulated=True)
    return replace(made, parameters=LINK_PARAMETERS)


@pytest.fixture(scope="module")
def path(profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> str:
    found = tmp_path_factory.mktemp("profile") / "net.toml"
    save_profile(profile, found)
    return str(found)


def test_candidates_are_named_as_in_bench() -> None:
    assert way_of("allemande+openmpi:algorithm=pairwise") == "udp pairwise"
    assert way_of("openmpi") == "library"
    for candidate in (
        "openmpi:pairwise",
        "allemande+mpich",
        "allemande+openmpi:algorithm=combine",
        "allemande+openmpi:algorithm=pairwise,window_packets=3",
    ):
        assert way_of(candidate) == ""
    cluster = load_cluster(CLUSTER)
    ways = own_candidates(cluster, [host.name for host in cluster.hosts], "mpich")
    by_name = {way.algorithm: way for way in ways}
    assert by_name["sync-shuffle"].key == "udp sync-shuffle@balanced"
    assert by_name["grid:4x4"].candidate == "allemande+mpich:algorithm=combine"
    assert by_name["grid:4x4"].shape.phases == 2


def test_held_out_times_of_ours_are_met(profile: Profile) -> None:
    hosts = profile.network.hosts
    for algorithm, off in (("sync-shuffle", 0.03), ("group-shuffle", 0.1)):
        for ranks, size in ((12, 20_000), (16, 20_000), (8, 5000)):
            real = simulated(algorithm, size, hosts[:ranks]).times_s[0]
            rows = predict(profile, [ranks], [size])
            name = simulated_candidate(algorithm)
            said = next(row for row in rows if row.candidate == name)
            assert said.time_s == pytest.approx(real, rel=off), (algorithm, ranks, size)


def test_what_a_prediction_rests_on(profile: Profile) -> None:
    rows = {row.candidate: row for row in Predictions(profile, profile.network.hosts).rows(10_000)}
    shuffle = rows["allemande+openmpi:algorithm=sync-shuffle"]
    assert shuffle.basis == "measured"
    assert rows["allemande+openmpi:algorithm=pairwise"].basis == "extrapolated"
    assert rows["openmpi:linear"].basis == "measured"
    assert rows["allemande+openmpi"].time_s == shuffle.time_s
    between = {row.candidate: row for row in predict(profile, [16], [20_000])}
    assert between["openmpi:linear"].basis == "fitted"
    for row in rows.values():
        assert row.low_s <= row.time_s <= row.high_s
        assert row.limit_s is not None


def test_more_hosts_than_there_are(profile: Profile) -> None:
    """16 hosts on two leaves are known: 32 are those of the same leaves, twice as many."""
    known = {row.candidate: row for row in predict(profile, [16], [20_000])}
    more = {row.candidate: row for row in predict(profile, [32], [20_000])}
    assert more.keys() == known.keys()
    for name, row in more.items():
        assert (row.ranks, row.basis) == (32, "extrapolated")
        assert row.low_s < row.time_s < row.high_s
        assert row.high_s / row.low_s > known[name].high_s / known[name].low_s
    shuffle = more[simulated_candidate("sync-shuffle")]
    twice = run_case(make_case("tam-8x4", "sync-shuffle", 20_000)).time_s
    assert shuffle.low_s < twice < shuffle.high_s
    with pytest.raises(BadInput, match="2000 hosts; the profile has 16"):
        predict(profile, [2000], [1000])
    with pytest.raises(BadInput, match="17 hosts; the profile has 16"):
        make_plan(profile, 17, [1000])


def test_a_grown_network_goes_on_as_it_is(profile: Profile) -> None:
    more = grown(profile, 27)
    assert more.cluster is not None
    assert len(more.network.hosts) == len(set(more.network.hosts)) == 27
    assert more.network.hosts[:16] == profile.network.hosts
    level = more.cluster.schedule_hierarchy()[0]
    assert sorted(level.count(leaf) for leaf in set(level)) == [3, 8, 8, 8]
    assert load_cluster(CLUSTER).limit_seconds(None, 1000) == pytest.approx(
        more.cluster.limit_seconds(list(more.network.hosts[:16]), 1000)
    )
    unknown = grown(replace(profile, cluster=None), 20)
    assert len(unknown.network.hosts) == 20 and unknown.cluster is None


def test_samples_of_a_library_become_a_signature(profile: Profile) -> None:
    fits = {fit.candidate: fit for fit in with_fits(profile).fits}
    alpha, beta, gamma, delta, _ = fits["openmpi:linear"].coefficients
    assert (alpha, beta) == (1e-4, 8.2e-8)
    assert gamma == pytest.approx(3e-6 / 15 / 8.2e-8, rel=0.02)
    assert delta == pytest.approx(0.004 / 15 - 1e-4, rel=0.05)


@pytest.mark.parametrize(
    ("cluster", "algorithm", "ways"),
    [
        ("tam-8x2", "combine", {100: "udp grid:4x4"}),
        ("grid-10-20", "multi-site", {8: "udp multi-site-combined", 8192: "udp multi-site"}),
        ("tam-8x2", "group-shuffle", {8192: "udp group-shuffle"}),
    ],
)
def test_samples_are_of_the_way_that_was_taken_at_their_size(
    cluster: str, algorithm: str, ways: dict[int, str]
) -> None:
    known = load_cluster(cluster)
    hosts = tuple(host.name for host in known.hosts)
    candidate = simulated_candidate(algorithm)
    samples = [Sample(candidate, size, (1.0, 1.0), hosts) for size in ways]
    profile = profile_of(known, samples)
    assert {one.bytes: one.way for one in with_fits(profile).samples} == ways
    for size in ways:
        (row,) = (
            row for row in Predictions(profile, hosts).rows(size) if row.candidate == candidate
        )
        assert (round(row.time_s, 9), row.basis) == (1.0, "measured")


def test_a_sample_of_combined_blocks_is_of_the_shape_that_pays() -> None:
    text = """
format = 1
name = "one-switch"
[[switch]]
name = "s"
[[host]]
name = "h[0-143]"
[[link]]
from = "h[0-143]"
to = "s"
rate_mbit_s = 1000
queue_down_packets = 45
"""
    cluster = parse_cluster(text, "one-switch")
    hosts = tuple(host.name for host in cluster.hosts)
    candidate = simulated_candidate("combine")
    profile = profile_of(cluster, [Sample(candidate, size, (1.0, 1.0), hosts) for size in (8, 100)])
    ways = {one.bytes: one.way for one in with_fits(profile).samples}
    assert ways == {8: "udp grid:6x4x6", 100: "udp grid:12x12"}


def test_the_command_writes_an_array(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", path, "--hosts", "16", "--size", "50000", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {row["size"] for row in rows} == {50_000}
    assert [row["time_s"] for row in rows] == sorted(row["time_s"] for row in rows)
    assert main(["predict", path, "--hosts", "8,16", "--size", "1KB", "--csv", "-"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["ranks"] for row in table} == {"8", "16"}


@pytest.mark.parametrize("size", [8192, 65536])
def test_ways_between_sites_are_foreseen_from_the_network_alone(size: int) -> None:
    cluster = load_cluster("grid-8-8-8")
    predictions = Predictions(
        profile_of(cluster, simulated=True), [host.name for host in cluster.hosts]
    )
    rows = {row.candidate: row for row in predictions.rows(size)}
    assert predictions.rows(size)[0].way.startswith("udp multi-site")
    assert rows["allemande+openmpi"].way.startswith("udp multi-site")
    for algorithm, far in (("multi-site", 0.02), ("local-group", 0.04)):
        row = rows[f"allemande+openmpi:algorithm={algorithm}"]
        real = run_case(make_case(cluster, algorithm, size)).time_s
        assert row.time_s == pytest.approx(real, rel=far)
        assert row.latency_s == pytest.approx(0.005)


@pytest.mark.parametrize(("seed", "size"), [(24, 8000), (134, 2500)])
def test_between_sites_what_is_foreseen_to_be_a_little_faster_is_taken(
    seed: int, size: int
) -> None:
    """The synchronous shuffle loses packets here, and takes 4.8 and 11 times as long."""
    cluster = random_sites(seed)
    predictions = Predictions(
        profile_of(cluster, simulated=True), [host.name for host in cluster.hosts]
    )
    rows = predictions.rows(size)
    assert rows[0].way.startswith("udp multi-site")
    shuffle = next(row for row in rows if "sync-shuffle" in row.way)
    assert rows[0].time_s < shuffle.time_s < 1.12 * rows[0].time_s


def test_too_few_samples_without_a_network_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lies beyond the samples is not told, and what to measure is."""
    hosts = tuple(f"h{rank}" for rank in range(32))
    samples = [
        Sample("openmpi:pairwise", size, (1e-5 * size,), hosts[:16]) for size in (1000, 4000)
    ]
    network = Network(hosts=hosts, version="1")
    made = Profile(network=network, samples=tuple(samples), parameters=LINK_PARAMETERS)
    path = tmp_path / "few.toml"
    save_profile(made, path)
    why = "2 sizes at 16 hosts; expected 4 or more; measure 10 KB, 50 KB as well"
    for command in (
        ["predict", str(path), "--size", "2000"],
        ["predict", str(path), "--hosts", "16", "--size", "8000"],
        ["predict", str(path), "--hosts", "16", "--size", "8000", "--against", "openmpi:pairwise"],
        ["plan", str(path), "--hosts", "16", "--size", "2000,8000"],
    ):
        assert main(command) == 2
        assert why in capsys.readouterr().err
    assert main(["predict", str(path), "--hosts", "16", "--size", "2000,8000", "--json", "-"]) == 0
    printed = capsys.readouterr()
    assert why in printed.err
    assert [row["size"] for row in json.loads(printed.out)] == [2000]


def row(candidate: str, size: int, time_s: float) -> Row:
    return Row(candidate, 4, size, time_s, time_s / 2, 2 * time_s, time_s / 3, None, None, "fitted")


def test_crossovers_lie_between_sizes() -> None:
    rows = [row("a", 100, 1.0), row("b", 100, 2.0), row("a", 10_000, 5.0), row("b", 10_000, 4.0)]
    (found,) = crossovers(rows)
    assert (found.before, found.after) == ("a", "b")
    assert found.size == pytest.approx(1000)
    assert render(rows, "title", "svg").startswith(b"<?xml")


def test_a_plan_ranks_and_sets_the_window(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", path, "--size", "10000", "--json", "-"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["window_packets"] == 4  # 1.2 are under way, its switches cut through
    assert plan["choices"][0]["candidate"].startswith("allemande+openmpi")
    assert plan["ranking"][0]["size"] == 10_000


def test_a_plan_writes_the_network_as_a_cluster_file(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", path, "--size", "1000", "--cluster-out", "-"]) == 0
    assert (
        parse_cluster(capsys.readouterr().out, "out").to_toml() == load_cluster(CLUSTER).to_toml()
    )
    alone = tmp_path / "alone.toml"
    save_profile(Profile(network=Network(hosts=("a", "b"), version="1")), alone)
    assert main(["plan", str(alone), "--cluster-out", "-"]) == 2
    assert "expected a [cluster] table for --cluster-out" in capsys.readouterr().err


@pytest.mark.parametrize(("cluster", "hosts"), [("oversubscribed-8x4", 20), ("tam-8x2", None)])
def test_a_plan_tells_where_uplinks_become_the_limit(cluster: str, hosts: int | None) -> None:
    """However many hosts it is made for: the profile's hosts are counted."""
    made = make_plan(profile_of(load_cluster(cluster), []), 8, [1000])
    assert made.saturates_from == hosts
    assert made.as_json()["saturates_from"] == hosts


def test_what_was_measured_outranks_predictions(profile: Profile, tmp_path: Path) -> None:
    figures = [
        {"candidate": "openmpi:linear", "size": 10_000, "times_s": [1e-3, 1.1e-3], "void": False}
    ]
    path = tmp_path / "net.toml"
    save_profile(profile, path)
    bench = tmp_path / "bench.json"
    bench.write_text(json.dumps(figures))
    out = tmp_path / "plan.json"
    assert (
        main(["plan", str(path), "--size", "10000", "--measured", str(bench), "--json", str(out)])
        == 0
    )
    choice = json.loads(out.read_text())["choices"][0]
    assert choice["candidate"] == "openmpi:linear"
    assert choice["time_s"] == pytest.approx(1.05e-3)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"ranks": 8}, "measured among 8 ranks; expected 16"),
        ({"limit_s": 1e-6}, "measured on another network, whose links allow 1 µs for 10 KB"),
        ({"times_s": ["x"]}, "`times_s` of an entry are no numbers"),
    ],
)
def test_what_was_measured_elsewhere_is_refused(
    entry: dict[str, object],
    message: str,
    path: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench = tmp_path / "bench.json"
    bench.write_text(
        json.dumps([{"candidate": "openmpi:linear", "size": 10_000, "times_s": [1e-3]} | entry])
    )
    assert main(["plan", path, "--size", "10000", "--measured", str(bench)]) == 2
    assert message in capsys.readouterr().err


def test_a_plan_takes_the_first_of_its_ranking(profile: Profile) -> None:
    """Not the shortest time: a forecast that is a little shorter is not trusted."""
    made = make_plan(profile, 16, [10_000])
    first = row("a", 1, 1.0)
    assert replace(made, rows=(first, row("b", 1, 0.95))).best() == {1: first}


def test_leaves_that_could_not_be_told_are_a_doubt(
    profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.toml"
    save_profile(replace(profile, found={"leaf_groups": "undetermined"}), path)
    for command in ("predict", "plan"):
        assert main([command, str(path), "--size", "10000"]) == 0
        assert "not know which hosts share a leaf" in capsys.readouterr().err


def test_unknown_leaves_leave_more_open(profile: Profile) -> None:
    """Only extrapolated times are less certain; measured and fitted ones are as before."""
    unknown = replace(profile, found={"leaf_groups": "undetermined"})
    known = {one.candidate: one for one in predict(profile, [16], [10_000])}
    found = predict(unknown, [16], [10_000])
    assert {one.basis for one in found} == {"measured", "extrapolated"}
    for one in found:
        wider = 1.4 if one.basis == "extrapolated" else 1.0
        assert one.high_s == pytest.approx(wider * known[one.candidate].high_s)


def test_without_a_network_the_signature_tells_what_lies_between_sizes() -> None:
    """003 Eq 5: 15 (alpha + m beta gamma + delta from 8 KB on)."""
    hosts = tuple(f"h{rank}" for rank in range(16))

    def exact_s(size: int) -> float:
        return 15 * (1e-4 + size * 8.2e-8 * 1.2 + (4e-4 if size >= 8_000 else 0))

    samples = tuple(
        Sample("openmpi:pairwise", size, (exact_s(size),), hosts)
        for size in (1000, 4000, 8000, 40_000, 100_000)
    )
    made = Profile(
        network=Network(hosts=hosts, version="1"), samples=samples, parameters=LINK_PARAMETERS
    )
    (found,) = predict(made, [16], [20_000])
    assert found.time_s == pytest.approx(exact_s(20_000), rel=0.01)
    (measured,) = predict(made, [16], [4000])
    assert measured.basis == "measured"


def test_a_plan_says_when_others_may_be_as_fast(profile: Profile) -> None:
    made = make_plan(profile, 16, [10_000])
    assert not replace(made, rows=(row("a", 1, 1.0), row("b", 1, 1.5))).is_certain(1)
    close = replace(row("a", 1, 1.0), way="udp a")
    assert replace(made, rows=(close, replace(row("b", 1, 9.0), way="udp b"))).is_certain(1)


def test_a_shape_of_other_ranks_than_members_is_refused() -> None:
    cluster = load_cluster(CLUSTER)
    hosts = [host.name for host in cluster.hosts]
    way = _core.own_ways(cluster, hosts[:8])[0]
    assert _core.demand(cluster, hosts[:8], way.shape, 1000).packets > 0
    with pytest.raises(BadInput, match="of 8 ranks; expected one of 16"):
        _core.demand(cluster, hosts, way.shape, 1000)


def test_a_predictor_refuses_other_hosts_and_shapes_of_other_ranks() -> None:
    cluster = load_cluster(CLUSTER)
    hosts = [host.name for host in cluster.hosts]
    way = _core.own_ways(cluster, hosts)[0]
    profile = _core.parse_profile(format_profile(profile_of(cluster, [])), "profile")
    predictor = _core.Predictor(profile, hosts[:4])
    with pytest.raises(BadInput, match="of 16 ranks; expected one of 4"):
        predictor.predict(way.key, 1000, way.shape)
    with pytest.raises(BadInput, match="the profile has no host nosuch"):
        _core.Predictor(profile, [hosts[0], "nosuch"])
