"""MPICH's selection file: which algorithm MPI_Alltoall takes, by ranks and bytes per pair.

`MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` names a JSON file that takes the place of the library's
whole tree of decisions. A collective that is missing there, or a key the library does not know,
ends the job. So the tree comes from the site's own library, in whose data it lies as text, and one
branch of it is changed::

    "collective=alltoall": {"comm_type=intra": {"is_sendbuf_inplace=no": {
        "comm_size<=31": { as it was },
        "comm_size<=32": {
            "avg_msg_size<=499": { as it was },
            "avg_msg_size<=20000": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
            "avg_msg_size=any": { as it was }},
        "comm_size=any": { as it was }}}}

The first key that fits counts, and every chain ends in `=any`. The library maps the file and reads
up to the zero behind it, which is not there where the size is a multiple of a page.

The window of `scattered` is one number for all sizes, `MPIR_CVAR_ALLTOALL_THROTTLE` (32 unless
set). It goes beside the file. An algorithm that is forced by `MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM`
outranks the file.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.formats.tuning_table import Range, TuningTable
from allemande.stock_algorithms import MPICH, StockAlgorithm
from allemande.text_files import MIB, parse_json, read_bytes

FILE_VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
THROTTLE_VARIABLE = "MPIR_CVAR_ALLTOALL_THROTTLE"
PAGE_BYTES = 4096
LIBRARY_BYTES_MAX = 512 * MIB
SIZE_MAX = 2**31 - 1  # the library reads an int
BRANCH = ("collective=alltoall", "comm_type=intra", "is_sendbuf_inplace=no")
_PREFIX = "algorithm=MPIR_Alltoall_intra_"
_NAMES = {"bruck": "brucks", "scattered": "scattered", "pairwise": "pairwise"}
_K_BRUCKS = "k_brucks"

Tree = dict[str, Any]


@dataclass(frozen=True)
class Library:
    """What a libmpi says of its choices."""

    path: Path
    tree: Tree
    algorithms: frozenset[str]  # those of MPI_Alltoall that a file may name: "scattered"


def _branch_of(tree: Any) -> Tree | None:
    for key in BRANCH:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else None


def _names_algorithms(tree: Any) -> bool:
    """Unlike the trees that choose between compositions of algorithms, or those of one host."""
    branch = _branch_of(tree)
    return branch is not None and _PREFIX in json.dumps(branch)


def read_library(path: Path) -> Library:
    """Finds tree and algorithms in the data of a libmpi; BadInput where there is none."""
    data = read_bytes(path, "MPICH's libmpi.so.12", LIBRARY_BYTES_MAX)
    algorithms = frozenset(
        match[1].decode()
        for match in re.finditer(rb"\0" + _PREFIX.encode() + rb"(\w{1,64})(?=\0)", data)
    )
    for match in re.finditer(rb'"collective=alltoall"', data):
        begin = data.rfind(b"\0", 0, match.start()) + 1
        end = data.find(b"\0", match.start())
        try:
            tree = json.loads(data[begin:end])
        except (ValueError, RecursionError):
            continue
        if _names_algorithms(tree):
            return Library(path, tree, algorithms)
    raise BadInput(
        f"{path}: no tree of decisions lies in it; expected the libmpi of MPICH 4 or later"
    )


def default_scatters(library: Library) -> Callable[[int, int], bool]:
    """Whether the library by itself takes `scattered` for so many ranks and bytes per pair."""
    own = Selection(str(library.path), library.tree)
    return lambda ranks, size: own.find(ranks, size) == "scattered"


def settings(path: Path, throttle: int | None) -> dict[str, str]:
    """The variables that make MPICH read the file, with the window that goes beside it."""
    return {FILE_VARIABLE: str(path)} | ({THROTTLE_VARIABLE: str(throttle)} if throttle else {})


# ---- writing -------------------------------------------------------------------------------------


def throttle_of(table: TuningTable) -> int | None:
    """The one window of `scattered` in a table; None: as the library has it."""
    found: dict[int | None, tuple[int, int]] = {}
    for ranks, ranges in table.by_ranks.items():
        for each in ranges:
            if each.algorithm.name == "scattered":
                found.setdefault(each.algorithm.value, (ranks, each.first))
    if len(found) > 1:
        places = ", ".join(
            f"{value or 'the default'} for {ranks} ranks from {first} bytes"
            for value, (ranks, first) in found.items()
        )
        raise BadInput(
            f"{MPICH}:scattered has several windows: {places}; MPICH has one for all sizes, "
            f"{THROTTLE_VARIABLE}: keep one of them"
        )
    return next(iter(found), None)


def _leaf(algorithm: StockAlgorithm, library: Library) -> Tree:
    name = _NAMES[algorithm.name]
    parameters: Tree = {}
    if algorithm.name == "bruck" and algorithm.value is not None:
        name, parameters = _K_BRUCKS, {f"k={algorithm.value}": {}}
    if name not in library.algorithms:
        raise BadInput(
            f"{algorithm}: {library.path} has no {name}; expected some of: "
            f"{', '.join(sorted(library.algorithms))}"
        )
    return {_PREFIX + name: parameters}


def _by_size(ranges: tuple[Range, ...], before: Tree, library: Library) -> Tree:
    chain: Tree = {}
    for index, each in enumerate(ranges):
        last = index + 1 == len(ranges)
        end = 0 if last else ranges[index + 1].first - 1
        if end > SIZE_MAX:
            raise BadInput(f"{end} bytes per pair are too many; MPICH compares up to {SIZE_MAX}")
        default = each.algorithm.is_default
        leaf = copy.deepcopy(before) if default else _leaf(each.algorithm, library)
        chain["avg_msg_size=any" if last else f"avg_msg_size<={end}"] = leaf
    return chain


def write(table: TuningTable, library: Library) -> str:
    """The file; BadInput where the library lacks an algorithm, or windows differ."""
    throttle_of(table)
    tree = copy.deepcopy(library.tree)
    branch = _branch_of(tree)
    assert branch is not None  # read_library has looked
    before = copy.deepcopy(branch)
    chain: Tree = {}
    covered = 0  # ranks below are in the chain
    for ranks, ranges in sorted(table.by_ranks.items()):
        if ranks > covered + 1:
            chain[f"comm_size<={ranks - 1}"] = copy.deepcopy(before)
        chain[f"comm_size<={ranks}"] = _by_size(ranges, before, library)
        covered = ranks
    chain["comm_size=any"] = before
    branch.clear()
    branch.update(chain)
    text = json.dumps(tree, indent=1) + "\n"
    return text + "\n" if len(text) % PAGE_BYTES == 0 else text


# ---- reading -------------------------------------------------------------------------------------

_CONDITION = re.compile(r"(comm_size|avg_msg_size)(<=|<|=)(any|pow2|\d+)")


def _fits(key: str, ranks: int, size: int, source: str) -> bool:
    match = _CONDITION.fullmatch(key.replace(" ", ""))
    if match is None:
        raise BadInput(f"{source}: key {key!r} is not known here; expected comm_size<=N and so on")
    if match[3] == "any":
        return True
    if match[3] == "pow2":
        return ranks & (ranks - 1) == 0
    value = ranks if match[1] == "comm_size" else size
    return value < int(match[3]) if match[2] == "<" else value <= int(match[3])


@dataclass(frozen=True)
class Selection:
    """A file, read as MPICH reads it."""

    source: str
    tree: Tree

    def find(self, ranks: int, size: int) -> str:
        """MPICH's name of what MPI_Alltoall takes for `size` bytes per pair: "scattered"."""
        node = _branch_of(self.tree)
        assert node is not None  # read has looked
        while True:
            for key, below in node.items():
                if key.startswith("algorithm="):
                    found = key.removeprefix(_PREFIX)
                    return f"{found} {next(iter(below))}" if below else found
                if _fits(key, ranks, size, self.source):
                    node = below
                    break
            else:
                raise BadInput(
                    f"{self.source}: nothing fits {ranks} ranks and {size} bytes; expected chains "
                    "that end in =any"
                )

    def collectives(self) -> list[str]:
        return [key.partition("=")[2] for key in self.tree]


