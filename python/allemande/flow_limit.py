"""The least time of an exchange on a network with several paths, by how much flow the links carry.

In a tree every link is a cut, and the busiest one is the limit. With several paths the limit is the
maximum concurrent flow: all demands in proportion, over any paths, each split at will. It is found
in three steps, the quick ones first:

1. cuts (`Cluster.limit_seconds`): a lower bound on the time;
2. every demand split evenly over its shortest paths: an upper bound. Where both agree, as on fat
   trees and leaf-spine networks, that is it;
3. the linear programme, a flow for each switch that traffic comes from (SciPy's HiGHS).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allemande.errors import Failed
from allemande.topology import Cluster

VARIABLES_MAX = 50_000  # of the linear programme; 29,000 take 7 s
EVEN_SPLIT_MAX = 6_000_000  # links times destinations; it takes two seconds then
TOLERANCE = 1e-6  # two bounds that agree

Amount = int | Sequence[Sequence[int]]


@dataclass(frozen=True)
class FlowLimit:
    """The limit of an exchange, and how it is known.

    `method`: "cuts" where the quick bounds agree or the graph is a tree, "flow" from the linear
    programme, "cuts only" where that would be too large: then no exchange is faster, but the true
    limit may be longer.
    """

    seconds: float
    method: str


@dataclass(frozen=True)
class _Trunk:
    """One direction of a link that is not that of a host with one link."""

    tail: int
    head: int
    bytes_s: float
    link: int


class _Trunks:
    """What is left of a cluster when hosts with one link are taken off."""

    def __init__(self, cluster: Cluster) -> None:
        hosts = {host.name for host in cluster.hosts}
        links: dict[str, int] = {}
        for link in cluster.links:
            for end in (link.from_, link.to):
                links[end] = links.get(end, 0) + 1
        single = {name for name in hosts if links[name] == 1}
        self.index: dict[str, int] = {}
        self.edges: list[_Trunk] = []
        self.caps: list[tuple[int, float]] = []  # link, bytes per second both ways
        for number, link in enumerate(cluster.links):
            if link.from_ in single or link.to in single:
                continue
            tail, head = (self.index.setdefault(n, len(self.index)) for n in (link.from_, link.to))
            self.edges.append(_Trunk(tail, head, link.rate_up_mbit_s * 1e6 / 8, number))
            if not link.one_way:
                self.edges.append(_Trunk(head, tail, link.rate_down_mbit_s * 1e6 / 8, number))
            if link.bidirectional_cap_mbit_s:
                self.caps.append((number, link.bidirectional_cap_mbit_s * 1e6 / 8))
        # Hosts with several links forward nothing.
        self.ends_here = {self.index[name] for name in hosts - single if name in self.index}


def _demands(
    cluster: Cluster, trunks: _Trunks, hosts: Sequence[str] | None, amount: Amount, combines: bool
) -> NDArray[np.float64]:
    """Bytes from node to node of the trunks."""
    names, flat = cluster.leaf_traffic(hosts, amount, combines)
    rows = np.asarray(flat).reshape(len(names), len(names))
    out = np.zeros((len(trunks.index), len(trunks.index)))
    at = [trunks.index.get(name) for name in names]
    for i, j in zip(*np.nonzero(rows), strict=True):
        tail, head = at[i], at[j]
        if tail is None or head is None:
            raise AssertionError("traffic between leaves without a trunk")
        out[tail, head] += rows[i, j]
    return out


def _even_split_s(trunks: _Trunks, demands: NDArray[np.float64]) -> float:
    """The time when every demand takes all its shortest paths, split evenly at each switch."""
    nodes = len(trunks.index)
    into: list[list[int]] = [[] for _ in range(nodes)]
    out_of: list[list[int]] = [[] for _ in range(nodes)]
    for number, edge in enumerate(trunks.edges):
        into[edge.head].append(number)
        out_of[edge.tail].append(number)
    load = np.zeros(len(trunks.edges))
    for goal in np.flatnonzero(demands.sum(axis=0)):
        distance = [-1] * nodes
        distance[goal] = 0
        queue, order = deque([int(goal)]), []
        while queue:
            node = queue.popleft()
            order.append(node)
            if node != goal and node in trunks.ends_here:
                continue
            for number in into[node]:
                tail = trunks.edges[number].tail
                if distance[tail] < 0:
                    distance[tail] = distance[node] + 1
                    queue.append(tail)
        carried = demands[:, goal].copy()
        for node in reversed(order):
            if node == goal or carried[node] == 0:
                continue
            ways = [
                number
                for number in out_of[node]
                if distance[trunks.edges[number].head] == distance[node] - 1
            ]
            for number in ways:
                load[number] += carried[node] / len(ways)
                carried[trunks.edges[number].head] += carried[node] / len(ways)
    seconds = max(
        (bytes_ / edge.bytes_s for bytes_, edge in zip(load, trunks.edges, strict=True)), default=0
    )
    for link, cap in trunks.caps:
        both = sum(load[n] for n, edge in enumerate(trunks.edges) if edge.link == link)
        seconds = max(seconds, both / cap)
    return float(seconds)


def _flow_s(trunks: _Trunks, demands: NDArray[np.float64]) -> float:
    """The linear programme: the least time T in which flows meet all demands.

    For each source s with demands d(s, v) a flow f(s, e) in bytes: at every other node what comes
    in less what goes out is d(s, v); on every edge the flows together are at most rate(e) T.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    sources = [int(s) for s in np.flatnonzero(demands.sum(axis=1))]
    edges, nodes = len(trunks.edges), len(trunks.index)
    scale = float(demands.max())
    variables = len(sources) * edges + 1  # T is the last
    rows, columns, values = [], [], []
    wanted = []
    row = 0
    upper: list[float | None] = [None] * variables
    for k, source in enumerate(sources):
        row_of = {}
        for node in range(nodes):
            if node == source:
                continue
            row_of[node] = row
            wanted.append(demands[source, node] / scale)
            row += 1
        for number, edge in enumerate(trunks.edges):
            column = k * edges + number
            if edge.head == source or (edge.tail in trunks.ends_here and edge.tail != source):
                upper[column] = 0.0
            for node, sign in ((edge.head, 1.0), (edge.tail, -1.0)):
                if node != source:
                    rows.append(row_of[node])
                    columns.append(column)
                    values.append(sign)
    balance = coo_matrix((values, (rows, columns)), shape=(row, variables)).tocsr()
    rows, columns, values = [], [], []
    bounds = [([n], edge.bytes_s) for n, edge in enumerate(trunks.edges)]
    for link, cap in trunks.caps:
        bounds.append(([n for n, edge in enumerate(trunks.edges) if edge.link == link], cap))
    for number, (members, rate) in enumerate(bounds):
        for k in range(len(sources)):
            for member in members:
                rows.append(number)
                columns.append(k * edges + member)
                values.append(1.0)
        rows.append(number)
        columns.append(variables - 1)
        values.append(-rate / scale)
    capacity = coo_matrix((values, (rows, columns)), shape=(len(bounds), variables)).tocsr()
    cost = np.zeros(variables)
    cost[-1] = 1
    solved = linprog(
        cost,
        A_ub=capacity,
        b_ub=np.zeros(len(bounds)),
        A_eq=balance,
        b_eq=np.asarray(wanted),
        bounds=list(zip([0.0] * variables, upper, strict=True)),
        method="highs-ipm",  # fifteen times as fast as the simplex method on large ones
    )
    if not solved.success:
        raise Failed(f"the limit of the flow was not found: {solved.message}")
    return float(solved.x[-1])


