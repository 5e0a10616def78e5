"""What the figures show of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allemande.framing import HEADER_BYTES, IP_UDP_BYTES, payload_bytes
from allemande.simulation.case import Result
from allemande.topology import Cluster, tune

MICROS = 1e6
BITS_PER_BYTE = 8

Model = Mapping[str, float]


def _packets_per_pair(result: Result, cluster: Cluster) -> int:
    return -(-result.size // payload_bytes(cluster))


def _eq2_s(result: Result, cluster: Cluster, model: Model) -> float:
    """000 Eq 2 with our packets: k (p-1) g + T_w, T_w = O_s + L - g + O_r + U_r.

    An experiment that states the parameters of the model has them in [model], in microseconds.
    Otherwise the links alone count: g is the time of a packet on the host link (the last one of a
    message may be shorter), T_w what the path takes beyond one packet time.
    """
    if "g" in model:
        packets = _packets_per_pair(result, cluster) * (result.hosts - 1)
        overheads = model["o_s"] + model["o_r"] + model["u_r"]
        return (packets * model["g"] + model["l"] - model["g"] + overheads) / MICROS
    around = HEADER_BYTES + IP_UDP_BYTES + cluster.link_header_bytes
    wire = result.size + _packets_per_pair(result, cluster) * around
    tuning = tune(cluster)
    sending_s = (result.hosts - 1) * wire * BITS_PER_BYTE / (tuning.host_rate_mbit_s * 1e6)
    return sending_s + max(0.0, tuning.latency_us - tuning.packet_time_us) / MICROS


def _per_packet_us(result: Result, cluster: Cluster) -> float:
    """002: measured time by the packets each process has sent."""
    return result.time_s * MICROS / ((result.hosts - 1) * _packets_per_pair(result, cluster))


METRICS: dict[str, Callable[[Result, Cluster, Model], float]] = {
    "goodput_mb_s": lambda result, cluster, model: result.goodput_mb_s,
    "time_s": lambda result, cluster, model: result.time_s,
    "fraction_of_limit": lambda result, cluster, model: result.fraction_of_limit,
    "fraction_of_eq2": lambda result, cluster, model: (
        _eq2_s(result, cluster, model) / result.time_s
    ),
    "per_packet_us": lambda result, cluster, model: _per_packet_us(result, cluster),
    "dropped": lambda result, cluster, model: float(result.dropped),
    "retransmitted": lambda result, cluster, model: float(result.retransmitted),
}
METRICS_LESS_IS_BETTER = {"time_s", "per_packet_us", "dropped", "retransmitted"}
