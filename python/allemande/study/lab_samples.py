"""Samples of the lab for judging predictions: whole clusters and their first hosts. What has been
measured is kept."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from allemande.bench.comparison import compare_on
from allemande.bench.defaults import SCALE
from allemande.bench.runner import Effort
from allemande.cluster_part import first_hosts
from allemande.model.profile import Sample
from allemande.model.samples import bench_samples
from allemande.output_files import write_output
from allemande.study.measuring import rows_text
from allemande.topology import Cluster


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
            figures = compared.or_fail(f"{part.name}, {against}").figures
            write_output(str(path), rows_text(figures))
        return path.read_text(encoding="utf-8")

    def samples(
        self,
        cluster: Cluster,
        hosts: int,
        against: str,
        sizes: Sequence[int],
        scale: float = SCALE,
    ) -> list[Sample]:
        """Samples of the candidates in `against` (comma-separated) on the first `hosts` hosts."""
        members = [host.name for host in cluster.hosts[:hosts]]
        text = self._measure(cluster, hosts, against, sizes, scale)
        return bench_samples(text, f"{cluster.name}, {hosts} hosts", members)
