"""How switches queue and forward, by what the prober sees of simulated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.python.test_probe import tree, true_leaves

from allemande.model.profile import MEASURED, UNDETERMINED
from allemande.probe.blocked_leaves import (
    Known,
    find_blocked_leaves,
    leaf_behind_input,
    leaf_of_full_pool,
)
from allemande.probe.network_findings import Findings
from allemande.probe.overload import PortFinding, Stream, overload
from allemande.probe.passing import CUT_THROUGH, STORE_AND_FORWARD, core_switching, passing_s
from allemande.probe.probing import Probing, Wishes
from allemande.probe.queueing import HostLinks
from allemande.probe.simulated_bed import SimulatedBed
from allemande.probe.small_packets import FREE, UNCLEAR, WAITS, Matrix
from allemande.reproduce.experiment import read_switches
from allemande.study.probed_answers import OPEN, QUESTIONS, WRONG, answers_on
from allemande.study.random_networks import random_network
from allemande.study.random_trees import random_tree
from allemande.topology import load_cluster

ARCHITECTURES = ("input", "output", "shared")


def pattern(
    ranks: int, target: int, senders: list[int], waits: Callable[[int, int], bool]
) -> tuple[Matrix, Known]:
    """Who waits by a rule, and who was asked."""
    known = np.ones((ranks, ranks), bool)
    np.fill_diagonal(known, False)
    known[:, target] = False
    known[senders] = False
    found = np.array(
        [[WAITS if waits(i, j) else FREE for j in range(ranks)] for i in range(ranks)],
        np.int8,
    )
    return np.where(known, found, FREE).astype(np.int8), known


def test_a_blocked_input_shows_the_leaf() -> None:
    leaf = {0, 3, 6}
    waits, known = pattern(9, 0, [3, 4, 5], lambda i, j: i not in leaf and j in leaf)
    assert leaf_behind_input(waits, known, 0) == [0, 3, 6]
    assert leaf_of_full_pool(waits, known, 0) is None
    waits[1, 6] = FREE  # one pair that contradicts
    assert leaf_behind_input(waits, known, 0) is None
    waits[1, 6] = UNCLEAR  # one that says nothing
    assert leaf_behind_input(waits, known, 0) == [0, 3, 6]


def test_a_full_pool_shows_the_leaf() -> None:
    leaf = {0, 1, 2}
    waits, known = pattern(9, 0, [4, 5, 8], lambda i, j: i in leaf or j in leaf)
    assert leaf_of_full_pool(waits, known, 0) == [0, 1, 2]
    assert leaf_behind_input(waits, known, 0) is None
    # As where a full uplink is in the way of one leaf: no pattern of the target's.
    waits, known = pattern(9, 0, [4, 5, 8], lambda i, j: i in {3, 6, 7} and j in {1, 2})
    assert leaf_of_full_pool(waits, known, 0) is None


def test_nobody_waits_and_no_leaf_is_told() -> None:
    waits, known = pattern(8, 0, [1, 2, 3], lambda i, j: False)
    assert leaf_behind_input(waits, known, 0) is None
    assert leaf_of_full_pool(waits, known, 0) is None


def test_a_head_never_outruns_its_tail() -> None:
    rates = [1e8, 1e9, 1e9, 1e8]
    through = [CUT_THROUGH] * 3
    # The frame leaves the last switch when its head came there, just before its tail.
    assert passing_s(1e4, rates, through) == pytest.approx(2e-4 - 1e-5)
    assert passing_s(1e4, rates, [STORE_AND_FORWARD] * 3) == pytest.approx(2.2e-4)
    assert passing_s(1e4, [1e8] * 4, through) == pytest.approx(1e-4)


@pytest.mark.parametrize("leaf", [CUT_THROUGH, STORE_AND_FORWARD])
@pytest.mark.parametrize("core", [CUT_THROUGH, STORE_AND_FORWARD])
def test_how_the_core_forwards(leaf: str, core: str) -> None:
    byte_s = passing_s(8, [1e8, 4e8, 4e8, 1e8], [leaf, core, leaf])
    assert core_switching(byte_s, 1e8, [4e8, 4e8], leaf) == core
    assert core_switching(byte_s, 1e8, [4e8, 4e8], UNDETERMINED) == UNDETERMINED
    # Links a hundred times as fast as the hosts' hardly show.
    byte_s = passing_s(8, [1e8, 1e10, 1e10, 1e8], [leaf, core, leaf])
    assert core_switching(byte_s, 1e8, [1e10, 1e10], leaf) == UNDETERMINED


def test_links_of_which_a_bound_is_known_leave_the_core_open_where_it_may_be_either() -> None:
    stored = passing_s(8, [1e8, 1e9, 1e9, 1e8], [CUT_THROUGH, STORE_AND_FORWARD, CUT_THROUGH])
    through = passing_s(8, [1e8, 1e9, 1e9, 1e8], [CUT_THROUGH] * 3)
    span = [7e8, float("inf")]
    assert core_switching(stored, 1e8, span, CUT_THROUGH) == UNDETERMINED
    assert core_switching(through, 1e8, span, CUT_THROUGH) == CUT_THROUGH


def switches(leaf: str, core: str, sizes: list[int]) -> str:
    """A tree of these kinds of switches. Shared buffers are as large as some of its queues."""
    text = tree(sizes, 412, core_queue=90)
    names = f'name = "s[0-{len(sizes) - 1}],core"\n'
    pool = {"s": "buffer_packets = 120\n", "core": "buffer_packets = 90\n"}
    tables = [
        f'name = "{name}"\narchitecture = "{kind}"\n{pool[key] if kind == "shared" else ""}'
        for key, name, kind in (("s", f"s[0-{len(sizes) - 1}]", leaf), ("core", "core", core))
    ]
    return text.replace(names, "[[switch]]\n".join(tables))


def held_by(found: Sequence[PortFinding]) -> list[float]:
    return [one.buffer_packets.value for one in found if one.buffer_packets]


@pytest.mark.parametrize("leaf", ARCHITECTURES)
@pytest.mark.parametrize("core", ARCHITECTURES)
def test_leaf_and_core_are_told_apart(leaf: str, core: str) -> None:
    text = switches(leaf, core, [8, 8, 8])
    found = Probing(SimulatedBed.of_text(text), Wishes(repeat=8)).run()
    assert found.groups.leaves in (None, true_leaves(text))
    if found.groups.leaves is None:
        assert found.answers["leaf_architecture"] in (leaf, UNDETERMINED)
        return
    assert found.answers["leaf_architecture"] == leaf
    assert found.answers["core_architecture"] in (core, UNDETERMINED)
    for ports, held in ((found.host_ports, 43), (found.uplinks, 45), (found.downlinks, 90)):
        known = held_by(ports)
        assert known == pytest.approx([held] * len(known), abs=3)


def told(leaf: str, core: str) -> Findings:
    text = switches(leaf, core, [8, 8, 8])
    return Probing(SimulatedBed.of_text(text), Wishes(repeat=8)).run()


@pytest.mark.parametrize("core", ARCHITECTURES)
def test_everything_is_found_behind_inputs(core: str) -> None:
    """What an output-queued switch shows, an input-buffered one shows as well."""
    found = told("input", core)
    assert found.groups.leaves is not None
    assert found.answers["core_architecture"] == core
    assert all(one.state == MEASURED for one in [*found.uplinks, *found.downlinks])


def test_what_inputs_hold_grows_with_the_senders() -> None:
    """An input-buffered switch has room for each of them, an output-queued one for the port."""
    links = HostLinks([1e8] * 16)
    held: dict[str, list[float]] = {}
    for kind in ("input", "output"):
        bed = SimulatedBed.of_text(switches(kind, "output", [8, 8]))
        for count in (2, 4):
            senders = [2 * k for k in range(1, count + 1)]  # of the target's leaf
            streams = [Stream(sender, 0, 2.7 / 4 if count == 4 else 0.9) for sender in senders]
            (one,) = overload(bed, [streams], links)
            assert one.buffer_packets is not None
            held.setdefault(kind, []).append(one.buffer_packets.value)
    assert held["output"] == pytest.approx([43, 43], abs=1)
    assert held["input"][1] - held["input"][0] == pytest.approx(2 * 43, abs=2)


@pytest.mark.parametrize("name", ["tam-8x4", "tam-6x4"])
def test_the_papers_own_switches(name: str) -> None:
    """Gigabit uplinks by modules that take their time for each packet: no host can fill one with
    full frames, and short ones do."""
    cluster = load_cluster(name)
    switch = read_switches()["ibm-8275-326"]
    leaves = [one.name for one in cluster.switches if one.name != "core"]
    modules = [{"from": leaf, "to": "core", **switch["module"]} for leaf in leaves]
    bed = SimulatedBed.of_text(cluster.to_toml(), {**switch["options"], "modules": modules})
    found = Probing(bed, Wishes(repeat=8)).run()
    assert found.groups.leaves == true_leaves(cluster.to_toml())
    assert found.answers["leaf_architecture"] == switch["architecture"]
    assert found.answers["leaf_switching"] == switch["switching"]
    assert found.answers["core_architecture"] == "shared"
    assert found.core_pool_packets == pytest.approx(820, abs=2)
    for some, held in (
        (found.host_ports, switch["queue_packets"]),
        (found.uplinks, switch["uplink_packets"]),
        (found.downlinks, 820),
    ):
        assert held_by(some) == pytest.approx([held] * len(some), abs=2)


@pytest.mark.parametrize("seed", range(2))
def test_leaves_behind_inputs_of_hosts_that_pause_are_right_or_unknown(seed: int) -> None:
    jitter = {"jitter": "pause", "jitter_us": 2000.0, "jitter_interval_us": 8000.0, "seed": seed}
    text = load_cluster("tam-8x2-u412").to_toml()
    found = find_blocked_leaves(SimulatedBed.of_text(text, jitter), HostLinks([1e8] * 16))
    assert found.leaves in (None, true_leaves(text))


# Networks on which an answer was once wrong: leaves without uplinks that fill, hosts alone on a
# leaf, leaves of three or four hosts, pools that many ports exhaust, three levels, a pool of the
# core that ports exhaust in turns, small packets that are lost behind a full input, hosts that
# share an uplink while their rates are measured.
NETWORKS = (6, 10, 25, 30, 37, 5040, 9007, 9049)
TREES = (23, 36, 44, 45, 47)
# Switches that pause the ones before them: packets wait there, whatever buffers they have.
PAUSING = (5027, 5063)


@pytest.mark.parametrize("seed", NETWORKS)
def test_answers_about_networks_are_right_or_open(seed: int) -> None:
    assert WRONG not in answers_on(random_network, seed).values()


@pytest.mark.parametrize("seed", TREES)
def test_answers_about_trees_are_right_or_open(seed: int) -> None:
    found = Counter({name: one == WRONG for name, one in answers_on(random_tree, seed).items()})
    assert set(found) <= set(QUESTIONS)
    assert found["leaves"] == found["leaf_architecture"] == found["leaf_switching"] == 0


@pytest.mark.parametrize("seed", PAUSING)
def test_switches_that_pause_are_not_told_from_inputs(seed: int) -> None:
    answers = answers_on(random_tree, seed)
    assert WRONG not in answers.values()
    assert answers["leaf_architecture"] == OPEN
