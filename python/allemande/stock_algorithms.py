"""The all-to-all algorithms of stock libraries: what candidates call them, what the libraries do.

A candidate is written `openmpi` or `mpich` for the library's own choice, `openmpi:pairwise` for one
of its algorithms, `openmpi:linear-sync:reqs=4` for an algorithm with its parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from allemande.errors import BadInput

OPENMPI = "openmpi"
MPICH = "mpich"
LIBRARIES = (OPENMPI, MPICH)
PARAMETER_MAX = 65_535

# name -> collective -> the number of coll_tuned_<collective>_algorithm
OPENMPI_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "linear": {"alltoall": 1, "alltoallv": 1},
    "pairwise": {"alltoall": 2, "alltoallv": 2},
    "bruck": {"alltoall": 3},
    "linear-sync": {"alltoall": 4},
}
# name -> collective -> the value of MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM
MPICH_NAMES: Mapping[str, Mapping[str, str]] = {
    "bruck": {"alltoall": "brucks"},
    "scattered": {"alltoall": "scattered"},
    "pairwise": {"alltoall": "pairwise"},
}


@dataclass(frozen=True)
class Parameter:
    """What an algorithm takes: a whole number from `least` on."""

    name: str
    least: int
    setting: str  # the MCA parameter, or the variable
    meaning: str


PARAMETERS: Mapping[tuple[str, str], Parameter] = {
    (OPENMPI, "linear-sync"): Parameter(
        "reqs", 1, "coll_tuned_alltoall_algorithm_max_requests", "messages under way"
    ),
    (MPICH, "bruck"): Parameter("k", 2, "MPIR_CVAR_ALLTOALL_BRUCKS_KVAL", "radix"),
    (MPICH, "scattered"): Parameter("throttle", 1, "MPIR_CVAR_ALLTOALL_THROTTLE", "window"),
}


@dataclass(frozen=True)
class StockAlgorithm:
    """What a candidate says; `name` is empty for the library's own choice."""

    library: str
    name: str = ""
    value: int | None = None  # of its parameter; None: as the library has it

    @property
    def is_default(self) -> bool:
        return not self.name

    @property
    def parameter(self) -> Parameter | None:
        return PARAMETERS.get((self.library, self.name))

    def __str__(self) -> str:
        words = [self.library, self.name] if self.name else [self.library]
        if self.value is not None and self.parameter is not None:
            words.append(f"{self.parameter.name}={self.value}")
        return ":".join(words)


def _names_of(library: str) -> list[str]:
    """Every candidate of a library, with its parameter as in `openmpi:linear-sync[:reqs=N]`."""
    table: Mapping[str, object] = OPENMPI_NUMBERS if library == OPENMPI else MPICH_NAMES
    found = [library]
    for name in table:
        parameter = PARAMETERS.get((library, name))
        found.append(f"{library}:{name}" + (f"[:{parameter.name}=N]" if parameter else ""))
    return found


def parse_stock(text: str) -> StockAlgorithm | None:
    """The algorithm a candidate names; None: it is none of a stock library.

    Raises BadInput where the algorithm is known and its parameter is not valid.
    """
    library, _, rest = text.partition(":")
    name, _, option = rest.partition(":")
    table: Mapping[str, object] = {OPENMPI: OPENMPI_NUMBERS, MPICH: MPICH_NAMES}.get(library, {})
    if library not in LIBRARIES or (name and name not in table):
        return None
    plain = StockAlgorithm(library, name)
    if not option:
        return plain
    parameter = plain.parameter
    key, _, value = option.partition("=")
    if parameter is None or key != parameter.name:
        expected = f"{parameter.name}=NUMBER" if parameter else "no parameter"
        raise BadInput(f"candidate {text!r}: {option!r} is not valid; expected {expected}")
    if not re.fullmatch(r"[1-9]\d{0,4}", value) or not (
        parameter.least <= int(value) <= PARAMETER_MAX
    ):
        raise BadInput(
            f"candidate {text!r}: {key} {value!r} is not valid; expected {parameter.least} to "
            f"{PARAMETER_MAX}"
        )
    return StockAlgorithm(library, name, int(value))


def need_stock(text: str, library: str) -> StockAlgorithm:
    """The same, of one library; anything else is BadInput."""
    found = parse_stock(text)
    if found is None or found.library != library:
        raise BadInput(
            f"{text!r} is no algorithm of {library}; expected some of: "
            f"{', '.join(_names_of(library))}"
        )
    return found
