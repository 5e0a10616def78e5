"""What the models of the five papers say of a measured network, beside what ours say.

Each model has its source, what it assumes, and where that does not hold on this network. A model
whose parameters the profile lacks is left out, and `left_out` says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil

from allemande import _core
from allemande.framing import HEADER_BYTES, IP_UDP_BYTES
from allemande.model.fits import point_to_point
from allemande.model.predict import Predictions, Row
from allemande.model.profile import SIGNATURE, Fit, Profile
from allemande.model.published_equations import (
    LogP,
    eq_1,
    eq_2,
    eq_5,
    eq_6,
    group_shuffle,
    parametrised_logp,
)
from allemande.model.signature_fit import PointToPoint, proposition_1, slowdown
from allemande.model.ways import library_of, our_candidate

COLUMNS = (
    *("model", "source", "ranks", "size", "time_s"),
    *("candidate", "ours_s", "assumes", "fails"),
)
NEAR = 0.1  # how far a model may be from ours before that is named
ONE_MESSAGE = "one message"
LOGP_NAMES = ("o_s", "o_r", "u_r", "g_s", "g_r", "latency")


@dataclass(frozen=True)
class Model:
    """What one model of a paper says of one exchange. `candidate`: what it is of, if anything."""

    model: str
    source: str
    ranks: int
    size: int  # bytes per pair
    time_s: float
    candidate: str
    ours_s: float | None  # what `predict` says of the candidate; of a bound: what the links need
    assumes: str
    fails: str  # where that does not hold here; empty: nowhere that is seen

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def _value(profile: Profile, name: str, level: str) -> float | None:
    levels = (level, "leaf" if level == "across" else "across")
    for one in levels:
        for found in profile.parameters:
            if (found.name, found.level, found.carrier) == (name, one, "udp"):
                return found.value
    return None


def _logp(profile: Profile, level: str, ranks: int) -> LogP | None:
    values = {name: _value(profile, name, level) for name in LOGP_NAMES}
    o_s, o_r, u_r, g_s, g_r, latency = (values[name] for name in LOGP_NAMES)
    if o_s is None or o_r is None or u_r is None or latency is None:
        return None
    if g_s is None and g_r is None:
        return None
    growth = _value(profile, "latency_per_host", level) or 0.0
    return LogP(o_s, o_r, u_r, max(g_s or 0.0, g_r or 0.0), latency + growth * ranks)


def _gaps(profile: Profile) -> dict[int, float]:
    """g(m) by payload of a packet, of our header too."""
    return {
        max(1, one.bytes - HEADER_BYTES): one.value
        for one in profile.parameters
        if one.name == "gap" and one.carrier == "udp" and one.bytes > 0
    }


class Published:
    """The models of one profile among some of its hosts, one rank each."""

    def __init__(self, profile: Profile, members: Sequence[str]) -> None:
        self._ours = Predictions(profile, members)
        self._profile = self._ours.profile
        self._members = self._ours.members
        self._ranks = len(members)
        self._level = "across" if self._leaves() != 1 else "leaf"
        self._logp = _logp(profile, self._level, self._ranks)
        of_library = point_to_point(profile)
        self._link = of_library or point_to_point(profile, "udp")
        # What stands with every figure of alpha and beta.
        self._link_doubt = "" if of_library else "alpha and beta are of datagrams, not of MPI"
        self._library = library_of(profile)

    def left_out(self) -> list[str]:
        """Models of which the profile says too little, and what they need."""
        out = []
        if self._logp is None:
            out.append(
                f"000 Eq 1, 2 and 6, 002's group shuffle: they need {', '.join(LOGP_NAMES)} of udp"
            )
        if not _gaps(self._profile) or self._logp is None:
            out.append("pLogP: it needs gap (g(m)) of udp, and the parameters of 000")
        if self._link is None:
            out.append("003 Claims 1 to 3, Proposition 1, Eq 1 and 3: they need alpha and beta")
        if not self._signatures():
            out.append("003 Eq 4 and 5: they need four sizes or more of an MPI library's exchange")
        if self._sites() is None:
            out.append("003 Eq 6 and 7: they need two sites, and alpha and beta")
        return out

    def models(self, size: int) -> list[Model]:
        """Every model at this size, in the order of the papers."""
        rows = {row.candidate: row for row in self._ours.rows(size)}
        found = [
            *self._packet_models(size),
            *self._message_models(size),
            *self._signature_models(size),
            *self._site_models(size),
        ]
        return [self._beside_ours(one, rows) for one in found]

    def _leaves(self) -> int:
        """How many leaves the hosts hang on; 1 where no network is known."""
        cluster = self._profile.cluster
        if cluster is None:
            return 1
        wanted = set(self._members)
        ends = [(link.from_, link.to) for link in cluster.links]
        return len({b for a, b in ends if a in wanted} | {a for a, b in ends if b in wanted})

    def _model(
        self,
        name: str,
        source: str,
        size: int,
        time_s: float,
        candidate: str,
        assumes: str,
        doubts: Iterable[str],
    ) -> Model:
        fails = "; ".join(doubt for doubt in doubts if doubt)
        return Model(name, source, self._ranks, size, time_s, candidate, None, assumes, fails)

    def _beside_ours(self, model: Model, rows: Mapping[str, Row]) -> Model:
        """With what ours say of the same, and the distance where it is more than NEAR."""
        row, limit = rows.get(model.candidate), self._ours.limit_s(model.size)
        ours = row.time_s if row is not None else None
        fails = [model.fails] if model.fails else []
        if model.model == ONE_MESSAGE:
            return model
        if not model.candidate:
            ours = limit
        if limit is not None and model.time_s < limit * (1 - NEAR):
            fails.append(f"{model.time_s / limit:.2g} of what the links need")
        elif row is not None and abs(model.time_s / row.time_s - 1) > NEAR:
            fails.append(f"{model.time_s / row.time_s:.2g} of what is {row.basis}")
        return replace(model, ours_s=ours, fails="; ".join(fails))

    def _packet_models(self, size: int) -> Iterator[Model]:
        net = self._logp
        if net is None:
            return
        payload = self._profile.network.mtu_bytes - IP_UDP_BYTES - HEADER_BYTES
        packets = max(1, ceil(size / payload))
        ranks, library = self._ranks, self._library
        several = "hosts hang on several leaves: ports between switches are not in it"
        shared = several if self._leaves() > 1 else ""
        tail = "" if size % payload == 0 else "the last packet of a message counts as a full one"
        loss = "nothing is lost; O_s + O_r + U_r < g < L"
        yield self._model(
            ONE_MESSAGE, "000 Eq 1", size, eq_1(net, packets), "", loss, (net.doubt, tail)
        )
        yield self._model(
            "synchronous shuffle",
            "000 Eq 2",
            size,
            eq_2(net, ranks, packets),
            our_candidate(library, "sync-shuffle"),
            f"one switch; {loss}",
            (net.doubt, shared, tail),
        )
        rounds = "rounds begin together; one switch; " + loss
        yield self._model(
            "generalised pairwise",
            "000 Eq 6",
            size,
            eq_6(net, ranks, packets),
            our_candidate(library, "pairwise"),
            rounds,
            (net.doubt, shared, tail),
        )
        omega = len(_core.make_plan(ranks, 0, "group-shuffle").phase_rounds[0][0][0])
        yield self._model(
            f"group shuffle of {omega}",
            "002, our reading",
            size,
            group_shuffle(net, ranks, packets, omega),
            our_candidate(library, "group-shuffle"),
            rounds,
            (net.doubt, shared, tail),
        )
        gaps = _gaps(self._profile)
        if gaps:
            yield self._model(
                "pLogP",
                "003 VI.E, with g(m) and L(p)",
                size,
                parametrised_logp(gaps, net.latency, ranks, size),
                our_candidate(library, "sync-shuffle"),
                "one switch; nothing is lost; gaps of messages follow one another",
                (net.doubt, shared),
            )

    def _message_models(self, size: int) -> Iterator[Model]:
        link = self._link
        if link is None:
            return
        ranks = self._ranks
        hosts = "hosts alone limit the exchange"
        for name, source, time_s, assumes in (
            ("start-ups", "003 Claim 1", (ranks - 1) * link.alpha, hosts),
            ("bytes of a host", "003 Claim 2", (ranks - 1) * size * link.beta, hosts),
            (
                *("start-ups and bytes", "003 Claim 3, Proposition 1, Eq 1"),
                *(proposition_1(link, ranks, size), f"{hosts}; no blocks are sent on"),
            ),
            (
                *("slowdown by p", "003 Eq 3 (Clement)"),
                *(slowdown(link, ranks, size), "all share one link; one start-up"),
            ),
        ):
            yield self._model(name, source, size, time_s, "", assumes, (self._link_doubt,))

    def _signatures(self) -> list[Fit]:
        return [fit for fit in self._profile.fits if fit.kind == SIGNATURE]

    def _signature_models(self, size: int) -> Iterator[Model]:
        for fit in self._signatures():
            doubts = []
            if not fit.hosts_least <= self._ranks <= fit.hosts_most:
                doubts.append(f"fitted at {fit.hosts_most} hosts: wrong if these are not saturated")
            if not fit.bytes_least <= size <= fit.bytes_most:
                doubts.append(f"fitted from {fit.bytes_least} to {fit.bytes_most} bytes")
            yield self._model(
                "contention signature",
                "003 Eq 4, 5",
                size,
                eq_5(fit.coefficients, self._ranks, size),
                fit.candidate,
                "gamma, delta and M are the network's, for any p",
                doubts,
            )

    def _sites(self) -> _core.TwoSites | None:
        """Where the hosts are at two sites, and what is known of messages."""
        cluster, link = self._profile.cluster, self._link
        if cluster is None or link is None:
            return None
        by_host = dict(zip((host.name for host in cluster.hosts), cluster.sites(), strict=False))
        at = [by_host.get(name, "") for name in self._members]
        counts = sorted(at.count(site) for site in set(at))
        if len(counts) != 2 or "" in at:
            return None
        latency_s = cluster.latency_seconds(list(self._members))
        names = {host.name for host in cluster.hosts}
        slowest = min(
            min(one.rate_up_mbit_s, one.rate_down_mbit_s)
            for one in cluster.links
            if not {one.from_, one.to} & names
        )
        payload = self._profile.network.mtu_bytes - IP_UDP_BYTES - HEADER_BYTES
        link_beta = 8e-6 / slowest * cluster.framed_bytes(payload + HEADER_BYTES) / payload
        near = PointToPoint(max(0.0, link.alpha - latency_s), link.beta)
        site = _core.Signature(near.alpha, near.beta, 1.0, 0.0, 0.0)
        beta = max(link.beta, counts[0] * link_beta)
        return _core.TwoSites(counts[0], counts[1], site, latency_s + near.alpha, beta, link_beta)

    def _site_models(self, size: int) -> Iterator[Model]:
        sites = self._sites()
        if sites is None:
            return
        calm = "gamma of the sites is 1: they are not measured alone"
        local = our_candidate(self._library, "local-group")
        yield self._model(
            "two sites, each host for itself",
            "003 Eq 6",
            size,
            sites.naive_s(size),
            self._library,
            "a host waits for each message",
            (calm, self._link_doubt),
        )
        yield self._model(
            "local group",
            "003 Eq 7",
            size,
            sites.local_group_printed_s(size),
            local,
            "n1 m bytes a message; a host waits for each",
            (calm, self._link_doubt),
        )
        yield self._model(
            "local group, true messages",
            "003 Eq 7, corrected",
            size,
            sites.local_group_corrected_s(size),
            local,
            "a host waits for each message",
            (calm, self._link_doubt),
        )


def published(profile: Profile, hosts: Sequence[int], sizes: Iterable[int]) -> list[Model]:
    """The models among the first so many hosts of the profile, at each size."""
    wanted = list(sizes)
    out: list[Model] = []
    for count in hosts:
        made = Published(profile, profile.first_hosts(count))
        for size in wanted:
            out += made.models(size)
    return out
