"""First choices on networks drawn at random lose nothing that the window could have kept."""

from __future__ import annotations

import pytest

from allemande.simulation.case import make_case, run_case
from allemande.study.network_choices import CHOOSERS, LIBRARY, choices_on, counts_for
from allemande.study.random_networks import random_network
from allemande.topology import tune

# Blocks whose last packet is short overflowed queues of 20 to 100 places here, with input, output
# and shared buffers: full packets never fill them.
SHORT_ENDS = (102, 6027, 6249, 6321, 6501, 6537, 6774)
# One packet per block: what the window let out at once overflowed the uplink, which is the limit.
SINGLE_PACKETS = ((6050, 1000), (6475, 200), (6613, 200), (6875, 500))


@pytest.mark.parametrize("seed", SHORT_ENDS)
def test_short_ends_of_blocks_lose_nothing(seed: int) -> None:
    network = random_network(seed)
    for size in (1500, 3000, 6000):
        result = run_case(make_case(network, "sync-shuffle", size))
        assert result.dropped == 0
    assert result.fraction_of_limit > 0.85


@pytest.mark.parametrize(("seed", "size"), SINGLE_PACKETS)
def test_blocks_of_one_packet_lose_nothing(seed: int, size: int) -> None:
    network = random_network(seed)
    tuning = tune(network)
    enough = tuning.single_window_packets or tuning.window_packets
    assert enough < tuning.window_packets_min
    assert run_case(make_case(network, "sync-shuffle", size)).dropped == 0
    wide = tuning.window_packets_min + 2
    assert run_case(make_case(network, "sync-shuffle", size, window_packets=wide)).dropped > 0


def test_everybody_chooses_near_the_best() -> None:
    for seed in (102, 6027, 6050):
        for one in choices_on(seed):
            for chooser in CHOOSERS:
                if counts_for(chooser, one.size):
                    assert one.off(chooser) <= 0.05


def test_the_library_combines_what_the_simulator_does_not_judge() -> None:
    assert not counts_for(LIBRARY, 200)
    assert counts_for(LIBRARY, 1000)
