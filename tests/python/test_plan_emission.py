"""`allemande plan --emit`: predictions become tuning files and schedules."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python.readers import goal, plan_json

from allemande.cli import main
from allemande.formats import openmpi_rules
from allemande.model.profile import Sample, save_profile
from allemande.model.samples import profile_of
from allemande.topology import load_cluster

SIZES = (1000, 4000, 10_000, 50_000)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """Pairwise is twice as fast as Open MPI's own choice below 4 KB, half as fast from 10 KB on."""
    cluster = load_cluster("tam-8x2")
    hosts = tuple(host.name for host in cluster.hosts)
    samples = [
        sample
        for size in SIZES
        for sample in (
            Sample("openmpi", size, (0.01,), hosts),
            Sample("openmpi:pairwise", size, (0.005 if size <= 4000 else 0.02,), hosts),
        )
    ]
    path = tmp_path / "net.toml"
    save_profile(profile_of(cluster, samples, mpi="Open MPI 5.0.11"), path)
    return str(path)


def test_a_plan_becomes_rules(profile: str, tmp_path: Path) -> None:
    out = tmp_path / "rules"
    sizes = ",".join(map(str, SIZES))
    assert main(["plan", profile, "--size", sizes, "--emit", "openmpi-rules", "-o", str(out)]) == 0
    rules = openmpi_rules.read(out.read_text(), "rules")
    found = {size: rules.find(16, size) for size in (400, *SIZES, 200_000)}
    assert {size for size, rule in found.items() if rule is not None and rule.number == 2} == {
        1000,
        4000,
    }
    assert (tmp_path / "rules.env").is_file()


def test_a_plan_becomes_the_schedule_of_our_fastest_way(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.json"
    words = ["plan", profile, "--size", "50000", "--emit"]
    assert main([*words, "json", "-o", str(out)]) == 0
    found = plan_json.read(out.read_text(), "plan.json")
    assert (found.head["ranks"], found.head["bytes"]) == (16, 50_000)
    assert found.head["identity"] in capsys.readouterr().out
    assert main([*words, "goal", "-o", str(tmp_path / "plan.goal")]) == 0
    assert goal.read((tmp_path / "plan.goal").read_text(), "goal").ranks == 16
    assert "LogGOPSim -L" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--emit", "goal"), "--emit and --output belong together"),
        (("--emit", "goal", "-o", "-"), "a schedule has one size, and the plan 2"),
        (("--emit", "mpich-selection", "-o", "-"), "no times of mpich in it"),
        (("--emit", "xml", "-o", "-", "--size", "1000"), "no format is called 'xml'"),
    ],
)
def test_what_a_plan_cannot_be_is_told(
    profile: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", profile, "--size", "1000,10000", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_rankfile_has_every_host_once_in_an_order_of_the_seed(
    profile: str, tmp_path: Path
) -> None:
    def lines(seed: str) -> list[str]:
        out = tmp_path / seed
        words = ["plan", profile, "--size", "1000", "--no-simulate", "--emit", "rankfile"]
        assert main([*words, "--seed", seed, "-o", str(out)]) == 0
        return out.read_text().splitlines()

    first, again, other = lines("1"), lines("1"), lines("2")
    assert first == again != other
    ranks = [line.partition("=")[0] for line in first]
    assert ranks == [f"rank {rank}" for rank in range(16)]
    hosts = [line.partition("=")[2] for line in first]
    assert hosts != sorted(hosts)
    assert sorted(hosts) == sorted(f"h{host} slot=0" for host in range(16))
