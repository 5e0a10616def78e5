"""The algorithms of MPI_Alltoall that an MPI library may be told to take, in one job.

Open MPI reads its variables when a communicator is made, MPICH at each call. Candidates have the
names of `allemande bench`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from allemande.errors import Failed
from allemande.probe.mpi_tool import ControlVariables

OPENMPI_SWITCH = "coll_tuned_use_dynamic_rules"
OPENMPI_ALGORITHM = "coll_tuned_alltoall_algorithm"
MPICH_ALGORITHM = "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM"


@dataclass(frozen=True)
class LibraryWay:
    """One algorithm: the candidate's name, and the variables that choose it."""

    candidate: str
    variables: Mapping[str, int] = field(default_factory=dict)


def kind_of(version: str) -> str:
    """`openmpi` or `mpich`, from MPI_Get_library_version; empty: another library."""
    lowered = version.lower()
    if "open mpi" in lowered:
        return "openmpi"
    return "mpich" if "mpich" in lowered else ""


def _openmpi() -> list[LibraryWay]:
    numbers = {"linear": 1, "pairwise": 2, "bruck": 3, "linear-sync": 4}
    return [
        LibraryWay("openmpi", {OPENMPI_SWITCH: 0, OPENMPI_ALGORITHM: 0}),
        *(
            LibraryWay(f"openmpi:{name}", {OPENMPI_SWITCH: 1, OPENMPI_ALGORITHM: number})
            for name, number in numbers.items()
        ),
    ]


def _mpich(names: Mapping[str, int]) -> list[LibraryWay]:
    wanted = {"bruck": "brucks", "pairwise": "pairwise", "scattered": "scattered"}
    return [
        LibraryWay("mpich", {MPICH_ALGORITHM: names["auto"]}),
        *(
            LibraryWay(f"mpich:{name}", {MPICH_ALGORITHM: names[value]})
            for name, value in wanted.items()
            if value in names
        ),
    ]


def library_ways(kind: str, variables: ControlVariables | None) -> list[LibraryWay]:
    """The library's own choice first. Without its variables that is all."""
    if not kind:
        return []
    if variables is None:
        return [LibraryWay(kind)]
    if kind == "openmpi":
        known = _can_be_set(variables, OPENMPI_SWITCH) and _can_be_set(variables, OPENMPI_ALGORITHM)
        return _openmpi() if known else [LibraryWay(kind)]
    known = _can_be_set(variables, MPICH_ALGORITHM)
    names = variables.names_of(MPICH_ALGORITHM) if known else {}
    return _mpich(names) if "auto" in names else [LibraryWay(kind)]


def _can_be_set(variables: ControlVariables, name: str) -> bool:
    """To what it is now."""
    if not variables.knows(name):
        return False
    try:
        variables.write(name, variables.read(name))
    except Failed:
        return False
    return True


def open_variables() -> ControlVariables | None:
    """None where the library has no tool interface."""
    try:
        return ControlVariables()
    except (Failed, AttributeError, OSError):
        return None
