"""What users hand to `allemande.alltoall` as runs of bytes, and what is wrong with it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from allemande.errors import BadInput

Blocks = list[tuple[int, int]]  # (displacement, bytes) per rank


class BadBuffer(BadInput, ValueError):
    """A buffer, its counts or its displacements."""


@dataclass(frozen=True)
class Side:
    """One buffer: its bytes, and how the user counts in them."""

    name: str
    data: memoryview
    item_bytes: int
    kind: str  # "float64", for messages

    @property
    def items(self) -> int:
        return len(self.data) // self.item_bytes


def _is_in_place(send: Any) -> bool:
    """MPI.IN_PLACE, recognised without mpi4py: it is an int of a type of its own."""
    return type(send).__name__ == "InPlaceType"


def _refuse_places(name: str, array: Any) -> None:
    """What mpi4py has for no buffer at all."""
    if _is_in_place(array):
        raise BadBuffer(f"{name} is MPI.IN_PLACE, which stands for send alone; expected a buffer")
    if type(array).__name__ == "BottomType":
        raise BadBuffer(f"{name} is MPI.BOTTOM; expected a buffer")


def _side(name: str, array: Any, datatype: Any, *, writable: bool) -> Side:
    _refuse_places(name, array)
    if hasattr(array, "__cuda_array_interface__"):
        raise BadBuffer(f"{name} is in GPU memory; copy it to the host first")
    if isinstance(array, np.ndarray):
        data, item_bytes, kind = _numpy_bytes(name, array)
    else:
        try:
            view = memoryview(array)
        except TypeError as error:
            raise BadBuffer(
                f"{name} is of type {type(array).__name__}; expected a NumPy array or another "
                "object with the buffer protocol"
            ) from error
        if not view.contiguous:
            raise BadBuffer(_not_contiguous(name))
        item_bytes, kind = view.itemsize, f"items of {view.itemsize} bytes"
        data = view.cast("B") if view.nbytes else memoryview(bytearray())
    if writable and data.readonly and len(data) > 0:
        raise BadBuffer(f"{name} is read-only; expected a buffer that can be written to")
    if datatype is not None:
        _check_datatype(name, datatype, item_bytes, kind)
    return Side(name, data, item_bytes, kind)


def _not_contiguous(name: str) -> str:
    return f"{name} is not contiguous; pass numpy.ascontiguousarray(...) of it"


def _numpy_bytes(name: str, array: np.ndarray[Any, Any]) -> tuple[memoryview, int, str]:
    array = array.view(np.ndarray)  # of a masked array the data
    kind = str(array.dtype)
    if array.dtype.hasobject:
        raise BadBuffer(f"{name} holds Python objects (dtype {kind}), which have no fixed bytes")
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise BadBuffer(_not_contiguous(name))
    if array.dtype.itemsize == 0:
        raise BadBuffer(f"{name} has items of no bytes (dtype {kind})")
    flat = array.reshape(-1, order="A")  # a view: the array is contiguous
    return flat.view(np.uint8).data, array.dtype.itemsize, kind


def _check_datatype(name: str, datatype: Any, item_bytes: int, kind: str) -> None:
    if isinstance(datatype, str):
        try:
            size = np.dtype(datatype).itemsize
        except TypeError as error:
            raise BadBuffer(f"{name}: {datatype!r} is no datatype") from error
    else:
        try:
            size, extent = datatype.Get_size(), datatype.Get_extent()[1]
        except (AttributeError, RuntimeError) as error:  # mpi4py's Exception: null, or freed
            raise BadBuffer(
                f"{name}: {datatype!r} is no datatype; expected one like MPI.DOUBLE"
            ) from error
        if extent != size:
            raise BadBuffer(
                f"{name}: the datatype has gaps ({size} bytes of data in {extent}); pass a "
                "contiguous copy"
            )
        if not datatype.is_predefined and not _packs_to_itself(datatype, size):
            raise BadBuffer(
                f"{name}: the datatype takes its bytes in another order, or begins elsewhere; pass "
                "a contiguous copy"
            )
    if size != item_bytes:
        raise BadBuffer(
            f"{name}: the datatype has {size} bytes, the items of the buffer have {item_bytes} "
            f"({kind})"
        )


def _packs_to_itself(datatype: Any, size: int) -> bool:
    """Whether the bytes of an element lie one after the other, from its beginning on."""
    if tuple(datatype.Get_true_extent()) != (0, size):
        return False
    comm = getattr(sys.modules.get("mpi4py.MPI"), "COMM_SELF", None)
    places = np.arange(size, dtype=np.uint64)
    # Each byte tells its place, a byte of the number at a time.
    for shift in range(0, max(size - 1, 1).bit_length(), 8):
        source = (places >> np.uint64(shift)).astype(np.uint8)
        packed = np.zeros(size, np.uint8)
        datatype.Pack(source, packed, 0, comm)
        if not np.array_equal(source, packed):
            return False
    return True


def _fields(name: str, spec: Any) -> list[Any]:
    """`[array, ...]` of mpi4py as a list; anything else is the array alone."""
    return list(spec) if isinstance(spec, (list, tuple)) else [spec]


def equal_blocks(send: Any, recv: Any, ranks: int) -> tuple[memoryview | None, memoryview, int]:
    """The bytes to send (None: in place), those to receive, and how many per rank."""
    target = _equal_side("recv", recv, ranks, writable=True)
    block_bytes = len(target.data) // ranks
    if _is_in_place(send):
        return None, target.data, block_bytes
    source = _equal_side("send", send, ranks, writable=False)
    if len(source.data) != len(target.data):
        raise BadBuffer(
            f"send has {len(source.data)} bytes ({source.items} x {source.kind}), recv has "
            f"{len(target.data)} ({target.items} x {target.kind}); expected the same"
        )
    return source.data, target.data, block_bytes


def _equal_side(name: str, spec: Any, ranks: int, *, writable: bool) -> Side:
    array, *rest = _fields(name, spec) or [None]
    if len(rest) > 1:
        raise BadBuffer(
            f"{name} has {len(rest) + 1} parts; expected an array or [array, datatype] "
            "(allemande.alltoallv takes counts)"
        )
    side = _side(name, array, rest[0] if rest else None, writable=writable)
    if side.items % ranks:
        raise BadBuffer(
            f"{name} has {side.items} items ({side.kind}), which {ranks} ranks cannot share evenly"
        )
    return side


def vector_blocks(
    send: Any, recv: Any, ranks: int
) -> tuple[memoryview | None, Blocks, memoryview, Blocks]:
    """The bytes to send (None: in place) and to receive, each with its blocks."""
    target, into = _vector_side("recv", recv, ranks, writable=True)
    if _is_in_place(send):
        return None, into, target.data, into
    source, out = _vector_side("send", send, ranks, writable=False)
    return source.data, out, target.data, into


def _vector_side(name: str, spec: Any, ranks: int, *, writable: bool) -> tuple[Side, Blocks]:
    array, *rest = _fields(name, spec) or [None]
    counts = displacements = datatype = None
    if rest and isinstance(rest[0], tuple) and len(rest[0]) == 2 and not _is_number(rest[0][0]):
        (counts, displacements), rest = rest[0], rest[1:]
    elif rest:
        counts, rest = rest[0], rest[1:]
        if (
            rest
            and (rest[0] is None or isinstance(rest[0], (Sequence, np.ndarray)))
            and not (isinstance(rest[0], str))
        ):
            displacements, rest = rest[0], rest[1:]
    if rest:
        datatype, rest = rest[0], rest[1:]
    if counts is None or rest:
        raise BadBuffer(
            f"{name}: expected [array, counts], [array, (counts, displacements)] or "
            "[array, counts, displacements, datatype]"
        )
    side = _side(name, array, datatype, writable=writable)
    lengths = _integers(name, "counts", counts, ranks)
    if displacements is None:
        places = [0, *accumulate(lengths[:-1])]
    else:
        places = _integers(name, "displacements", displacements, ranks)
    for rank, (place, length) in enumerate(zip(places, lengths, strict=True)):
        if length and place + length > side.items:
            raise BadBuffer(
                f"{name}: the block of rank {rank} has items {place} to {place + length - 1}, the "
                f"buffer has {side.items}"
            )
    blocks = [
        (place * side.item_bytes if length else 0, length * side.item_bytes)
        for place, length in zip(places, lengths, strict=True)
    ]
    return side, blocks


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def _integers(name: str, what: str, values: Any, ranks: int) -> list[int]:
    try:
        numbers = [operator.index(value) for value in values]
    except TypeError as error:
        raise BadBuffer(f"{name}: {what} are not integers, one for each rank") from error
    if len(numbers) != ranks:
        raise BadBuffer(f"{name}: {len(numbers)} {what} for {ranks} ranks")
    if min(numbers) < 0:
        raise BadBuffer(f"{name}: {what} must not be negative ({min(numbers)})")
    return numbers
