"""Traffic matrices: how many bytes each rank sends to each other in one exchange.

A matrix is written `uniform`, `zipf:S`, `hot[:FACTOR]`, `block[:DENSITY]`, `random`, `file:PATH` or
as one step of a pattern: `shift:D`, `pairs:D`, `permutation`, `rotate`, `incast:K`, `one-to-all`,
`all-to-one`. Generated ones have a mean of so many bytes per entry, those a rank sends to itself
included; in steps every pair that takes part has so many. The same seed gives the same matrix. Row
r is what rank r sends.
"""

from __future__ import annotations

import io
import math
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from allemande.errors import BadInput
from allemande.text_files import MIB, read_text, shown
from allemande.topology import Cluster

Matrix = NDArray[np.int64]

EXPECTED = (
    "uniform, zipf:S, hot[:FACTOR], block[:DENSITY], random, shift:D, pairs:D, permutation, "
    "rotate, incast:K, one-to-all, all-to-one or file:PATH"
)
FILE_BYTES_MAX = 64 * MIB
RANKS_MAX = math.isqrt(FILE_BYTES_MAX // 8)  # of a matrix from a file, as NumPy holds it
# What NumPy ends by where a header is no header: it has Python read it.
_NO_ARRAY = (
    *(ValueError, EOFError, OverflowError, SyntaxError, MemoryError, RecursionError),
    tokenize.TokenError,
)
_CELL = re.compile(r"\s*[+-]?0*[0-9]{1,18}\s*")
_ROW = re.compile(rf"{_CELL.pattern}(?:,{_CELL.pattern})*")
ENTRY_MAX = 2**31 - 1  # counts of MPI_Alltoallv are int


@dataclass(frozen=True)
class Parameter:
    """The number after the colon: what it is when left out (None: it must be given), its range."""

    name: str
    default: float | None
    low: float
    high: float
    whole: bool = False


PARAMETERS: dict[str, Parameter | None] = {
    "uniform": None,
    "zipf": Parameter("exponent", None, 0, 10),
    "hot": Parameter("factor", 10, 0, 1e6),
    "block": Parameter("density", 0.5, 0, 1),
    "random": None,
    "shift": Parameter("distance", None, 0, 1e6, whole=True),
    "pairs": Parameter("distance", None, 0, 1e6, whole=True),
    "permutation": None,
    "rotate": None,
    "incast": Parameter("number of senders", None, 0, 1e6, whole=True),
    "one-to-all": None,
    "all-to-one": None,
}
# One message per pair, and most pairs have none: the size is that of the messages.
STEPS = ("shift", "pairs", "permutation", "rotate", "incast", "one-to-all", "all-to-one")


@dataclass(frozen=True)
class MatrixSpec:
    """A matrix as the user writes it."""

    text: str
    kind: str
    value: float = 0
    path: Path | None = None

    @property
    def has_own_sizes(self) -> bool:
        """A file says how many bytes; the others are told the mean."""
        return self.kind == "file"


def parse_matrix(text: str) -> MatrixSpec:
    kind, colon, rest = text.strip().partition(":")
    if kind == "file":
        if not rest:
            raise BadInput(f"matrix {text!r} names no file; expected file:PATH")
        return MatrixSpec(text, kind, path=Path(rest))
    if kind not in PARAMETERS:
        raise BadInput(f"matrix {text!r} is unknown; expected {EXPECTED}")
    parameter = PARAMETERS[kind]
    if parameter is None:
        if colon:
            raise BadInput(f"matrix {text!r}: {kind} takes no number; expected {EXPECTED}")
        return MatrixSpec(kind, kind)
    if not colon:
        if parameter.default is None:
            raise BadInput(f"matrix {text!r} lacks its {parameter.name}; expected {EXPECTED}")
        return MatrixSpec(text, kind, parameter.default)
    try:
        value = float(rest)
    except ValueError:
        value = math.nan
    # Nothing at all is no density and no factor.
    above = parameter.low < value or (kind == "zipf" and value == parameter.low)
    fraction = parameter.whole and not value.is_integer()
    if fraction or not (above and value <= parameter.high):
        open_end = "from" if kind == "zipf" else "above"
        number = "whole number" if parameter.whole else "number"
        raise BadInput(
            f"matrix {text!r}: {parameter.name} {rest!r} is not valid; expected a {number} "
            f"{open_end} {parameter.low:g} to {parameter.high:g}"
        )
    return MatrixSpec(text, kind, value)


def split_whole(total: int, weights: NDArray[np.float64]) -> Matrix:
    """Whole numbers in the ratio of the weights that add up to `total`: largest remainders."""
    exact = weights * (total / weights.sum())
    whole: Matrix = np.floor(exact).astype(np.int64)
    missing = total - int(whole.sum())
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:missing]] += 1
    return whole


