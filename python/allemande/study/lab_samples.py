"""Samples of the lab for judging predictions: whole clusters and their first hosts. What has been
measured is kept."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from allemande.bench.comparison import compare_on
from allemande.bench.defaults import SCALE
from allemande.bench.runner import Effort
from allemande.errors import Failed
from allemande.model.profile import Sample
from allemande.model.samples import bench_samples
from allemande.output_files import write_output
from allemande.topology import Cluster, compress_hostlist, parse_cluster


def first_hosts(cluster: Cluster, count: int) -> Cluster:
    """A cluster of the first so many hosts, with the switches they need."""
    hosts = [host.name for host in cluster.hosts[:count]]
    gone = {host.name for host in cluster.hosts[count:]}
    links = [link for link in cluster.links if link.from_ not in gone and link.to not in gone]
    while True:  # switches with one link lead nowhere
        ends = [end for link in links for end in (link.from_, link.to)]
        idle = {end for end in ends if ends.count(end) == 1 and end not in hosts}
        if not idle:
            break
        links = [link for link in links if not {link.from_, link.to} & idle]
    used = {end for link in links for end in (link.from_, link.to)}
    text = f'format = 1\nname = "{cluster.name}-first-{count}"\n'
    for switch in cluster.switches:
        if switch.name in used:
            text += (
                f'[[switch]]\nname = "{switch.name}"\narchitecture = "{switch.architecture}"\n'
                f'switching = "{switch.switching}"\nbuffer_packets = {switch.buffer_packets}\n'
            )
    text += f'[[host]]\nname = "{compress_hostlist(hosts)}"\n'
    for link in links:
        text += (
            f'[[link]]\nfrom = "{link.from_}"\nto = "{link.to}"\n'
            f"rate_up_mbit_s = {link.rate_up_mbit_s}\nrate_down_mbit_s = {link.rate_down_mbit_s}\n"
            f"queue_up_packets = {link.queue_up_packets}\n"
            f"queue_down_packets = {link.queue_down_packets}\n"
        )
    return parse_cluster(text, f"{cluster.name}, {count} hosts")


@dataclass(frozen=True)
class Bed:
    """Where measurements are kept, and how they are made."""

    folder: Path
    calls: int
    rounds: int

    def _measure(
        self, cluster: Cluster, hosts: int, against: str, sizes: Sequence[int], scale: float
    ) -> str:
        """JSON of `allemande bench` among the first hosts; what is there is not measured again."""
        part = first_hosts(cluster, hosts)
        names = against.split(",")
        key = f"{cluster.name}-{hosts}-{scale:g}-{re.sub('[:=]', '_', names[0])}"
        if len(names) > 1:
            key += f"-and-{len(names) - 1}-{zlib.crc32(against.encode()):08x}"
        effort = f"{self.rounds}x{self.calls}"
        path = self.folder / f"{key}-{'_'.join(str(size) for size in sizes)}-{effort}.json"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            how = Effort(rounds=self.rounds, calls=self.calls)
            compared = compare_on(part, scale, sizes, against, how)
            if compared.failed:
                why = "; ".join(compared.warnings) or "not measured"
                raise Failed(f"{part.name}, {against}: {why}")
            write_output(
                str(path), json.dumps([figure.as_json() for figure in compared.figures], indent=1)
            )
        return path.read_text(encoding="utf-8")

    def samples(
        self,
        cluster: Cluster,
        hosts: int,
        against: str,
        sizes: Sequence[int],
        scale: float = SCALE,
    ) -> list[Sample]:
        """Of the candidates `against`, separated by commas, among the first so many hosts."""
        members = [host.name for host in cluster.hosts[:hosts]]
        text = self._measure(cluster, hosts, against, sizes, scale)
        return bench_samples(text, f"{cluster.name}, {hosts} hosts", members)
