"""What Eq 6 and 7 of paper 003 say of exchanges between two sites, beside what they took (003
Figures 6 and 9).

sites: numbers of hosts, the smaller first; cluster: the network; compared: tables of a candidate,
its forecasts (FORECASTS), and the candidates `local` and `far` of which parameters are fitted.
Times are those of a file measured in the lab (lab, site_times.py):
part `grid` holds what is forecast, `site` the hosts of one site alone, of which gamma and delta are
fitted, `pair` two of these, for alpha and beta, and `far` one host of each site, for alpha_w and
beta_w. Instead of a file there may be [[run]]: part, cluster, candidate (an algorithm) and sizes,
which are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from allemande import _core
from allemande.framing import HEADER_BYTES, payload_bytes
from allemande.model.profile import Sample
from allemande.model.signature_fit import PointToPoint, SignatureFit, fit_signature
from allemande.quantities import format_size
from allemande.reproduce.cases import find_experiment_cluster
from allemande.reproduce.experiment import Experiment, Outcome, Row, Watcher
from allemande.reproduce.line_plot import draw_lines, dress_times
from allemande.reproduce.site_gain import PART, short_name
from allemande.reproduce.site_times import KeptSites, SitePoint, read_sites, simulate_sites
from allemande.topology import Cluster

# As the rows name them: the equation, and whether messages between the sites share the link.
FORECASTS: dict[str, tuple[Callable[[_core.TwoSites, float], float], bool]] = {
    "Eq 6": (_core.TwoSites.naive_s, False),
    "Eq 7 as printed": (_core.TwoSites.local_group_printed_s, False),
    "Eq 7, the true message between the sites": (_core.TwoSites.local_group_s, True),
    "Eq 7 corrected": (_core.TwoSites.local_group_corrected_s, True),
    "ours, local group": (_core.TwoSites.local_group_overlapped_s, True),
    "ours, multi-site": (_core.TwoSites.multi_site_s, True),
}


@dataclass(frozen=True)
class _Sites:
    """The parameters, as fitted."""

    n1: int
    n2: int
    signature: SignatureFit
    far: PointToPoint  # one message between the sites
    link_beta: float  # s per byte of payload on the link between the sites

    def two_sites(self, shared: bool) -> _core.TwoSites:
        """`shared`: a message between the sites has its part of the link."""
        fit = self.signature
        site = _core.Signature(
            fit.point_to_point.alpha,
            fit.point_to_point.beta,
            fit.gamma.value,
            fit.delta.value,
            float(fit.threshold),
        )
        beta = max(self.far.beta, self.n1 * self.link_beta) if shared else self.far.beta
        return _core.TwoSites(self.n1, self.n2, site, self.far.alpha, beta, self.link_beta)


def _line(points: Mapping[int, SitePoint]) -> PointToPoint:
    """alpha and beta from the smallest and the largest message, each the quickest of its calls: two
    hosts wait for each other, and other work on the machine makes them wait longer."""
    small, large = min(points), max(points)
    beta = (points[large].least_s - points[small].least_s) / (large - small)
    return PointToPoint(max(0.0, points[small].least_s - beta * small), beta)


def _link_beta(cluster: Cluster) -> float:
    """Seconds per byte on the slowest link between switches, in full frames."""
    hosts = {host.name for host in cluster.hosts}
    rate = min(
        min(link.rate_up_mbit_s, link.rate_down_mbit_s)
        for link in cluster.links
        if not {link.from_, link.to} & hosts
    )
    payload = payload_bytes(cluster)
    return 8e-6 / rate * cluster.framed_bytes(payload + HEADER_BYTES) / payload


def _fit(experiment: Experiment, kept: KeptSites, compared: Mapping[str, str]) -> _Sites:
    local = compared["local"]
    n1, n2 = experiment.data["sites"]
    cluster = find_experiment_cluster(experiment, experiment.data["cluster"])
    members = tuple(host.name for host in cluster.hosts[:n1])
    samples = [
        Sample(local, size, point.times_s, members)
        for size, point in kept.of("site", local).items()
    ]
    signature = fit_signature(experiment.figure, samples, _line(kept.of("pair", local)))
    far = _line(kept.of("far", compared["far"]))
    return _Sites(n1, n2, signature, far, _link_beta(cluster))


@dataclass(frozen=True)
class _Forecast:
    """One equation beside one candidate."""

    candidate: str
    name: str
    measured: Mapping[int, SitePoint]
    said_s: Mapping[int, float]

    def error(self, size: int) -> float:
        """Above 0: too long."""
        return self.said_s[size] / self.measured[size].mean_s - 1

    @property
    def median(self) -> float:
        return float(np.median([abs(self.error(size)) for size in self.measured]))

    @property
    def text(self) -> str:
        return f"{self.name}, {short_name(self.candidate)}"


def run_site_forecast(experiment: Experiment, workers: int, watcher: Watcher) -> Outcome:
    if "run" in experiment.data:
        kept = simulate_sites(experiment, workers, watcher)
    else:
        kept = read_sites(experiment.folder / experiment.data["lab"])
    return site_forecast_of_lab(experiment, kept)


def _forecasts(experiment: Experiment, kept: KeptSites) -> list[_Forecast]:
    out = []
    for compared in experiment.data["compared"]:
        sites = _fit(experiment, kept, compared)
        measured = kept.of(PART, compared["candidate"])
        for name in compared["forecasts"]:
            said, shared = FORECASTS[name]
            two = sites.two_sites(shared)
            times = {size: said(two, float(size)) for size in measured}
            out.append(_Forecast(compared["candidate"], name, measured, times))
    return out


def _parameters(experiment: Experiment, kept: KeptSites) -> list[Row]:
    published = experiment.data.get("published", {})
    rows = []
    for compared in {one["local"]: one for one in experiment.data["compared"]}.values():
        sites = _fit(experiment, kept, compared)
        fit, name = sites.signature, short_name(compared["local"])
        rows += [
            experiment.row(f"{name}: {text}", published.get(key), value)
            for text, key, value in (
                ("gamma", "gamma", fit.gamma.value),
                ("delta, ms", "delta_ms", fit.delta.value * 1e3),
                ("M, bytes", "threshold", float(fit.threshold)),
                ("alpha of the site, ms", "", fit.point_to_point.alpha * 1e3),
                ("alpha_w, ms", "", sites.far.alpha * 1e3),
                ("beta_w, ns", "", sites.far.beta * 1e9),
            )
        ]
    return rows


def site_forecast_of_lab(experiment: Experiment, kept: KeptSites) -> Outcome:
    """The figure of what was measured."""
    found = _forecasts(experiment, kept)
    rows = _parameters(experiment, kept)
    for one in found:
        rows.append(experiment.row(f"{one.text}: median error", None, one.median))
        rows += [
            experiment.row(f"{one.text}, {format_size(size)}: error", None, one.error(size))
            for size in one.measured
        ]
    if "run" not in experiment.data:
        rows.append(experiment.row("points that are void, part of all", None, kept.void))
    lines = [
        (
            f"{short_name(name)}, {'simulated' if 'run' in experiment.data else 'measured'}",
            list(points),
            [p.mean_s for p in points.values()],
        )
        for name, points in {one.candidate: one.measured for one in found}.items()
    ]
    lines += [(one.text, list(one.said_s), list(one.said_s.values())) for one in found]
    return Outcome(
        rows, lambda kind: draw_lines(experiment.title, lines, dress_times, kind, from_zero=False)
    )
