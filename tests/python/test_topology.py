"""Clusters from Python, the ready-made ones, `allemande topology`, and the stub of `_core`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import allemande._core
from allemande import cluster_files
from allemande.cli import main
from allemande.errors import BadInput
from allemande.quantities import format_size, parse_sizes
from allemande.report.cluster_outline import Outline
from allemande.report.cluster_report import format_limit
from allemande.topology import (
    Cluster,
    compress_hostlist,
    expand_hostlist,
    load_cluster,
    parse_cluster,
    tune,
)

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "clusters"
READY_MADE = [
    "grid-10-20",
    "grid-30-30",
    "grid-6-54",
    "grid-8-8-8",
    "leaf-spine-4x4",
    "oversubscribed-8x4",
    "shallow-4x2",
    "shallow-8x1",
    "tam-16x1",
    "tam-6x4",
    "tam-6x4-u412",
    "tam-8x1",
    "tam-8x2",
    "tam-8x2-u412",
    "tam-8x3",
    "tam-8x3-u412",
    "tam-8x4",
    "tam-8x4-u412",
]


def run(*arguments: str) -> int:
    return main(["topology", *arguments])


def test_ready_made_clusters_are_found_by_name_and_path() -> None:
    assert cluster_files.ready_made() == READY_MADE
    by_name = load_cluster("tam-8x4")
    by_path = load_cluster(ROOT / "clusters" / "tam-8x4.toml")
    assert by_name.to_toml() == by_path.to_toml()


def test_a_loaded_cluster_has_its_hosts_switches_and_links() -> None:
    cluster = load_cluster("tam-8x4")
    assert (cluster.name, cluster.mtu_bytes, cluster.link_header_bytes) == ("tam-8x4", 1500, 14)
    assert [host.name for host in cluster.hosts] == [f"h{i}" for i in range(32)]
    assert cluster.hosts[0].address == cluster.hosts[0].interface == ""
    assert [switch.name for switch in cluster.switches] == [
        "leaf0",
        "leaf1",
        "leaf2",
        "leaf3",
        "core",
    ]
    leaf, core = cluster.switches[0], cluster.switches[4]
    assert (leaf.architecture, leaf.switching, leaf.flow_control) == (
        "input",
        "cut-through",
        "drop",
    )
    assert (core.architecture, core.buffer_packets, core.backplane_mbit_s) == ("shared", 820, 22000)
    link = cluster.links[35]
    assert (link.from_, link.to) == ("leaf3", "core")
    assert (link.rate_up_mbit_s, link.rate_down_mbit_s, link.latency_us) == (1000, 1000, 0)
    assert (link.queue_up_packets, link.queue_down_packets) == (45, 820)
    assert link.bidirectional_cap_mbit_s == 0
    assert cluster.root_switch() == "core"
    assert cluster.schedule_hierarchy() == [[i // 8 for i in range(32)], [0] * 32]
    assert (cluster.bisection().links, cluster.bisection().mbit_s) == (2, 2000)


@pytest.mark.parametrize(
    ("size", "seconds"), [(100, 0.0035), (1000, 0.026), (10_000, 0.255), (200_000, 5.10)]
)
def test_limits_at_a_tenth_of_the_rates(size: int, seconds: float) -> None:
    cluster = load_cluster("tam-8x4").scaled(0.1)
    assert cluster.limit_seconds(None, size) == pytest.approx(seconds, rel=0.01)
    assert cluster.limit_seconds([host.name for host in cluster.hosts], size) == (
        cluster.limit_seconds(None, size)
    )
    assert max(level.seconds for level in cluster.level_limits(None, size)) == (
        cluster.limit_seconds(None, size)
    )


def test_unknown_host_lists_the_valid_ones() -> None:
    with pytest.raises(BadInput, match=r"no host `h32`; expected h\[0-31\]"):
        load_cluster("tam-8x4").limit_seconds(["h0", "h32"], 1)


@pytest.mark.parametrize("factor", [0.0, -1.0, 1e-9, float("nan"), float("inf")])
def test_scale_must_be_above_zero(factor: float) -> None:
    with pytest.raises(BadInput, match=r"expected a number from 0\.000001 to 1000000"):
        load_cluster("tam-8x4").scaled(factor)


def test_a_written_cluster_file_reads_back_equal() -> None:
    for name in READY_MADE:
        text = load_cluster(name).scaled(0.3).to_toml()
        assert parse_cluster(text, "text").to_toml() == text


def test_hostlists_expand_and_compress_to_the_same() -> None:
    assert expand_hostlist("h[0-2],x") == ["h0", "h1", "h2", "x"]
    assert compress_hostlist(["h0", "h1", "h2", "x"]) == "h[0-2],x"
    with pytest.raises(BadInput, match="expected"):
        expand_hostlist("h[2-1]")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("h 0", "--hosts: hostlist `h 0`: has a blank"),
        ("n\u0153ud[1-3]", "--hosts: hostlist `n\u0153ud[1-3]`: has the letter `\u0153` (U+0153)"),
        ("h\x1b", r"--hosts: hostlist `h\x1b`: has the character U+001B"),
        ("h\udcff" * 999, r"--hosts: hostlist `h\udcff"),
    ],
)
def test_a_list_that_holds_no_names_is_refused_by_its_letter(text: str, what: str) -> None:
    with pytest.raises(BadInput) as refused:
        expand_hostlist(text, "--hosts")
    message = str(refused.value)
    assert message.startswith(what)
    assert "; expected names of ASCII letters, digits and signs, separated by commas" in message
    assert len(message) < 600


def test_tuning_follows_the_cluster() -> None:
    tuning = tune(load_cluster("tam-8x4"))
    assert tuning.nu == pytest.approx(24 * 8 / 31)
    assert (tuning.window_packets, tuning.window_with_acks) == (4, 3)


@pytest.mark.parametrize("path", sorted((FIXTURES / "bad").glob("*.toml")), ids=lambda p: p.stem)
def test_refused_files_end_with_their_message(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = path.read_text().splitlines()[0].removeprefix("# expect: ")
    assert run(str(path)) == 2
    captured = capsys.readouterr()
    assert captured.err == f"allemande: {path}:{expected}\n"
    assert captured.out == ""


def test_unknown_name_lists_the_ready_made_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tam-8x5") == 2
    message = capsys.readouterr().err
    assert "did you mean tam-8x" in message
    assert all(name in message for name in READY_MADE)


@pytest.mark.parametrize("name", ["nowhere/c.toml", "c.toml", "..", "/"])
def test_a_missing_cluster_file_is_bad_input(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name) == 2
    assert "expected a cluster file" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["", "x", "-1", "0", "1.5", "10TB", "1,,2", "9" * 30])
def test_bad_sizes_say_what_is_expected(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tam-8x4", "--size", size) == 2
    assert "expected" in capsys.readouterr().err


def test_sizes_are_read_and_figures_shortened() -> None:
    assert parse_sizes("1000, 50KB,1MiB,2k") == [1000, 50_000, 1_048_576, 2000]
    assert [format_size(s) for s in (100, 1000, 2_000_000, 1500)] == [
        "100 B",
        "1 KB",
        "2 MB",
        "1500 B",
    ]
    assert [format_limit(s) for s in (5.1016, 0.0258, 0.128, 8.8e-7, 12.0)] == [
        "5.10 s",
        "25.8 ms",
        "128 ms",
        "0.88 us",
        "12.0 s",
    ]


def test_the_report_shows_tree_limits_and_window(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("oversubscribed-8x4", "--scale", "0.1", "--size", "50000") == 0
    text = capsys.readouterr().out
    assert "leaf3: h[24-31]  10 Mbit/s, queues 1000 up, 43 down" in text
    assert "uplink 50 Mbit/s, queues 45 up, 45 down" in text
    assert "Bisection: 2 links, 100 Mbit/s each way" in text
    assert "1.58 s" in text and "1.28 s" in text
    assert "warning: leaf[0-3]: 8 hosts can send 80 Mbit/s" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_every_good_cluster_file_gives_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    for name in [*READY_MADE, *map(str, (FIXTURES / "good").glob("*.toml"))]:
        assert run(name) == 0
        assert "Bisection" in capsys.readouterr().out
    assert run(str(FIXTURES / "good" / "everything.toml")) == 0
    text = capsys.readouterr().out
    assert "Further links:\n  spine1 - spine2" in text
    assert "more than one path" in text


GOOD = sorted((FIXTURES / "good").glob("*.toml"))


@pytest.mark.parametrize("cluster", [*READY_MADE, "fat-tree:16", "torus:3x3", *map(str, GOOD)])
def test_every_limit_names_the_links_that_give_it(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(cluster, "--size", "1000,50000") == 0
    _, _, table = capsys.readouterr().out.partition("pair:\n")
    header, *rows = [line for line in table.splitlines() if not line.startswith("warning:")]
    begin = header.index("busiest link")
    named = [row[begin:].split("  ")[0].strip() for row in rows if row[:begin].strip()]
    assert named and all(named), table


def test_all_links_of_a_host_together_limit_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(FIXTURES / "good" / "slow-and-fast-links.toml")) == 0
    out = capsys.readouterr().out
    assert re.search(r"host links, each way +h0 -> \* +110 Mbit/s", out)
    assert re.search(r"all paths together +h0 -> \* ", out)


def test_two_networks_of_the_same_hosts_are_both_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(FIXTURES / "good" / "slow-and-fast-links.toml")) == 0
    out = capsys.readouterr().out
    assert "mgmt  output-buffered" in out and "data  output-buffered" in out
    assert "h[0-7]  10 Mbit/s, queues 1000 up, 40 down" in out
    assert "h[0-7]  100 Mbit/s, queues 1000 up, 10 down" in out
    assert "as hosts have several links" in out
    assert "Further links" not in out


def _of_switches(links: str, switches: str) -> Cluster:
    hosts = 'format = 1\nname = "x"\n[[host]]\nname = "a,b"\n[[link]]\nfrom = "a,b"\nto = "l0"\n'
    text = f'{hosts}rate_mbit_s = 100\n[[switch]]\nname = "{switches}"\n{links}'
    return parse_cluster(text, "x.toml")


def _link(start: str, end: str) -> str:
    return f'[[link]]\nfrom = "{start}"\nto = "{end}"\nrate_mbit_s = 100\n'


def test_further_links_of_one_kind_share_a_line() -> None:
    links = "".join(_link(f"l{leaf}", f"s{spine}") for leaf in range(4) for spine in range(3))
    further = Outline(_of_switches(links, "l[0-3],s[0-2]")).further()
    text = "100 Mbit/s, queues 1000 up, 1000 down"
    assert further == [f"each of l[1-3] - each of s[1-2]  {text}"]


def test_parallel_links_are_counted() -> None:
    further = Outline(_of_switches(_link("l0", "s0") * 3, "l0,s0")).further()
    assert further == ["l0 - 2 links to s0  100 Mbit/s, queues 1000 up, 1000 down"]


def test_many_different_further_links_are_cut_short() -> None:
    links = "".join(
        _link(f"l{leaf}", "s0").replace("100", f"{100 + leaf}") * 2 for leaf in range(30)
    )
    *lines, last = Outline(_of_switches(links, "l[0-29],s0")).further()
    assert len(lines) == 20
    assert last == "and 10 more, all of which --json lists"


def test_one_host_needs_no_window(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text(_of_switches("", "l0").to_toml().replace("a,b", "a").replace("[a-b]", "a"))
    assert run(str(path)) == 0
    assert "Window: none, because one host has nobody to send to" in capsys.readouterr().out


def test_json_holds_the_facts_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tam-8x4", "--scale", "0.1", "--size", "200000,100", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["hosts"]) == 32 and len(facts["links"]) == 36
    assert facts["bisection"] == {"links": 2, "mbit_s": 200, "exact": True}
    assert [limit["size"] for limit in facts["limits"]] == [200_000, 100]
    assert facts["limits"][0]["seconds"] == pytest.approx(5.10, abs=0.005)
    assert {level["level"] for level in facts["limits"][0]["levels"]} == {
        "host link up",
        "host link down",
        "leaf uplink up",
        "leaf uplink down",
    }
    assert facts["warnings"] == []


def test_installed_package_carries_the_clusters(tmp_path: Path) -> None:
    """As a wheel lays it out: the package alone, with data/clusters inside."""
    package = tmp_path / "allemande"
    source = Path(cluster_files.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "lib"))
    shutil.copytree(ROOT / "clusters", package / "data" / "clusters")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from allemande.cluster_files import find_cluster_file; "
        "from allemande.topology import load_cluster; "
        "print(find_cluster_file('tam-6x4'), len(load_cluster('tam-6x4').hosts))"
    )
    result = subprocess.run(
        # Without site-packages, where the editable install would come first.
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == f"{package / 'data' / 'clusters' / 'tam-6x4.toml'} 24\n"


def test_stub_of_core_is_current(tmp_path: Path) -> None:
    """ALM_UPDATE_FIXTURES=1 writes the stub anew."""
    stub = Path(cluster_files.__file__).parent / "_core.pyi"
    fresh = stub if os.environ.get("ALM_UPDATE_FIXTURES") else tmp_path / "_core.pyi"
    subprocess.run(
        [
            *(sys.executable, "-m", "nanobind.stubgen", "--quiet", "--include-private"),
            *("--module", allemande._core.__name__, "--output-file", str(fresh)),
        ],
        check=True,
    )
    assert fresh.read_text() == stub.read_text()
