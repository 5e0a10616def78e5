"""Algorithms for several sites, in the preloaded library."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.mpi.mpi_job import MPIS, Bench
from tests.pairwise import parametrize_pairwise

from allemande.site_file import sites_option
from allemande.topology import load_cluster

FRAME = 1514
ALGORITHMS = ("local-group", "coordinator", "multi-site")


@pytest.fixture
def sites(bench: Bench, tmp_path: Path) -> str:
    """The lab's cluster file, each of whose leaves is a site."""
    text = bench.lab.cluster_file.read_text()
    for leaf, site in (("leaf0", "rennes"), ("leaf1", "nancy")):
        name = f'name = "{leaf}"\n'
        assert name in text
        text = text.replace(name, f'{name}site = "{site}"\n')
    file = tmp_path / "sites.toml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_byte_is_right_between_sites(bench: Bench, sites: str, algorithm: str) -> None:
    env = {"ALLEMANDE_ALGORITHM": algorithm, "ALLEMANDE_CLUSTER": sites}
    done = bench.run("correct", "sizes", env=env)
    done.check()
    assert done.stats["exchanges"] > 0
    assert done.stats["communicators_mpi"] == 0
    assert not done.warnings


@pytest.mark.parametrize("transport", ["udp", "mpi"])
def test_blocks_of_different_sizes_are_right_between_sites(
    bench: Bench, sites: str, transport: str
) -> None:
    env = {
        "ALLEMANDE_ALGORITHM": "multi-site",
        "ALLEMANDE_CLUSTER": sites,
        "ALLEMANDE_TRANSPORT": transport,
    }
    done = bench.run("blocks", "sizes", env=env)
    done.check()
    assert done.stats["exchanges"] > 0
    assert not done.warnings


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_bytes_cross_from_site_to_site_once(bench: Bench, sites: str, algorithm: str) -> None:
    env = {"ALLEMANDE_ALGORITHM": algorithm, "ALLEMANDE_CLUSTER": sites}
    size, few, many = 30_000, 5, 45

    def crossed(exchanges: int) -> list[int]:
        """Bytes at the two ports from site to site, what starts the job included.

        On a busy machine a packet is sent twice now and then: it is taken off.
        """
        before = bench.lab.stats()
        done = bench.run("repeat", str(exchanges), str(size), env=env)
        done.check()
        twice = done.stats["retransmitted"]
        assert twice < done.stats["packets"] / 20
        ports = bench.lab.stats().since(before).ports
        return [port.sent_bytes - twice * FRAME for port in ports if (port.peer == "core")]

    pairs = (len(bench.lab.hosts) // 2) ** 2
    least = (many - few) * pairs * load_cluster(sites).framed_bytes(size)
    for low, high in zip(crossed(few), crossed(many), strict=True):
        assert (high - low) / least == pytest.approx(1.025, abs=0.025)


@pytest.mark.parametrize(("algorithm", "messages"), [("local-group", 3), ("multi-site", 5)])
def test_ways_between_sites_go_over_messages_where_udp_does_not(
    bench: Bench, sites: str, algorithm: str, messages: int
) -> None:
    """Two sites of three ranks: each sends two messages within its site, one or three across."""
    env = {
        "ALLEMANDE_ALGORITHM": algorithm,
        "ALLEMANDE_CLUSTER": sites,
        "ALLEMANDE_TRANSPORT": "mpi",
    }
    done = bench.run("correct", "sizes", env=env)
    done.check()
    done = bench.run("repeat", "5", "1000", env=env)
    done.check()
    hosts = len(bench.lab.hosts)
    assert done.stats["exchanges"] == 5 * hosts
    assert done.stats["mpi_messages"] == 5 * hosts * messages


def test_ranks_of_sites_by_their_numbers(bench: Bench) -> None:
    hosts = len(bench.lab.hosts)
    env = {"ALLEMANDE_ALGORITHM": "multi-site", "ALLEMANDE_SITES": f"1,{hosts - 1}"}
    done = bench.run("repeat", "5", "30000", env=env)
    done.check()
    assert done.stats["exchanges"] == 5 * hosts
    assert done.stats["packets"] > 0


def test_hosts_of_sites_by_a_machine_file(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "machines"
    first, *others = bench.lab.hosts
    lines = ["# site nancy", *others, "# site rennes", f"{first}:1"]
    file.write_text("\n".join(lines) + "\n")
    env = {"ALLEMANDE_ALGORITHM": "multi-site", "ALLEMANDE_SITES": sites_option(file)}
    done = bench.run("repeat", "5", "30000", env=env)
    done.check()
    assert done.stats["exchanges"] == 5 * len(bench.lab.hosts)
    assert not done.warnings


def test_every_host_says_where_it_is(bench: Bench) -> None:
    program = bench.program("repeat")
    script = bench.script("at_a_site", f'ALLEMANDE_SITE=site$((RANK / 3)) exec {program} "$@"')
    done = bench.run(script, "5", "30000", env={"ALLEMANDE_ALGORITHM": "coordinator"})
    done.check()
    assert done.stats["exchanges"] == 5 * len(bench.lab.hosts)


def test_without_sites_calls_pass_through_and_say_why(bench: Bench) -> None:
    done = bench.run("repeat", "5", "30000", env={"ALLEMANDE_ALGORITHM": "local-group"})
    done.check()
    assert done.stats["exchanges"] == 0
    (warning,) = (line for line in done.warnings if "nothing says where the hosts are" in line)
    assert re.search("round trips between hosts, [^ ]+ ms to [^ ]+ ms, show no sites", warning)


@parametrize_pairwise(
    mpi=MPIS,
    algorithm=["auto", "multi-site"],
    case=[
        ("1,2", "ALLEMANDE_SITES=1,2 does not add up to the 6 ranks of this communicator"),
        ("a=h0/b=h[1-4]", "h5 (rank 5) is at none of the sites; expected all hosts of the job"),
        ("a=h[0-2]/b=h[2-5]", "host h2 is named at `a` and at `b`; expected each host once"),
        ("a=/b=h[0-5]", "`a=` says no site and its hosts"),
    ],
)
def test_sites_that_cannot_be_are_named(
    bench: Bench, algorithm: str, case: tuple[str, str]
) -> None:
    said, told = case
    env = {"ALLEMANDE_ALGORITHM": algorithm, "ALLEMANDE_SITES": said}
    done = bench.run("repeat", "2", "3000", env=env)
    done.check()
    assert any(told in line for line in done.warnings), done.warnings
