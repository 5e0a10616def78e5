"""The prober on simulated networks, of which everything is known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.python.output_queues import output_queued

from allemande.cli import main
from allemande.model.profile import MEASURED, NOT_OVERLOADABLE, NOT_TRIED, load_profile
from allemande.probe import flow_sweep, host_ports, host_rates, leaf_groups, points, switches
from allemande.probe.clocks import Clocks, Reading
from allemande.probe.cluster_output import cluster_text
from allemande.probe.estimate import Estimate
from allemande.probe.network_findings import Findings
from allemande.probe.overload import PortFinding, confirmed
from allemande.probe.packet_flows import Experiment, Flow
from allemande.probe.probing import Probing, Wishes
from allemande.probe.queueing import HostLinks, Passage, carried_bit_s, departures, drained_bit_s
from allemande.probe.record import pack, unpack
from allemande.probe.simulated_bed import SimulatedBed
from allemande.reproduce.experiment import read_switches
from allemande.topology import load_cluster, parse_cluster, tune

ROOT = Path(__file__).resolve().parents[2]
# Bytes on a link, and microseconds: 002 Table 5.2.
OVERHEADS = {"overheads_ns": {"o_s": 12500, "o_r": 20000, "u_r": 7000, "g": 123000}}


def probed(cluster: str, **options: object) -> Findings:
    """Everything that packets tell; few repetitions."""
    return Probing(SimulatedBed(cluster, options), Wishes(repeat=16)).run()


def queued_bed(name: str) -> SimulatedBed:
    """This cluster, with output-queued switches."""
    return SimulatedBed.of_text(output_queued(name).to_toml())


def tree(sizes: list[int], uplink: float, core_queue: int = 45, core_rate: float = 0) -> str:
    """Leaves of these sizes; hosts are dealt out so that neighbours are on different leaves."""
    count = sum(sizes)
    left = list(sizes)
    leaf_of: list[int] = []
    while len(leaf_of) < count:
        for leaf, room in enumerate(left):
            if room > 0:
                left[leaf] -= 1
                leaf_of.append(leaf)
    lines = ["format = 1", 'name = "tree"', "[[switch]]", f'name = "s[0-{len(sizes) - 1}],core"']
    lines += ["[[host]]", f'name = "h[0-{count - 1}]"']
    for host, leaf in enumerate(leaf_of):
        lines += ["[[link]]", f'from = "h{host}"', f'to = "s{leaf}"', "rate_mbit_s = 100"]
        lines += ["queue_down_packets = 43"]
    lines += ["[[link]]", f'from = "s[0-{len(sizes) - 1}]"', 'to = "core"']
    lines += [f"rate_up_mbit_s = {uplink}", f"rate_down_mbit_s = {core_rate or uplink}"]
    lines += ["queue_up_packets = 45", f"queue_down_packets = {core_queue}"]
    return "\n".join(lines) + "\n"


def true_leaves(text: str) -> list[list[int]]:
    """Ranks by leaf, as the file says."""
    level = parse_cluster(text, "tree").schedule_hierarchy()[0]
    return sorted([h for h, leaf in enumerate(level) if leaf == one] for one in sorted(set(level)))


@pytest.mark.parametrize(
    ("name", "core"), [("tam-8x4-u412", 820), ("oversubscribed-8x4", 45), ("tam-8x3-u412", 820)]
)
def test_finds_rates_leaves_and_buffers(name: str, core: int) -> None:
    found = Probing(queued_bed(name), Wishes(repeat=16)).run()
    cluster = output_queued(name)
    uplink = next(link for link in cluster.links if link.to == "core").rate_up_mbit_s
    assert found.groups.leaves == true_leaves(cluster.to_toml())
    assert found.answers["leaf_switching"] == "store-and-forward"
    assert [one.value for one in found.up] == pytest.approx([1e8] * len(found.hosts), rel=0.02)
    for ports, rate, held in (
        (found.host_ports, 100, 43),
        (found.uplinks, uplink, 45),
        (found.downlinks, uplink, core),
    ):
        for one in ports:
            assert one.state == MEASURED and not one.lower_bound
            assert one.rate_bit_s is not None and one.buffer_packets is not None
            assert one.rate_bit_s.value == pytest.approx(rate * 1e6, rel=0.02)
            assert one.buffer_packets.value == pytest.approx(held, rel=0.05)
    again = parse_cluster(cluster_text(found), "probed")
    assert abs(tune(again, None).window_packets - tune(cluster, None).window_packets) <= 1


def test_far_uplinks_spoil_no_rate_and_are_in_the_cluster_file() -> None:
    """200 us at the hosts and 2 ms above: two receivers of a host are 4 ms apart."""
    text = tree([8, 8], 412.0)
    marks = ("rate_mbit_s = 100", "rate_mbit_s = 100\nlatency_us = 200")
    text = text.replace(*marks).replace("rate_up_mbit_s", "latency_us = 2000\nrate_up_mbit_s")
    found = Probing(SimulatedBed.of_text(text), Wishes(repeat=16)).run()
    assert [one.value for one in found.up] == pytest.approx([1e8] * 16, rel=0.02)
    links = parse_cluster(cluster_text(found), "probed").links
    assert {link.latency_us for link in links if link.to == "core"} == {2000}
    assert {link.latency_us for link in links if link.to != "core"} == {200}


def test_a_shaped_host_lets_a_lone_frame_pass_at_once() -> None:
    """Gigabit links behind hosts whose shapers keep to 100 Mbit/s."""
    text = tree([4, 4], 2000).replace("rate_mbit_s = 100\n", "rate_mbit_s = 1000\n")
    bed = SimulatedBed.of_text(text)
    assert host_rates.passes_at_once(bed, 1e8)
    assert not host_rates.passes_at_once(bed, 1e9)
    traces = bed.run(Experiment([Flow(0, 1, 4, bed.datagram_bytes)], 0.01)).traces()
    frame_s = 1514 * 8 / 1e8
    for at_once in (True, False):
        (left,) = departures(bed, traces, HostLinks([1e8] * 8, at_once))
        first = 0 if at_once else 1
        assert left == pytest.approx(np.arange(first, first + 4) * frame_s, abs=1e-8)


def test_fast_links_between_far_leaves_are_probed() -> None:
    """A train of packets is shorter than its way, 16 ms: all that cannot be told is left out."""
    text = tree([4, 4], 40_000.0).replace("rate_mbit_s = 100\n", "rate_mbit_s = 10000\n")
    text = text.replace("rate_up_mbit_s", "latency_us = 8000\nrate_up_mbit_s")
    found = Probing(SimulatedBed.of_text(text), Wishes(repeat=16)).run()
    assert [one.value for one in found.up] == pytest.approx([1e10] * 8, rel=0.02)
    assert parse_cluster(cluster_text(found), "probed").links


def test_no_latency_is_told_where_links_have_none() -> None:
    assert "latency_us" not in cluster_text(probed("shallow-4x2"))


@pytest.mark.parametrize(
    ("sizes", "uplink"),
    [([8, 8], 412), ([9, 4, 3], 250), ([4, 4, 8], 412), ([5, 3], 412), ([7, 5, 2], 130)],
)
def test_unequal_leaves_are_right_or_undetermined(sizes: list[int], uplink: float) -> None:
    text = tree(sizes, uplink)
    bed = SimulatedBed.of_text(text)
    probing = Probing(bed, Wishes(repeat=8))
    found = probing.run()
    assert found.groups.leaves in (None, true_leaves(text))
    if min(sizes) * 100 > uplink:
        assert found.groups.leaves is not None


@pytest.mark.parametrize("dealt", [False, True])
def test_leaves_behind_inputs_are_told(dealt: bool) -> None:
    """Packets wait at the inputs of these switches. `dealt`: neighbours are on different leaves."""
    text = load_cluster("tam-8x3").to_toml()
    if dealt:  # the same switches; another order of hosts
        text = tree([8, 8, 8], 412).replace("[[host]]", 'architecture = "input"\n[[host]]')
    found = Probing(SimulatedBed.of_text(text), Wishes(repeat=8)).run()
    assert found.groups.leaves == true_leaves(text)
    assert found.answers["leaf_architecture"] == "input"
    rates = [one.rate_bit_s.value for one in found.host_ports if one.rate_bit_s]
    held = [one.buffer_packets.value for one in found.host_ports if one.buffer_packets]
    assert rates == pytest.approx([1e8] * len(found.hosts), rel=0.02)
    assert held == pytest.approx([43] * len(found.hosts), abs=1)


@pytest.mark.parametrize("seed", range(4))
def test_finds_leaves_where_processors_pause(seed: int) -> None:
    """A full frame takes 0.12 ms here; each host stands still for 2 ms, 8 ms apart."""
    jitter = {"jitter": "pause", "jitter_us": 2000.0, "jitter_interval_us": 8000.0, "seed": seed}
    bed = SimulatedBed("shallow-4x2", jitter)
    found = leaf_groups.find_leaf_groups(bed, HostLinks([1e8] * 8))
    assert found.leaves == [[0, 1, 2, 3], [4, 5, 6, 7]], found.reason


@pytest.mark.parametrize("seed", range(2))
def test_ports_of_hosts_that_pause_are_right_or_unknown(seed: int) -> None:
    jitter = {"jitter": "pause", "jitter_us": 2000.0, "jitter_interval_us": 8000.0, "seed": seed}
    bed = SimulatedBed("shallow-4x2", jitter)
    links = HostLinks([1e8] * 8)
    found = host_ports.measure_host_ports(bed, links, [[0, 1, 2, 3], [4, 5, 6, 7]])
    rates = [one.rate_bit_s.value for one in found if one.rate_bit_s]
    held = [one.buffer_packets.value for one in found if one.buffer_packets]
    assert len(rates) >= 4 and rates == pytest.approx([1e8] * len(rates), rel=0.02)
    # These hosts note late, too, when packets came.
    assert held == pytest.approx([10] * len(held), abs=2)


def port(rate: float, queue: float) -> PortFinding:
    """One that was measured."""
    return PortFinding(MEASURED, Estimate.of([rate]), buffer_packets=Estimate.of([queue]))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ((1e8, 15), (1e8, 10), (1e8, 10)),
        ((1e8, 15), (1e8, 15), (1e8, 15)),  # it is another kind of port
        ((1e8, 15), (1e8, 20), (1e8, None)),
        ((9.5e7, 10), (9.0e7, 10), (None, 10)),
        ((1e8, 11), None, (1e8, 11)),  # a packet more is no difference
    ],
)
def test_a_port_that_differs_is_believed_where_it_says_so_twice(
    first: tuple[float, float],
    second: tuple[float, float] | None,
    told: tuple[float | None, float | None],
) -> None:
    asked: list[int] = []

    def again(numbers: Sequence[int]) -> list[PortFinding]:
        asked.extend(numbers)
        assert second is not None
        return [port(*second) for _ in numbers]

    one = confirmed([port(1e8, 10), port(*first), port(1e8, 10)], again)[1]
    assert asked == ([] if second is None else [1])
    assert (one.rate_bit_s and one.rate_bit_s.value) == told[0]
    assert (one.buffer_packets and one.buffer_packets.value) == told[1]
    assert one.state == (MEASURED if told[1] else NOT_TRIED)


def test_a_port_drains_at_its_rate_though_senders_pause() -> None:
    """Two bursts; the port idles between them, and once a kernel stamps late."""
    bits, service_s = 1000.0, 1e-3
    left = np.concatenate([np.arange(100) * 5e-4, 0.5 + np.arange(100) * 5e-4])
    came = np.concatenate([np.arange(100) * service_s, 0.5 + np.arange(100) * service_s]) + 1e-5
    came[140] += 0.9e-3
    packets = Passage(left, came, np.zeros(200, np.int64))
    rates = drained_bit_s(packets, bits, 0.0, 1.0)
    assert len(rates) == 8
    assert rates == pytest.approx([1e6] * 8, rel=0.001)
    assert carried_bit_s(packets, bits, 0.0, 1.0) < 0.5e6


@pytest.mark.parametrize("architecture", ["input", "shared", "output"])
@pytest.mark.parametrize("switching", ["cut-through", "store-and-forward"])
def test_tells_kinds_of_switches_apart(architecture: str, switching: str) -> None:
    text = f"""format = 1
