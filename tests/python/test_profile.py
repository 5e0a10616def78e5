"""Profiles: written, read back, refused; made of what other commands write."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from tests.python.document_files import ROOT

from allemande.errors import BadInput
from allemande.model.profile import (
    MEASURED,
    SIGNATURE,
    Fit,
    LinkRate,
    Network,
    Parameter,
    PortBuffer,
    Profile,
    Sample,
    format_profile,
    load_profile,
    parse_profile,
    save_profile,
)
from allemande.model.samples import bench_samples, profile_of, simulated_samples, with_measured
from allemande.topology import load_cluster

HOSTS = tuple(f"h{i}" for i in range(16))


def full_profile() -> Profile:
    network = Network(
        hosts=HOSTS,
        version="0.1.0",
        date=datetime(2026, 11, 23, 12, tzinfo=UTC),
        mpi='Open "MPI" 5',
        time_scale=10.0,
    )
    return Profile(
        network=network,
        cluster=load_cluster("tam-8x2"),
        found={
            "leaf_groups": ["h[0-7]", "h[8-15]"],
            "buffering": "undetermined",
            "ok": True,
            "letters": 'b\u00fcff"er\U0001f600\x7f',
            "days": [date(2026, 11, 23), time(12, 30)],
        },
        parameters=(
            Parameter("alpha", 1e-5, "across", "mpi", low=9e-6, high=2e-5, samples=(1e-5, 2e-5)),
            Parameter("gap", 1e-6, bytes=1400),
        ),
        links=(LinkRate("h0", "leaf0", 99.5, 99.0, 100.0, lower_bound=True, samples=(99.5,)),),
        ports=(
            PortBuffer("leaf0", "h0", MEASURED, 43.0, 42.0, 44.0, pool="leaf0"),
            PortBuffer("leaf0", "core"),
        ),
        samples=(
            Sample("openmpi:pairwise", 1000, (0.1, 0.2), HOSTS[:8], timeouts=2),
            Sample("allemande+openmpi", 1000, (0.1,), ("h1", "h3"), way="udp pairwise"),
        ),
        fits=(Fit("openmpi", SIGNATURE, (1e-5, 8e-8, 1.5, 0.0, 1.0), 0.05, 4, 8, 100, 10000),),
    )


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    profile = full_profile()
    save_profile(profile, tmp_path / "net.toml")
    again = load_profile(tmp_path / "net.toml")
    assert again.cluster is not None and profile.cluster is not None
    assert again.cluster.to_toml() == profile.cluster.to_toml()
    assert replace(again, cluster=None) == replace(profile, cluster=None)


def test_a_network_without_a_cluster_is_a_profile() -> None:
    profile = Profile(Network(HOSTS, "1"))
    assert parse_profile(format_profile(profile), "x") == profile


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1\n\n[network]", "format = 3\n\n[network]", r"net.toml:2: key `format`"),
        ("mtu_bytes = 1500\ntime_scale", "mtu = 9\ntime_scale", r"`network.mtu`: is not known"),
        ("hosts = 8", "hosts = 17", r"`sample.hosts`: 17 is out of range"),
        ("times_s = [0.1, 0.2]", "times_s = [0.1, -0.2]", r"`sample.times_s`: -0.2 is out of"),
        ('state = "measured"', 'state = "guessed"', r"one of measured, not overloadable"),
        ('"openmpi:pairwise"', '""', r"net.toml:\d+: key `sample.candidate`: is empty"),
        ('version = "0.1.0"', 'version = ""', r"net.toml:\d+: key `network.version`: is empty"),
        ('members = "h[1,3]"', 'members = "h[1,1]"', r"`sample.members`: names `h1` twice"),
        (
            'to = "core"\nstate',
            'to = "rim"\nstate',
            r"net.toml:\d+: key `port.to`: `rim` is not in the clu",
        ),
        ("1.5, 0.0, 1.0]", "1.5]", r"has 3 numbers; expected 5"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, message: str) -> None:
    text = format_profile(full_profile())
    assert old in text
    with pytest.raises(BadInput, match=message):
        parse_profile(text.replace(old, new, 1), "net.toml")


def test_a_missing_file_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="allemande probe"):
        load_profile(tmp_path / "none.toml")


def test_no_profile_holds_what_is_no_number() -> None:
    with pytest.raises(BadInput, match="finite"):
        format_profile(Profile(Network(HOSTS, "1"), parameters=(Parameter("alpha", float("nan")),)))


def test_the_document_shows_a_profile() -> None:
    text = (ROOT / "docs" / "profile.md").read_text()
    shown = re.search(r"```toml\n(.*?)```", text, re.S)
    assert shown is not None
    profile = parse_profile(shown[1], "docs/profile.md")
    assert profile.samples[0].ranks == 16


def figure(**changes: Any) -> dict[str, Any]:
    return {
        "candidate": "openmpi:pairwise",
        "size": 1000,
        "times_s": [0.1, 0.2],
        "void": False,
        "wrong_bytes": 0,
        "tcp_timeouts": 1,
        **changes,
    }


def test_bench_figures_that_count_are_samples(tmp_path: Path) -> None:
    figures = [
        figure(),
        figure(size=2000, void=True),
        figure(size=3000, wrong_bytes=1),
        figure(size=4000, matrix="zipf:1"),
        figure(size=5000, times_s=[]),
        figure(size=6000, ranks_per_host=4),
    ]
    samples = bench_samples(json.dumps(figures), "bench.json", HOSTS)
    assert [one.bytes for one in samples] == [1000]
    assert samples[0].timeouts == 1
    profile = profile_of(load_cluster("tam-8x2"), [replace(samples[0], times_s=(9.0,))])
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(figures))
    assert with_measured(profile, str(path), HOSTS).samples == tuple(samples)
    path.write_text("[]")
    with pytest.raises(BadInput, match="no figure"):
        with_measured(profile, str(path), HOSTS)
    for wrong in ("{}", "[1]", "[{}]", "nonsense"):
        with pytest.raises(BadInput, match="expected what"):
            bench_samples(wrong, "bench.json", HOSTS)


def test_simulated_times_are_samples() -> None:
    entry = {"algorithm": "pairwise", "hosts": 16, "size": 1000, "time_s": 0.5, "matrix": None}
    samples = simulated_samples(json.dumps([entry]), "sim.json", HOSTS)
    assert samples[0].candidate == "allemande+openmpi:algorithm=pairwise"
    assert samples[0].times_s == (0.5,)
    with pytest.raises(BadInput, match="among 16 hosts; expected 8"):
        simulated_samples(json.dumps([entry]), "sim.json", HOSTS[:8])
