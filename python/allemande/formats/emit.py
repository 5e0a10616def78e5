"""Writing a format by its name: tuning files out of choices, schedules out of plans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from allemande.errors import BadInput, Failed
from allemande.formats import goal, htsim, mpich_selection, msccl, openmpi_rules, plan_json
from allemande.formats.choices import Times, choose, choose_alltoallv, times_of
from allemande.formats.schedule import Schedule
from allemande.formats.tuning_table import Choices, make_table
from allemande.lab.mpi_launch import installation
from allemande.output_files import STDOUT, standard_output, write_output, writing
from allemande.quantities import format_size
from allemande.stock_algorithms import MPICH, OPENMPI

# The format's name -> the library it is for
TUNING_FORMATS: Mapping[str, str] = {"openmpi-rules": OPENMPI, "mpich-selection": MPICH}
SCHEDULE_FORMATS: Mapping[str, Callable[[Schedule], Iterator[str]]] = {
    "json": plan_json.write,
    "goal": goal.write,
    "msccl": msccl.write,
    "htsim": htsim.write,
}
FORMATS = (*TUNING_FORMATS, *SCHEDULE_FORMATS)
OPENMPI_VERSION = "5.0.7"  # the first 5.x that reads version 2
SETTINGS_SUFFIX = ".env"
_READ_BY = {
    1: "Open MPI before 4.1.8, and 5.0.0 to 5.0.6",
    2: "Open MPI 5.0.7 and later 5.x, and 4.1.8 and later 4.1.x",
    3: "Open MPI 6.0 and later; where several ranks share a host its component han may come first, "
    "and OMPI_MCA_coll_han_priority=0 keeps it back",
}


@dataclass(frozen=True)
class Emitted:
    """A file to be written, and what its reader has to be told."""

    pieces: Iterable[str]
    settings: Mapping[str, str] = field(default_factory=dict)  # variables that make it count
    notes: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """The file, and the variables beside it as `FILE.env`.

        What the format cannot say is refused before a file that is there is touched.
        """
        pieces = iter(self.pieces)
        first = next(pieces, "")
        with writing(path), path.open("w", encoding="utf-8") as file:
            file.write(first)
            file.writelines(pieces)
        if self.settings:
            text = "".join(f"{name}={value}\n" for name, value in self.settings.items())
            write_output(str(settings_file(path)), text)

    def deliver(self, output: str) -> None:
        """To a file, with its settings on stdout; or, by '-', to stdout. Notes go to stderr."""
        for note in self.notes:
            print(f"allemande: {note}", file=sys.stderr)
        if output == STDOUT:
            standard_output().writelines(self.pieces)
            return
        self.write(Path(output))
        for name, value in self.settings.items():
            print(f"{name}={value}")


def settings_file(path: Path) -> Path:
    """Where the variables of a tuning file lie."""
    return path.with_name(path.name + SETTINGS_SUFFIX)


def site_libmpi(given: str | None) -> Path:
    """The libmpi to take MPICH's decisions from: the one given, or that of `make setup`."""
    if given is not None:
        return Path(given)
    try:
        found = installation(MPICH).shared_library()
    except Failed:
        found = None  # no source tree, or no `make setup` in it
    if found is None:
        raise BadInput("the site's MPICH is not known; name its libmpi.so.12 with --libmpi")
    return found


