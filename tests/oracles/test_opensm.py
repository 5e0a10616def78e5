"""Debian's OpenSM on the fabric simulator ibsim: its tables beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ibsim import simulated, tool

from allemande import _core
from allemande.formats.opensm_lfts import LidTables, read_fabric, read_tables, write_tables
from allemande.simulation.networks import find_cluster
from allemande.topology import Cluster


def fabric_text(cluster: Cluster) -> str:
    """The cluster as ibsim takes it: ports numbered in the order of the links."""
    ports: dict[str, list[tuple[str, int]]] = {}
    for link in cluster.links:
        ends = [(link.from_, len(ports.setdefault(link.from_, [])) + 1)]
        ends.append((link.to, len(ports.setdefault(link.to, [])) + 1))
        ports[link.from_].append(ends[1])
        ports[link.to].append(ends[0])
    out = []
    for kind, names in (
        ("Switch", [switch.name for switch in cluster.switches]),
        ("Hca", [host.name for host in cluster.hosts]),
    ):
        for name in names:
            out.append(f'{kind}\t{len(ports[name])} "{name}"')
            for number, (peer, port) in enumerate(ports[name], 1):
                out.append(f'[{number}]\t"{peer}"[{port}]')
            out.append("")
    return "\n".join(out)


class Subnet:
    """A simulated fabric, and the subnet manager that is run on it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def dump(self, *words: str) -> str:
        """The tables after the subnet manager has been there once."""
        found = self.folder / "opensm-lfts.dump"
        found.unlink(missing_ok=True)
        tool(
            self.folder,
            *("opensm", "-o", "-r", "-D", "0x43", "-f", str(self.folder / "opensm.log")),
            *words,
        )
        return found.read_text()

    def tables(self, *words: str) -> LidTables:
        return read_tables(self.cluster, self.dump(*words), "opensm-lfts.dump")


FAT_TREES = ("leaf-spine:3x4x3", "fat-tree:16")
every_network = pytest.mark.parametrize(
    "subnet", [*FAT_TREES, "torus:5,hosts=2", "myrinet:9"], indirect=True
)
fat_trees = pytest.mark.parametrize("subnet", FAT_TREES, indirect=True)


@pytest.fixture
def subnet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subnet]:
    cluster = find_cluster(request.param)
    (tmp_path / "fabric.net").write_text(fabric_text(cluster))
    with simulated(tmp_path, tmp_path / "fabric.net", "opensm"):
        yield Subnet(cluster, tmp_path)


def hops(cluster: Cluster, tables: LidTables) -> dict[tuple[str, int], int]:
    """Links on the way from every leaf to every LID."""
    hosts = {host.name: number for number, host in enumerate(cluster.hosts)}
    index = {switch.name: number for number, switch in enumerate(cluster.switches)}
    ports: dict[str, list[str]] = {}
    leaves = set()
    for link in cluster.links:
        ports.setdefault(link.from_, []).append(link.to)
        ports.setdefault(link.to, []).append(link.from_)
        if link.from_ in hosts:
            leaves.add(link.to)
    out = {}
    for leaf in leaves:
        for lid in range(len(hosts) << tables.lmc):
            node, count = leaf, 0
            while node not in hosts:
                node = ports[node][tables.ports[index[node]][lid] - 1]
                count += 1
                assert count <= len(index)
            assert hosts[node] == lid >> tables.lmc
            out[leaf, lid] = count
    return out


def most_used(cluster: Cluster, tables: LidTables) -> dict[str, int]:
    """At each switch, the LIDs of other switches' hosts at the port that has most of them."""
    hosts = {host.name for host in cluster.hosts}
    out = {}
    ports: dict[str, list[str]] = {}
    for link in cluster.links:
        ports.setdefault(link.from_, []).append(link.to)
        ports.setdefault(link.to, []).append(link.from_)
    for switch, row in zip(cluster.switches, tables.ports, strict=True):
        trunks = Counter(p for p in row if p and ports[switch.name][p - 1] not in hosts)
        out[switch.name] = max(trunks.values(), default=0)
    return out


def own(cluster: Cluster, lmc: int, engine: str) -> LidTables:
    return LidTables(lmc, _core.make_routes(cluster, "lid", lmc, engine).lid_tables())


# Min-hop paths are as long as OpenSM's, and no port has to carry more numbers. Up*/down* depends on
# the root, so only where that is no question are lengths the same: on trees of switches.
@every_network
def test_tables_are_like_those_of_opensm(subnet: Subnet) -> None:
    cluster = subnet.cluster
    for engine in ("minhop", "updn"):
        for lmc in range(5):
            theirs = subnet.tables("-R", engine, "-l", str(lmc))
            ours = own(cluster, lmc, engine)
            assert theirs.lmc == lmc
            if engine == "updn" and cluster.name.startswith(("torus", "myrinet")):
                continue
            assert hops(cluster, ours) == hops(cluster, theirs), (engine, lmc)
            busiest = most_used(cluster, theirs)
            for switch, used in most_used(cluster, ours).items():
                assert used <= busiest[switch] + 1, (engine, lmc, switch)


@every_network
def test_opensm_loads_our_tables(subnet: Subnet) -> None:
    cluster = subnet.cluster
    for lmc, engine in ((0, "minhop"), (2, "minhop"), (1, "updn")):
        ours = own(cluster, lmc, engine)
        fabric = read_fabric(subnet.dump("-R", "minhop", "-l", str(lmc)), "opensm-lfts.dump")
        path = subnet.folder / "ours.dump"
        path.write_text(write_tables(cluster, ours, fabric))
        loaded = subnet.tables("-R", "file", "-U", str(path), "-l", str(lmc))
        assert loaded == ours, (engine, lmc)


@fat_trees
def test_opensms_fat_tree_has_shortest_paths(subnet: Subnet) -> None:
    cluster = subnet.cluster
    theirs = subnet.tables("-R", "ftree", "-l", "0")
    assert hops(cluster, theirs) == hops(cluster, own(cluster, 0, "minhop"))
