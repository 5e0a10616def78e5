"""Runs an experiment by its kind."""

from __future__ import annotations

from collections.abc import Callable

from allemande.reproduce.blocked_port import run_blocked_port
from allemande.reproduce.curve_figure import run_curves
from allemande.reproduce.designs import run_designs
from allemande.reproduce.experiment import Experiment, Outcome, Watcher
from allemande.reproduce.learning_figure import run_learning
from allemande.reproduce.network_figure import run_networks
from allemande.reproduce.pair_flows import run_pair_flows
from allemande.reproduce.port_losses import run_port_losses
from allemande.reproduce.probed_network import run_probed
from allemande.reproduce.route_loads import run_route_loads
from allemande.reproduce.signature_figure import run_signature
from allemande.reproduce.site_example import run_site_example
from allemande.reproduce.site_forecast import run_site_forecast
from allemande.reproduce.site_gain import run_site_gain
from allemande.reproduce.step_figure import run_steps
from allemande.reproduce.streams import run_streams
from allemande.reproduce.striping_figure import run_striping
from allemande.reproduce.time_curve import run_time_curve

RUNS: dict[str, Callable[[Experiment, int, Watcher], Outcome]] = {
    "curves": run_curves,
    "blocked-port": run_blocked_port,
    "pair-flows": run_pair_flows,
    "port-losses": run_port_losses,
    "signature": run_signature,
    "time-curve": run_time_curve,
    "probe": run_probed,
    "steps": run_steps,
    "networks": run_networks,
    "designs": run_designs,
    "route-loads": run_route_loads,
    "streams": run_streams,
    "striping": run_striping,
    "learning": run_learning,
    "site-example": run_site_example,
    "site-gain": run_site_gain,
    "site-forecast": run_site_forecast,
}


def run(experiment: Experiment, workers: int = 0, watcher: Watcher = None) -> Outcome:
    """Runs everything the figure needs."""
    return RUNS[experiment.kind](experiment, workers, watcher)
