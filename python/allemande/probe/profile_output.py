"""What was found, as a profile (docs/profile.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from allemande import __version__
from allemande.model import profile as form
from allemande.probe.cluster_output import CORE, MEGA, ONE_SWITCH, cluster_text, leaf_name
from allemande.probe.estimate import Estimate
from allemande.probe.network_findings import Findings
from allemande.probe.overload import PortFinding
from allemande.topology import parse_cluster


def _switch_of(found: Findings) -> dict[int, str]:
    leaves = found.groups.leaves
    if leaves is None or len(leaves) < 2:
        return dict.fromkeys(range(len(found.hosts)), ONE_SWITCH)
    return {rank: leaf_name(k) for k, leaf in enumerate(leaves) for rank in leaf}


def _link(from_: str, to: str, rate: Estimate, lower_bound: bool) -> form.LinkRate:
    return form.LinkRate(
        from_,
        to,
        rate.value / MEGA,
        rate.low / MEGA,
        rate.high / MEGA,
        lower_bound,
        tuple(sample / MEGA for sample in rate.samples),
    )


def _port(from_: str, to: str, found: PortFinding, pool: str) -> form.PortBuffer:
    held = found.buffer_packets
    if found.state != form.MEASURED or held is None:
        return form.PortBuffer(from_, to, found.state)
    return form.PortBuffer(
        from_, to, found.state, held.value, held.low, held.high, pool, tuple(held.samples)
    )


def _pool_of(found: Findings, from_: str) -> str:
    """The name of the buffer that a switch's ports share; empty: each has its own."""
    pool = found.core_pool_packets if from_ == CORE else found.leaf_pool_packets
    return "" if pool is None else f"buffer of {from_}"


def _ports(found: Findings) -> Iterator[tuple[str, str, PortFinding]]:
    switch_of = _switch_of(found)
    for rank, one in enumerate(found.host_ports):
        yield switch_of[rank], found.hosts[rank], one
    for number, one in enumerate(found.uplinks):
        yield leaf_name(number), CORE, one
    for number, one in enumerate(found.downlinks):
        yield CORE, leaf_name(number), one


def _links(found: Findings) -> list[form.LinkRate]:
    switch_of = _switch_of(found)
    links = [
        _link(found.hosts[rank], switch_of[rank], rate, False) for rank, rate in enumerate(found.up)
    ]
    links += [
        _link(from_, to, one.rate_bit_s, one.lower_bound)
        for from_, to, one in _ports(found)
        if one.rate_bit_s is not None
    ]
    return links


def _parameters(found: Findings) -> tuple[form.Parameter, ...]:
    return tuple(
        form.Parameter(
            one.name,
            one.estimate.value,
            one.level,
            one.carrier,
            one.bytes,
            one.estimate.low,
            one.estimate.high,
            tuple(one.estimate.samples),
        )
        for one in found.quantities
    )


def _names(found: Findings, ranks: Sequence[int]) -> tuple[str, ...]:
    return tuple(found.hosts[rank] for rank in ranks)


def make_profile(found: Findings, date: datetime | None) -> form.Profile:
    """As the model reads it. `date`: of the probing; None: none is written."""
    leaves = found.groups.leaves
    answers = {
        "leaf_groups": form.UNDETERMINED if leaves is None else f"{len(leaves)} leaves",
        **found.answers,
    }
    return form.Profile(
        network=form.Network(
            hosts=tuple(found.hosts),
            version=__version__,
            date=date,
            mpi=found.mpi,
            mtu_bytes=found.mtu_bytes,
            time_scale=found.time_scale,
            simulated=found.simulated,
        ),
        cluster=parse_cluster(cluster_text(found), "probed cluster"),
        found=answers,
        parameters=_parameters(found),
        links=tuple(_links(found)),
        ports=tuple(
            _port(from_, to, one, _pool_of(found, from_)) for from_, to, one in _ports(found)
        ),
        samples=tuple(
            form.Sample(one.candidate, one.bytes, tuple(one.times_s), _names(found, one.members))
            for one in found.samples
        ),
    )