def _same_rows(ranks: int, mean: int, weights: NDArray[np.float64]) -> Matrix:
    """Every rank sends ranks x mean bytes, split over the receivers by their weights."""
    row = split_whole(ranks * mean, weights)
    return np.broadcast_to(row, (ranks, ranks)).copy()


def _zipf(ranks: int, mean: int, exponent: float, random: np.random.Generator) -> Matrix:
    """As a mixture of experts routes: all senders agree on which receivers are popular."""
    weights = np.arange(1, ranks + 1, dtype=float) ** -exponent
    return _same_rows(ranks, mean, random.permutation(weights))


def _hot(ranks: int, mean: int, factor: float, random: np.random.Generator) -> Matrix:
    weights = np.ones(ranks)
    weights[random.integers(ranks)] = factor
    return _same_rows(ranks, mean, weights)


def leaf_groups(cluster: Cluster, hosts: Sequence[str] | None = None) -> list[int]:
    """The switch of each host, as numbers."""
    switch_of: dict[str, str] = {}
    for link in cluster.links:
        switch_of[link.from_] = link.to
        switch_of[link.to] = link.from_
    names = [host.name for host in cluster.hosts] if hosts is None else hosts
    switches = [switch_of.get(name, "") for name in names]
    return [switches.index(switch) for switch in switches]


