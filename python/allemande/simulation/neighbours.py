"""What runs beside a simulated exchange: TCP flows, and the shares that came out."""

from __future__ import annotations

from typing import Any

from allemande.background import UPLINKS, parse_background
from allemande.errors import BadInput
from allemande.matrix import leaf_groups
from allemande.topology import Cluster


def background_flows(text: str, cluster: Cluster) -> list[dict[str, Any]]:
    """`full`, `uplinks:200`, `h0..h12:full` as flows of the simulator, as in the lab."""
    background = parse_background(text)
    names = [host.name for host in cluster.hosts]
    sender, dots, receiver = background.links.partition("..")
    if dots:
        pairs = [(sender, receiver)]
    elif background.links == UPLINKS:
        leaves: dict[int, list[str]] = {}
        for name, leaf in zip(names, leaf_groups(cluster, None), strict=True):
            leaves.setdefault(leaf, []).append(name)
        hosts = list(leaves.values())
        pairs = [(of[0], hosts[(at + 1) % len(hosts)][-1]) for at, of in enumerate(hosts)]
    else:
        raise BadInput(
            f"--background {text!r}: {background.links!r} is unknown; expected {UPLINKS!r} or two "
            f"hosts ({names[0]}..{names[-1]})"
        )
    for name in {name for pair in pairs for name in pair} - set(names):
        raise BadInput(f"--background {text!r}: the cluster has no host {name!r}")
    if len(pairs) == 1 and not dots:
        raise BadInput(
            f"--background {text!r}: all hosts are on one switch; name two: "
            f"--background {names[0]}..{names[-1]}:full"
        )
    rate = background.rate_mbit_s or 0
    return [{"from": one, "to": other, "rate_mbit_s": rate} for one, other in pairs]
