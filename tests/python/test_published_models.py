"""`allemande predict --models`: what the papers' equations say, beside ours."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.model.profile import Network, Parameter, Profile, Sample, save_profile
from allemande.model.published import COLUMNS, Model, Published, published
from allemande.model.published_equations import (
    LogP,
    eq_1,
    eq_2,
    eq_5,
    eq_6,
    group_shuffle,
    parametrised_logp,
)
from allemande.model.samples import profile_of
from allemande.topology import load_cluster

MICRO = 1e-6
# 002 Table 5.2, with L = 0.3413 p + 264 of the output-buffered switch, of 16 processes.
TABLE_5_2 = LogP(12.5 * MICRO, 20 * MICRO, 7 * MICRO, 123 * MICRO, 269.46 * MICRO)
PARAMETERS = (
    *(Parameter(name, value * MICRO) for name, value in (("o_s", 12.5), ("o_r", 20), ("u_r", 7))),
    *(Parameter(name, value * MICRO) for name, value in (("g_s", 122), ("g_r", 123))),
    *(Parameter("latency", 264 * MICRO), Parameter("latency_per_host", 0.3413 * MICRO)),
    *(Parameter("gap", value * MICRO, bytes=size) for size, value in ((24, 10), (1472, 123))),
    *(Parameter("alpha", 1e-4, "leaf", "mpi"), Parameter("beta", 8.2e-8, "leaf", "mpi")),
)


def made(cluster: str = "tam-16x1", parameters: tuple[Parameter, ...] = PARAMETERS) -> Profile:
    known = load_cluster(cluster)
    return replace(profile_of(known, [], simulated=True), parameters=parameters)


def by_name(profile: Profile, size: int) -> dict[str, Model]:
    hosts = profile.network.hosts
    return {one.model: one for one in Published(profile, hosts).models(size)}


def test_the_equations_are_those_of_the_papers() -> None:
    net = TABLE_5_2
    assert eq_1(net, 1) == pytest.approx(net.o_s + net.latency + net.o_r + net.u_r)
    assert eq_2(net, 2, 5) == pytest.approx(eq_1(net, 5))
    # "72 % of the optimal bandwidth" at k = 4 on 16 processes.
    assert 4 * 15 * net.g / eq_6(net, 16, 4) == pytest.approx(0.72, abs=0.01)
    assert eq_6(net, 15, 4) == pytest.approx(15 * (4 * net.g + net.once))  # p rounds, p odd
    assert group_shuffle(net, 16, 4, 15) == pytest.approx(eq_2(net, 16, 4))
    assert group_shuffle(net, 16, 4, 1) == pytest.approx(eq_6(net, 16, 4))
    assert eq_5((1, 2, 3, 4, 100), 3, 99) == 2 * (1 + 99 * 6)
    assert eq_5((1, 2, 3, 4, 100), 3, 100) == 2 * (1 + 100 * 6 + 4)
    assert parametrised_logp({10: 1.0, 100: 5.0}, 7.0, 3, 255) == 2 * (10 + 1 + 45 / 90 * 4) + 7


def test_where_the_models_assumption_fails_is_said() -> None:
    assert TABLE_5_2.doubt == ""
    assert "processors" in replace(TABLE_5_2, o_s=100 * MICRO).doubt
    assert replace(TABLE_5_2, latency=100 * MICRO).doubt == "g >= L"


def test_models_stand_beside_ours_on_one_switch() -> None:
    models = by_name(made(), 144_800)
    shuffle = models["synchronous shuffle"]
    assert shuffle.time_s == pytest.approx(eq_2(TABLE_5_2, 16, 100))
    assert shuffle.ours_s == pytest.approx(shuffle.time_s, rel=0.05)
    assert shuffle.fails == ""
    assert models["group shuffle of 5"].candidate.endswith("algorithm=group-shuffle")
    claims = [models[name].time_s for name in ("start-ups", "bytes of a host")]
    assert models["start-ups and bytes"].time_s == pytest.approx(sum(claims))
    assert models["slowdown by p"].time_s == pytest.approx(1e-4 + 144_800 * 8.2e-8 * 16)


def test_on_several_leaves_what_the_models_leave_out_is_named() -> None:
    models = by_name(made("oversubscribed-8x4"), 100_000)
    for name in ("synchronous shuffle", "generalised pairwise"):
        assert "several leaves" in models[name].fails
        assert "of what the links need" in models[name].fails
    assert "of what the links need" in models["start-ups and bytes"].fails


def test_signatures_and_sites_are_there_where_the_profile_has_them() -> None:
    hosts = load_cluster("tam-16x1").hosts
    members = tuple(host.name for host in hosts)
    samples = tuple(
        Sample("openmpi:linear", size, (0.002 + size * 2e-6,), members)
        for size in (1000, 4000, 10_000, 50_000)
    )
    model = by_name(replace(made(), samples=samples), 10_000)["contention signature"]
    assert model.candidate == "openmpi:linear"
    assert model.ours_s == pytest.approx(model.time_s, rel=0.1)
    sites = by_name(made("grid-10-20"), 1000)
    assert sites["two sites, each host for itself"].source == "003 Eq 6"
    # 20 messages one after the other against two.
    assert sites["two sites, each host for itself"].time_s > 5 * sites["local group"].time_s


def test_what_the_profile_lacks_is_left_out_and_named() -> None:
    few = made(parameters=PARAMETERS[:3])
    assert published(few, [16], [1000]) == []
    lacks = " ".join(Published(few, few.network.hosts).left_out())
    for name in ("000 Eq 1", "pLogP", "003 Claims", "003 Eq 4", "003 Eq 6"):
        assert name in lacks


def test_json_and_csv_have_the_same_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_profile(made(), tmp_path / "net.toml")
    wanted = ["predict", str(tmp_path / "net.toml"), "--models", "--size", "1000,10KB"]
    assert main([*wanted, "--json", "-"]) == 0
    told = capsys.readouterr()
    rows = json.loads(told.out)
    assert "000 Eq 2" in told.err
    assert "left out: 003 Eq 4 and 5" in told.err
    assert main([*wanted, "--csv", "-"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [tuple(row) for row in rows] == [COLUMNS] * len(lines)
    assert [row["time_s"] for row in rows] == [float(line["time_s"]) for line in lines]


def test_models_go_with_neither_plot_nor_candidates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_profile(made(), tmp_path / "net.toml")
    path = str(tmp_path / "net.toml")
    assert main(["predict", path, "--models", "--plot", str(tmp_path / "a.svg")]) == 2
    assert "--models takes neither" in capsys.readouterr().err
    empty = Profile(Network(("a", "b"), "0"))
    save_profile(empty, tmp_path / "empty.toml")
    assert main(["predict", str(tmp_path / "empty.toml"), "--models"]) == 2
    assert "nothing that a model needs" in capsys.readouterr().err