def _check_chain(node: Mapping[str, Any], source: str) -> None:
    """Below the branch of MPI_Alltoall: keys that are known, chains that end."""
    keys = list(node)
    if keys and keys[0].startswith("algorithm="):
        return
    for key in keys:
        _fits(key, 1, 1, source)
        if not isinstance(node[key], dict):
            raise BadInput(f"{source}: {key!r} holds no object; expected objects all the way down")
        _check_chain(node[key], source)
    if not keys or not keys[-1].endswith("=any"):
        raise BadInput(
            f"{source}: a chain ends in {keys[-1] if keys else 'nothing'!r}; expected =any"
        )


def read(text: str, source: str) -> Selection:
    """A file, checked for what MPICH would end the job over; BadInput otherwise."""
    if len(text.encode()) % PAGE_BYTES == 0:
        raise BadInput(
            f"{source}: {len(text.encode())} bytes are whole pages, and MPICH reads on behind "
            "them; expected any other size, as with one more line end"
        )
    tree = parse_json(text, source, "a selection file")
    branch = _branch_of(tree)
    if branch is None:
        raise BadInput(f"{source}: no {' / '.join(BRANCH)}; expected MPICH's whole tree")
    _check_chain(branch, source)
    return Selection(source, tree)


def check_against(selection: Selection, library: Library) -> None:
    """BadInput where MPICH would end the job: collectives that lack, algorithms it has not."""
    lacking = set(library.tree) - set(selection.tree)
    if lacking:
        raise BadInput(
            f"{selection.source}: {', '.join(sorted(lacking))} lack; MPICH ends the job there. "
            "Expected its whole tree, as `allemande emit mpich-selection` writes it"
        )
    named = set(re.findall(_PREFIX + r"(\w+)", json.dumps(_branch_of(selection.tree))))
    unknown = sorted(named - library.algorithms)
    if unknown:
        raise BadInput(
            f"{selection.source}: {library.path} has no {', '.join(unknown)}; expected some of: "
            f"{', '.join(sorted(library.algorithms))}"
        )
