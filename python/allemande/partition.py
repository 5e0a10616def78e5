"""The bisection of any network: exact where it can be, else the best partition METIS finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from allemande.errors import BadInput
from allemande.topology import Cluster

TRIES = 20  # partitions; the best one counts


@dataclass(frozen=True)
class Halves:
    """What parts the hosts into halves, in links and, minimised by itself, in bandwidth one way.

    `exact`: no cut is smaller. Else a partition with this cut is known, and smaller ones may exist.
    """

    links: int
    mbit_s: float
    exact: bool


class _Graph:
    """Switches as METIS takes them: weighted by hosts, joined by weighted edges.

    Hosts with several links are nodes, too: they belong to no one switch, and may be all that joins
    switches.
    """

    def __init__(self, cluster: Cluster) -> None:
        ends = Counter(end for link in cluster.links for end in (link.from_, link.to))
        several = [host.name for host in cluster.hosts if ends[host.name] > 1]
        names = [*(switch.name for switch in cluster.switches), *several]
        self.index = {name: number for number, name in enumerate(names)}
        self.hosts = [0] * len(cluster.switches) + [1] * len(several)
        self.links: Counter[tuple[int, int]] = Counter()
        self.rates: Counter[tuple[int, int]] = Counter()  # tail, head: Mbit/s
        for link in cluster.links:
            tail, head = self.index.get(link.from_), self.index.get(link.to)
            if tail is None or head is None:
                inner = head if tail is None else tail
                assert inner is not None
                self.hosts[inner] += 1
                continue
            self.links[min(tail, head), max(tail, head)] += 1
            self.rates[tail, head] += link.rate_up_mbit_s  # type: ignore[assignment]
            if not link.one_way:
                self.rates[head, tail] += link.rate_down_mbit_s  # type: ignore[assignment]

    def partitions(self, by_rate: bool) -> list[list[int]]:
        """Sides of the switches that part the hosts evenly, as METIS finds them."""
        import pymetis

        weights = {}
        for a, b in self.links:
            rate = self.rates[a, b] + self.rates[b, a]
            weights[a, b] = max(1, round(rate)) if by_rate else self.links[a, b]
        largest = max(weights.values(), default=1)
        if largest > 1_000_000:
            weights = {
                pair: max(1, weight * 1_000_000 // largest) for pair, weight in weights.items()
            }
        neighbours: list[list[tuple[int, int]]] = [[] for _ in self.hosts]
        for (a, b), weight in weights.items():
            neighbours[a].append((b, weight))
            neighbours[b].append((a, weight))
        starts, ends, edge_weights = [0], list[int](), list[int]()
        for row in neighbours:
            ends.extend(peer for peer, _ in row)
            edge_weights.extend(weight for _, weight in row)
            starts.append(len(ends))
        found = []
        for seed in range(TRIES):
            _, sides = pymetis.part_graph(
                2,
                pymetis.CSRAdjacency(starts, ends),
                vweights=self.hosts,
                eweights=edge_weights,
                options=pymetis.Options(seed=seed, ufactor=1),
            )
            found.append(list(sides))
        return found

    def is_half(self, sides: list[int]) -> bool:
        on_one = sum(hosts for hosts, side in zip(self.hosts, sides, strict=True) if side)
        return abs(2 * on_one - sum(self.hosts)) <= 1

    def cut(self, sides: list[int]) -> tuple[int, float]:
        """Links cut, and Mbit/s from the one side to the other, the weaker direction."""
        links = sum(count for (a, b), count in self.links.items() if sides[a] != sides[b])
        one_way = [0.0, 0.0]
        for (tail, head), rate in self.rates.items():
            if sides[tail] != sides[head]:
                one_way[sides[tail]] += rate
        return links, min(one_way)


def bisection(cluster: Cluster) -> Halves:
    """The least that must be cut to part the hosts into halves.

    Exact for trees and up to 18 switches, if every host has one link. Else halves that METIS finds,
    of whole switches and hosts with several links; where no such halves exist (an odd number of
    hosts at every switch), BadInput.
    """
    try:
        exact = cluster.bisection()
        return Halves(exact.links, exact.mbit_s, True)
    except BadInput:
        graph = _Graph(cluster)
        halves = {
            by_rate: [graph.cut(s) for s in graph.partitions(by_rate) if graph.is_half(s)]
            for by_rate in (False, True)
        }
        if not all(halves.values()):
            raise
        return Halves(
            min(links for links, _ in halves[False]),
            min(mbit_s for _, mbit_s in halves[True]),
            False,
        )