name = "star"
[[switch]]
name = "s"
architecture = "{architecture}"
switching = "{switching}"
{"buffer_packets = 120" if architecture == "shared" else ""}
[[host]]
name = "h[0-11]"
[[link]]
from = "h[0-11]"
to = "s"
rate_mbit_s = 100
latency_us = 20
queue_down_packets = {120 if architecture == "shared" else 43}
"""
    links = HostLinks([1e8] * 12)
    for seed in range(1, 4):
        jitter = {"jitter": "pause", "jitter_us": 20.0, "jitter_interval_us": 1000.0, "seed": seed}
        bed = SimulatedBed.of_text(text, jitter)
        found = switches.find_buffering(bed, range(12), links)
        lone = points.measure_lone(bed, points.choose_pairs(None, 12), 24, links)
        assert found.architecture == architecture
        if architecture == "shared":
            assert found.pool_packets == pytest.approx(120, rel=0.05)
        assert switches.find_switching(lone.byte_s["leaf"], links) == switching


@pytest.mark.parametrize(("name", "latency_us"), [("ibm-326", 154.4), ("ibm-416", 269.5)])
def test_overheads_of_the_published_cluster(name: str, latency_us: float) -> None:
    path = str(ROOT / "experiments" / "clusters" / f"{name}.toml")
    found = probed(path, **OVERHEADS)
    assert found.groups.leaves is None
    micro = {one.name: one.estimate.value * 1e6 for one in found.quantities if one.level == "leaf"}
    expected = {"o_s": 12.5, "o_r": 20, "u_r": 7, "g_s": 123, "latency": latency_us}
    for key, value in expected.items():
        assert micro[key] == pytest.approx(value, rel=0.02), key
    assert found.answers["ordering_holds"] == "yes"


def test_flows_across_the_published_uplinks() -> None:
    module = read_switches()["ibm-8275-326"]["module"]
    modules = [{"from": f"leaf{k}", "to": "core", **module} for k in (0, 1)]
    path = ROOT / "experiments" / "000-fig-6" / "cluster.toml"
    bed = SimulatedBed(path, {"modules": modules})
    across, local = flow_sweep.measure(bed, range(10), range(10, 20), HostLinks([1e8] * 20))
    flows, peak = max(across, key=lambda point: point[1])
    assert 10 <= flows <= 14
    assert peak / 8e6 == pytest.approx(103, rel=0.03)
    assert local[-1][1] == pytest.approx(local[0][1] * len(local), rel=0.01)


def test_what_cannot_be_overloaded_has_no_number() -> None:
    found = Probing(queued_bed("tam-8x2-u412"), Wishes(repeat=16)).run()
    for one in found.downlinks:
        assert one.state == NOT_OVERLOADABLE
        assert one.buffer_packets is None


def test_without_overload_queues_are_left_alone() -> None:
    found = Probing(SimulatedBed("tam-8x2-u412"), Wishes(overload=False, repeat=8)).run()
    assert found.groups.leaves is None and not found.host_ports and not found.uplinks
    assert [one.value for one in found.up] == pytest.approx([1e8] * 16, rel=0.02)


def test_command_writes_profile_and_cluster(tmp_path: Path) -> None:
    net, cluster, picture = (tmp_path / name for name in ("net.toml", "c.toml", "p.svg"))
    figures = tmp_path / "f.json"
    given = tmp_path / "given.toml"
    given.write_text(output_queued("tam-8x2-u412").to_toml())
    arguments = ["probe", "--simulate", str(given), "--set", "seed=2", "--repeat", "16"]
    outputs = [*("-o", net), *("--cluster-out", cluster), *("--plot", picture)]
    assert main([*arguments, *map(str, outputs), "--json", str(figures)]) == 0
    profile = load_profile(net)
    assert profile.network.simulated and len(profile.network.hosts) == 16
    assert {port.state for port in profile.ports} == {MEASURED, NOT_OVERLOADABLE}
    assert profile.cluster is not None and profile.cluster.to_toml()
    assert load_cluster(cluster).schedule_hierarchy()[0] == [0] * 8 + [1] * 8
    assert json.loads(figures.read_text())["leaves"][1][0] == "h8"
    assert picture.read_text().startswith("<?xml")
    # What was probed is found again.
    again = probed(str(cluster))
    assert again.groups.leaves == [list(range(8)), list(range(8, 16))]
    assert again.uplinks[0].buffer_packets is not None
    assert again.uplinks[0].buffer_packets.value == pytest.approx(46, abs=1.5)


@pytest.mark.parametrize(
    "arguments",
    [["--repeat", "0"], ["--budget", "soon"], ["--set", "seed=2"], ["--plot", "x.pdf"]],
)
def test_refuses_what_makes_no_sense(arguments: list[str]) -> None:
    assert main(["probe", *arguments]) == 2


# In a process of its own: it begins MPI, and programs that this process starts would inherit that.
def test_one_process_alone_measures_nothing() -> None:
    command = [sys.executable, "-m", "allemande", "probe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--simulate" in done.stderr


def test_logs_survive_packing() -> None:
    log = (bytes(range(32)) * 3, bytes(range(40)) * 2, bytes(16), 5)
    assert unpack(pack(log)) == log
    assert unpack(pack((b"", b"", b"", 0))) == (b"", b"", b"", 0)


def test_clocks_drift_evenly() -> None:
    def look(ahead: int, error: int = 100) -> list[Reading | None]:
        return [Reading(0, 0), Reading(ahead, error)]

    clocks = Clocks(2)
    assert clocks.due(0) and clocks.at(0) == [0, 0]
    clocks.note(0, look(1000))
    clocks.note(10_000_000_000, look(2000))
    assert clocks.at(20_000_000_000) == [0, 3000]
    assert not clocks.due(11_000_000_000) and clocks.due(20_000_000_000)
    # Not heard of, or read badly: as before.
    assert not clocks.note(20_000_000_000, [Reading(0, 0), None])
    assert not clocks.note(20_000_000_000, look(5_000_000, 4_000_000))
    assert clocks.at(20_000_000_000) == [0, 3000]
    # Another look soon after takes the place of the one before if it is better.
    assert clocks.note(20_100_000_000, look(3100, 150))
    assert clocks.note(20_200_000_000, look(3120, 90))
    assert clocks.at(20_200_000_000) == [0, 3120]
    # What the readings may be wrong by is no drift.
    clocks.note(30_200_000_000, look(3200))
    assert clocks.at(40_200_000_000) == [0, 3200]
