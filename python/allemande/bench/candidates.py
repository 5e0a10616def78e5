"""What can be compared: stock libraries at their best settings, and each with allemande preloaded.

A candidate is written `NAME` or, for those with allemande, `NAME:option=value,option=value`, where
an option is a configuration name (`allemande config` lists them), for example
`allemande+openmpi:window_packets=7,algorithm=pairwise`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from allemande.config import check_value
from allemande.errors import BadInput
from allemande.option_table import OPTIONS, Option

# Open MPI: over TCP alone, every rank free to use both processors, waiting ranks give way.
OPENMPI_ARGUMENTS = (
    *("--bind-to", "none"),
    *("--mca", "mpi_yield_when_idle", "1"),
    *("--mca", "pml", "ob1"),
    *("--mca", "btl", "tcp,self"),
)
# MPICH: no processor binding is its default; the interface is the lab's, never loopback.
MPICH_OFI = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"}
MPICH_UCX = {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "tcp,self", "MPIR_CVAR_NOLOCAL": "1"}

OUR_PREFIX = "allemande+"


@dataclass(frozen=True)
class Candidate:
    """One column of the comparison."""

    name: str
    library: str  # "openmpi" or "mpich": the prefix it runs from
    stock: bool
    description: str
    launcher_arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def openmpi_algorithm(number: int) -> tuple[str, ...]:
    return (
        *OPENMPI_ARGUMENTS,
        *("--mca", "coll_tuned_use_dynamic_rules", "1"),
        *("--mca", "coll_tuned_alltoall_algorithm", str(number)),
    )


CANDIDATES: tuple[Candidate, ...] = (
    Candidate("openmpi", "openmpi", True, "Open MPI, its own choice", OPENMPI_ARGUMENTS),
    Candidate(
        "openmpi:linear",
        "openmpi",
        True,
        "Open MPI alltoall algorithm 1: everything posted at once",
        openmpi_algorithm(1),
    ),
    Candidate(
        "openmpi:pairwise",
        "openmpi",
        True,
        "Open MPI alltoall algorithm 2: one partner per round",
        openmpi_algorithm(2),
    ),
    Candidate(
        "openmpi:linear-sync",
        "openmpi",
        True,
        "Open MPI alltoall algorithm 4: a few posted at a time",
        openmpi_algorithm(4),
    ),
    Candidate("mpich", "mpich", True, "MPICH over OFI tcp", (), MPICH_OFI),
    Candidate("mpich:ucx", "mpich", True, "MPICH over UCX tcp", (), MPICH_UCX),
    Candidate(
        "allemande+openmpi",
        "openmpi",
        False,
        "allemande preloaded into Open MPI",
        OPENMPI_ARGUMENTS,
    ),
    Candidate("allemande+mpich", "mpich", False, "allemande preloaded into MPICH", (), MPICH_OFI),
)

NAMES = tuple(candidate.name for candidate in CANDIDATES)
DEMO_NAMES = ("openmpi", "mpich", "allemande+openmpi", "allemande+mpich")


def valid_names() -> str:
    return ", ".join(NAMES)


def split_list(text: str) -> list[str]:
    """Splits at commas, leaving the options of a candidate together: `a:x=1,y=2,b` is a and b."""
    items: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        is_option = "=" in item and ":" not in item.partition("=")[0]
        if is_option and items and ":" in items[-1]:
            items[-1] += f",{item}"
        else:
            items.append(item)
    return items


def find_option(name: str, key: str) -> Option:
    """The configuration option called `key`, or the only one whose name starts with `key_`."""
    exact = [option for option in OPTIONS if option.key == key]
    found = exact or [option for option in OPTIONS if option.key.startswith(f"{key}_")]
    if len(found) == 1:
        return found[0]
    raise BadInput(
        f"candidate {name!r}: no option is called {key!r}; expected one of: "
        f"{', '.join(option.key for option in OPTIONS)}"
    )


def parse_options(name: str, text: str) -> dict[str, str]:
    """`window_packets=7` becomes ALLEMANDE_WINDOW_PACKETS=7."""
    environment: dict[str, str] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise BadInput(f"candidate {name!r}: {item!r} is not valid; expected option=value")
        option = find_option(name, key)
        where = f"candidate {name!r}: {option.key}"
        environment[option.variable] = check_value(option, where, value)
    return environment


def parse_candidate(text: str) -> Candidate:
    for candidate in CANDIDATES:
        if text == candidate.name:
            return candidate
    base_name, colon, options = text.partition(":")
    for candidate in CANDIDATES:
        if colon and base_name == candidate.name and not candidate.stock:
            return Candidate(
                text,
                candidate.library,
                False,
                f"{candidate.description}, with {options}",
                candidate.launcher_arguments,
                {**candidate.environment, **parse_options(text, options)},
            )
    close = get_close_matches(text, NAMES, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise BadInput(
        f"unknown candidate {text!r}; {hint}expected some of: {valid_names()} "
        f"(those that start with {OUR_PREFIX!r} take options: "
        "allemande+openmpi:name=value,name=value)"
    )


def parse_candidates(texts: Iterable[str]) -> list[Candidate]:
    """Candidates in the order given, each once; an empty list means all of them."""
    names = [item for text in texts for item in split_list(text)]
    if not names:
        return list(CANDIDATES)
    candidates = [parse_candidate(name) for name in names]
    for index, candidate in enumerate(candidates):
        if any(candidate.name == other.name for other in candidates[:index]):
            raise BadInput(f"candidate {candidate.name!r} is given twice; expected each once")
    return candidates