def _default_groups(ranks: int) -> list[int]:
    """Where the network has none: about as many groups as each has members."""
    width = max(1, math.isqrt(ranks))
    return [rank // width for rank in range(ranks)]


def _block(
    ranks: int, mean: int, density: float, groups: Sequence[int], random: np.random.Generator
) -> Matrix:
    """What one group of ranks sends to another (or to itself) is nothing, or full."""
    if len(set(groups)) < 2:
        groups = _default_groups(ranks)
    _, of_rank = np.unique(np.asarray(groups), return_inverse=True)
    count = int(of_rank.max()) + 1
    full = np.zeros(count * count, dtype=bool)
    chosen = max(1, round(density * count * count))
    full[random.permutation(count * count)[:chosen]] = True
    pattern = full.reshape(count, count)[np.ix_(of_rank, of_rank)]
    each = round(mean * ranks * ranks / int(pattern.sum()))
    return np.where(pattern, np.int64(each), np.int64(0))


def _derangement(ranks: int, random: np.random.Generator) -> NDArray[np.int64]:
    """A permutation that moves everybody; of all those that do with equal chances."""
    while True:
        targets: NDArray[np.int64] = random.permutation(ranks)
        if not (targets == np.arange(ranks)).any():
            return targets


def _step_pairs(spec: MatrixSpec, ranks: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Who sends to whom in one step of a pattern."""
    everybody, number = range(ranks), int(spec.value)

    def refuse(expected: str) -> BadInput:
        return BadInput(f"matrix {spec.text!r} for {ranks} ranks; expected {expected}")

    if ranks < 2:
        raise refuse("two or more")
    match spec.kind:
        case "shift":
            if number % ranks == 0:
                raise refuse("a distance that leads to another rank")
            return [(rank, (rank + number) % ranks) for rank in everybody]
        case "pairs":
            senders = ranks // 2
            if number > ranks - senders:
                raise refuse(f"a distance of at most {ranks - senders}, from the first half on")
            return [(rank, rank + number) for rank in range(senders)]
        case "permutation":
            return list(enumerate(int(to) for to in _derangement(ranks, random)))
        case "rotate":
            bits = ranks.bit_length() - 1
            if ranks != 1 << bits:
                raise refuse("a power of two: the rank's binary digits are rotated left by one")
            turned = [(rank << 1 | rank >> (bits - 1)) & (ranks - 1) for rank in everybody]
            return [(rank, to) for rank, to in enumerate(turned) if to != rank]
        case "incast":
            if number > ranks - 1:
                raise refuse(f"at most {ranks - 1} senders")
            return [(rank, 0) for rank in range(1, number + 1)]
        case "one-to-all":
            return [(0, rank) for rank in range(1, ranks)]
        case _:
            return [(rank, 0) for rank in range(1, ranks)]


def of_sends(ranks: int, sends: Iterable[tuple[int, int, int]]) -> Matrix:
    """The matrix of (sender, receiver, bytes)."""
    matrix: Matrix = np.zeros((ranks, ranks), dtype=np.int64)
    for sender, receiver, size in sends:
        matrix[sender, receiver] = size
    return matrix


def delivered_bytes(matrix: Matrix) -> int:
    """What reaches another rank: the bits that 001 counts, for each pair of sender and receiver."""
    return int(matrix.sum() - np.trace(matrix))


def _read_array(path: Path) -> Any:
    """What NumPy makes of a file. Numbers of bytes are whole: reading them as such refuses 1.5 and
    nan. What an .npy file only says that it holds is not made room for."""
    path.stat()  # says best what is wrong with a name
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    text = read_text(path, "a matrix as CSV", FILE_BYTES_MAX)
    _check_csv(text, shown(path))
    return np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.int64, ndmin=2)


def _check_csv(text: str, name: str) -> None:
    """BadInput with the line of what is no row of whole numbers, before NumPy makes room for it."""
    columns = 0
    for number, line in enumerate(text.split("\n"), 1):
        row = line.partition("#")[0]
        if not row.strip():
            continue
        count = row.count(",") + 1
        if count > RANKS_MAX or count != (columns or count):
            expected = f"{columns}, as in the row before" if columns else f"at most {RANKS_MAX}"
            raise BadInput(f"{name}:{number}: has {count} columns; expected {expected}")
        columns = count
        if _ROW.fullmatch(row):
            continue
        cells = enumerate(row.split(","), 1)
        column, cell = next((i, cell) for i, cell in cells if not _CELL.fullmatch(cell))
        raise BadInput(
            f"{name}:{number}: column {column} is {cell.strip()!r:.40}; expected whole numbers of "
            "bytes with commas between, as in 0,1000,1000, and no headings"
        )
    if not columns:
        raise BadInput(f"{name}: has no numbers; expected a row of whole numbers of bytes per rank")


def _read_file(path: Path) -> Matrix:
    """Counts of bytes as CSV or as NumPy's .npy; `check_matrix` says whether they can be used."""
    name = shown(path)
    try:
        values = _read_array(path)
    except OSError as error:
        raise BadInput(f"matrix file {name}: {error.strerror or error}") from error
    except BadInput as error:
        raise BadInput(f"matrix file {error}") from None
    except _NO_ARRAY as error:
        raise BadInput(
            f"matrix file {name}: {error!s:.200}; expected CSV or .npy of whole numbers of bytes"
        ) from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        kind = getattr(values, "dtype", type(values).__name__)
        raise BadInput(f"matrix file {name} holds {kind}; expected whole numbers of bytes")
    if values.nbytes > FILE_BYTES_MAX:
        raise BadInput(f"matrix file {name}: has more than {FILE_BYTES_MAX // MIB} MiB")
    if values.dtype.kind == "u" and values.size and int(values.max()) > ENTRY_MAX:
        raise BadInput(f"matrix file {name}: {int(values.max())} bytes; at most {ENTRY_MAX}")
    return values.astype(np.int64)


def check_matrix(matrix: Matrix, ranks: int, where: str) -> None:
    """Square, one row per rank, and nothing that MPI cannot count."""
    if matrix.shape != (ranks, ranks):
        shape = " x ".join(str(length) for length in matrix.shape)
        raise BadInput(f"{where} is {shape}; expected {ranks} x {ranks}: a row per sending rank")
    for entry in (int(matrix.min()), int(matrix.max())):
        if not 0 <= entry <= ENTRY_MAX:
            row, column = (int(i) for i in np.argwhere(matrix == entry)[0])
            raise BadInput(
                f"{where}: row {row + 1}, column {column + 1} is {entry} bytes; "
                f"expected 0 to {ENTRY_MAX}"
            )


def make_matrix(
    spec: MatrixSpec, ranks: int, mean: int, seed: int = 1, groups: Sequence[int] | None = None
) -> Matrix:
    """The matrix for so many ranks. `groups`: of each rank, for `block`; `mean`: not for a file; in
    steps the size of every message. Raises BadInput for what does not suit the ranks."""
    random = np.random.default_rng(seed)
    where = f"matrix {spec.text!r}"
    match spec.kind:
        case "file":
            assert spec.path is not None
            matrix, where = _read_file(spec.path), f"matrix file {spec.path}"
        case "zipf":
            matrix = _zipf(ranks, mean, spec.value, random)
        case "hot":
            matrix = _hot(ranks, mean, spec.value, random)
        case "block":
            matrix = _block(ranks, mean, spec.value, groups or _default_groups(ranks), random)
        case "random":
            matrix = random.integers(0, 2 * mean + 1, size=(ranks, ranks), dtype=np.int64)
        case kind if kind in STEPS:
            pairs = _step_pairs(spec, ranks, random)
            matrix = of_sends(ranks, ((sender, to, mean) for sender, to in pairs))
        case _:
            matrix = np.full((ranks, ranks), mean, dtype=np.int64)
    check_matrix(matrix, ranks, where)
    return matrix


def mean_of(matrix: Matrix) -> int:
    """Bytes per entry, as `--sizes` counts them."""
    return round(float(matrix.mean()))