def bound_s(
    cluster: Cluster,
    hosts: Sequence[str] | None,
    amount: Amount,
    limit_s: float,
    combines: bool = False,
) -> float:
    """The bound of an exchange: its limit, and the least times before and after the busiest link.

    No way of carrying it takes less. `limit_s`: of the flow, where that is known.
    """
    if isinstance(amount, int):
        return max(limit_s, cluster.bound_seconds(hosts, amount, combines))
    return max(limit_s, cluster.traffic_bound_seconds(hosts, amount, combines))


def flow_limit(
    cluster: Cluster,
    hosts: Sequence[str] | None,
    amount: Amount,
    combines: bool = False,
) -> FlowLimit:
    """The limit of an all-to-all of `amount` bytes per pair, or of a matrix of bytes, on `hosts`.

    `hosts`: of each rank (None: all hosts, one rank each). `combines`: messages of several pairs
    share packets. No assignment of paths, however fine, is faster.
    """
    if isinstance(amount, int):
        cut_s = cluster.limit_seconds(hosts, amount, combines)
    else:
        cut_s = cluster.traffic_limit_seconds(hosts, amount, combines)
    if cluster.is_tree():
        return FlowLimit(cut_s, "cuts")
    trunks = _Trunks(cluster)
    demands = _demands(cluster, trunks, hosts, amount, combines)
    if np.count_nonzero(demands.sum(axis=0)) * len(trunks.edges) > EVEN_SPLIT_MAX:
        return FlowLimit(cut_s, "cuts only")
    if _even_split_s(trunks, demands) <= cut_s * (1 + TOLERANCE):
        return FlowLimit(cut_s, "cuts")
    if np.count_nonzero(demands.sum(axis=1)) * len(trunks.edges) > VARIABLES_MAX:
        return FlowLimit(cut_s, "cuts only")
    return FlowLimit(max(cut_s, _flow_s(trunks, demands)), "flow")


def alltoall_limits(cluster: Cluster, sizes: Sequence[int]) -> list[FlowLimit]:
    """The limits of all-to-alls on all hosts: they grow with what a message occupies on a link."""
    first = flow_limit(cluster, None, sizes[0])
    if first.method != "flow":
        return [FlowLimit(cluster.limit_seconds(None, size), first.method) for size in sizes]
    each_s = first.seconds / cluster.framed_bytes(sizes[0])
    return [FlowLimit(each_s * cluster.framed_bytes(size), "flow") for size in sizes]