def tuning(
    format_name: str,
    choices: Choices,
    path: Path,
    *,
    mpi_version: str = OPENMPI_VERSION,
    libmpi: str | None = None,
    alltoallv: Mapping[int, str] | None = None,
) -> Emitted:
    """A tuning file for (ranks, bytes per pair) -> candidate, to lie at `path`.

    `mpi_version` is the Open MPI that will read it; `libmpi` the MPICH. `alltoallv`: ranks ->
    candidate, for Open MPI. Raises BadInput for candidates of other libraries, and for what the
    format cannot say.
    """
    if format_name not in TUNING_FORMATS:
        raise BadInput(
            f"{format_name!r} holds no choices; expected one of {', '.join(TUNING_FORMATS)}"
        )
    table = make_table(TUNING_FORMATS[format_name], choices)
    if format_name == "openmpi-rules":
        version = openmpi_rules.version_for(mpi_version)
        text = openmpi_rules.write(table, version, alltoallv)
        settings = openmpi_rules.settings(path.absolute())
        return Emitted([text], settings, (f"for {_READ_BY[version]}",))
    if alltoallv:
        raise BadInput("MPICH's file says nothing of MPI_Alltoallv; expected MPI_Alltoall alone")
    library = mpich_selection.read_library(site_libmpi(libmpi))
    text = mpich_selection.write(table, library)
    throttle = mpich_selection.throttle_of(table)
    settings = mpich_selection.settings(path.absolute(), throttle)
    notes = [f"for the MPICH of {library.path}, and no other"]
    if throttle:
        notes.append(f"the window of {throttle} holds wherever MPICH takes scattered")
    return Emitted([text], settings, tuple(notes))


def choices_of_rows(
    format_name: str,
    rows: Sequence[Any],
    source: str,
    *,
    ranks: int | None = None,
    libmpi: str | None = None,
) -> dict[tuple[int, int], str]:
    """What rows of times lead to for MPI_Alltoall, in the library the format is for."""
    times = times_of(rows, TUNING_FORMATS[format_name], ranks, source)
    return _choices(TUNING_FORMATS[format_name], times, libmpi)


def _choices(library: str, times: Times, libmpi: str | None) -> dict[tuple[int, int], str]:
    if library == OPENMPI:
        return choose(times, library)
    found = mpich_selection.read_library(site_libmpi(libmpi))
    return choose(times, library, mpich_selection.default_scatters(found))


def tuning_of_rows(
    format_name: str,
    rows: Sequence[Any],
    path: Path,
    *,
    source: str,
    ranks: int | None = None,
    mpi_version: str = OPENMPI_VERSION,
    libmpi: str | None = None,
) -> Emitted:
    """A tuning file out of measured or predicted times, rows as formats.choices has them.

    `ranks` is for rows that do not say how many; `source` names the rows in messages.
    """
    library = TUNING_FORMATS[format_name]
    times = times_of(rows, library, ranks, source)
    choices = _choices(library, times, libmpi)
    alltoallv = choose_alltoallv(rows, ranks, source) if library == OPENMPI else None
    emitted = tuning(
        format_name, choices, path, mpi_version=mpi_version, libmpi=libmpi, alltoallv=alltoallv
    )
    unknown = sorted(point for point, found in times.items() if library not in found)
    if not unknown:
        return emitted
    points = ", ".join(f"{format_size(size)} among {number} ranks" for number, size in unknown)
    note = f"{source} has no time of {library}'s own choice at {points}: it may be the faster one"
    return replace(emitted, notes=(*emitted.notes, note))


def check_format(name: str) -> None:
    """Raises BadInput unless it is one of FORMATS."""
    if name not in FORMATS:
        raise BadInput(f"no format is called {name!r}; expected one of {', '.join(FORMATS)}")


def schedule(format_name: str, made: Schedule, overhead_ns: int = 0) -> Emitted:
    """A schedule; `overhead_ns` is the o of GOAL's LogGOPSim."""
    if format_name not in SCHEDULE_FORMATS:
        raise BadInput(
            f"{format_name!r} holds no schedule; expected one of {', '.join(SCHEDULE_FORMATS)}"
        )
    notes: list[str] = []
    if format_name == "goal":
        found = goal.parameters(made, overhead_ns)
        if found is None:
            notes.append("L, o, g, G and S follow from a network: name one with --cluster")
        else:
            notes.append(f"LogGOPSim {found}")
            if not found.exact:
                notes.append("G is rounded down: packets shorter than a full one take too long")
    elif format_name == "htsim":
        notes.append(htsim.LOST)
    return Emitted(SCHEDULE_FORMATS[format_name](made), {}, tuple(notes))
