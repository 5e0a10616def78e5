"""The lab as the place where candidates run: one rank on every emulated host, or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from allemande.bench.candidates import Candidate
from allemande.errors import BadInput
from allemande.lab import Lab
from allemande.lab.placement import Placement
from allemande.lab.stats import EmulatorStats
from allemande.lab.timers import Timers
from allemande.preload import library_path

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def _check_congestion_control(name: str) -> None:
    available = AVAILABLE.read_text(encoding="ascii").split()
    if name not in available:
        raise BadInput(
            f"TCP congestion control {name!r} is not loaded here; expected one of: "
            f"{', '.join(available)}"
        )


class LabBed:
    def __init__(self, lab: Lab, preloads: Mapping[str, Path], placement: Placement) -> None:
        self.lab = lab
        self._preloads = preloads
        self._placement = placement

    def command(
        self,
        candidate: Candidate,
        program: Sequence[str],
        environment: Mapping[str, str],
        placement: Placement | None = None,
    ) -> list[str]:
        return self.lab.mpi_command(
            candidate.library,
            None,
            program,
            env=environment,
            arguments=candidate.arguments,
            netmod=candidate.netmod,
            preload=None if candidate.stock else self._preloads[candidate.library],
            placement=placement or self._placement,
        )

    def emulator_stats(self) -> EmulatorStats | None:
        return self.lab.emulator_stats()


@contextmanager
def open_lab(
    cluster_file: Path,
    scale: float,
    candidates: Sequence[Candidate],
    congestion_control: str,
    placement: Placement,
    timers: Timers,
    forwarding: str | None = None,
    output_frames: int | None = None,
) -> Iterator[LabBed]:
    """A lab of its own for one comparison; it ends with the block, however that is left."""
    _check_congestion_control(congestion_control)
    preloads = {c.library: library_path(c.library) for c in candidates if not c.stock}
    with Lab.boot(
        cluster_file,
        scale=scale,
        timers=timers.name,
        congestion_control=congestion_control,
        forwarding=forwarding,
        output_frames=output_frames,
    ) as lab:
        yield LabBed(lab, preloads, placement)
