"""Simulated networks as the prober finds them, to hold plans of probed files against."""

from __future__ import annotations

from allemande.model.predict import Predictions
from allemande.probe.probing import Probing, Wishes
from allemande.probe.profile_output import make_profile
from allemande.probe.simulated_bed import SimulatedBed
from allemande.topology import Cluster

REPEAT = 16  # nothing disturbs a simulated network


def probed(cluster: Cluster) -> Predictions:
    """What a profile of this network, without samples of exchanges, lets expect among its hosts."""
    found = Probing(SimulatedBed.of_text(cluster.to_toml()), Wishes(repeat=REPEAT)).run()
    return Predictions(make_profile(found, None), [host.name for host in cluster.hosts])
