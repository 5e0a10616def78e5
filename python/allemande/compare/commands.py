"""How the program is started on each side.

The stock side has the library preloaded as well, switched off: it then passes every call through
and only counts and times, so that both sides are timed alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from allemande.compare.runs import Command, MakeCommand
from allemande.compare.turns import STOCK
from allemande.preload import launch, library_path, linked_interface


def _settings_of(side: str, stats: Path, settings: Mapping[str, str]) -> dict[str, str]:
    switched_off = {"ALLEMANDE_DISABLE": "on"} if side == STOCK else {}
    return {**settings, **switched_off, "ALLEMANDE_STATS": str(stats)}


def with_launcher(
    program: Sequence[str], settings: Mapping[str, str], mpi: str | None
) -> MakeCommand:
    """As `allemande run` starts it. Raises BadInput for what that refuses."""

    def make(side: str, stats: Path) -> Command:
        line, environment = launch(program, _settings_of(side, stats, settings), mpi=mpi)
        return Command(line, environment)

    make(STOCK, Path("stats.json"))  # what is not valid is said before anything runs
    return make


def in_lab(
    name: str, mpi: str | None, program: Sequence[str], settings: Mapping[str, str]
) -> MakeCommand:
    """As `allemande lab run` starts it in a lab that runs."""
    from allemande.lab import Lab
    from allemande.lab.mpi_launch import installation

    lab = Lab.attach(name)
    launcher = mpi or "openmpi"
    chosen = installation(launcher)
    library = library_path(linked_interface(program, os.environ) or chosen.kind)

    def make(side: str, stats: Path) -> Command:
        line = lab.mpi_command(
            launcher, None, program, env=_settings_of(side, stats, settings), preload=library
        )
        return Command(line, os.environ)

    return make
