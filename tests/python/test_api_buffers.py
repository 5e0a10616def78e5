"""Which buffers `allemande.alltoall` takes, and what it says about the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from allemande.api_buffers import BadBuffer, equal_blocks, vector_blocks
from allemande.errors import BadInput

InPlaceType = type("InPlaceType", (int,), {})
BottomType = type("BottomType", (int,), {})


class Datatype:
    """Like MPI.DOUBLE."""

    is_predefined = True

    def __init__(self, size: int, extent: int | None = None) -> None:
        self.size, self.extent = size, size if extent is None else extent

    def Get_size(self) -> int:  # noqa: N802
        return self.size

    def Get_extent(self) -> tuple[int, int]:  # noqa: N802
        return 0, self.extent


class Derived(Datatype):
    """Takes its bytes from these places."""

    is_predefined = False

    def __init__(self, places: Sequence[int]) -> None:
        super().__init__(len(places))
        self.places = places

    def Get_true_extent(self) -> tuple[int, int]:  # noqa: N802
        return min(self.places), max(self.places) + 1 - min(self.places)

    def Pack(  # noqa: N802
        self, source: Any, packed: Any, position: int, _comm: object
    ) -> None:
        packed[position:] = source[list(self.places)]


@pytest.mark.parametrize(
    "dtype", ["u1", "i4", "f8", "c16", "M8[s]", "S5", [("a", "i4"), ("b", "f8")]]
)
def test_buffers_of_any_dtype_split_evenly(dtype: Any) -> None:
    send, recv = np.zeros(12, dtype), np.zeros((3, 4), dtype)
    source, target, block_bytes = equal_blocks(send, recv, 4)
    assert source is not None and len(source) == len(target) == send.nbytes
    assert block_bytes == 3 * send.itemsize


def test_what_is_received_lands_in_the_callers_buffer() -> None:
    recv = np.zeros((4, 2), order="F")
    _, target, _ = equal_blocks(np.ones(8), recv, 2)
    target[:] = b"\1" * len(target)
    assert set(recv.tobytes()) == {1}
    plain = bytearray(8)
    _, target, block_bytes = equal_blocks(b"12345678", plain, 4)
    target[0] = 7
    assert plain[0] == 7 and block_bytes == 2


def test_empty_buffers_have_blocks_of_no_bytes() -> None:
    assert equal_blocks(np.zeros(0), np.zeros(0), 4)[2] == 0
    assert equal_blocks(b"", bytearray(), 4)[2] == 0


def test_in_place_sends_and_datatypes_are_recognised() -> None:
    source, target, block_bytes = equal_blocks(InPlaceType(1), [np.zeros(4), Datatype(8)], 4)
    assert (source, len(target), block_bytes) == (None, 32, 8)
    assert equal_blocks([np.zeros(4), "d"], np.zeros(4), 4)[2] == 8
    assert equal_blocks([np.zeros(4), Derived(range(8))], np.zeros(4), 4)[2] == 8
    long = np.zeros(4, "V600")
    assert equal_blocks([long, Derived(range(600))], long.copy(), 4)[2] == 600


def test_of_a_masked_array_the_data_count() -> None:
    send = np.ma.masked_array(np.arange(4.0), mask=[True, False, False, True])
    source, _, _ = equal_blocks(send, np.ma.zeros(4), 4)
    assert source is not None and bytes(source) == np.arange(4.0).tobytes()


READ_ONLY = np.zeros(4)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("send", "recv", "says"),
    [
        (np.zeros(4), np.zeros(4, "f4"), r"send has 32 bytes \(4 x float64\), recv has 16"),
        (np.zeros(5), np.zeros(5), "recv has 5 items .float64., which 4 ranks cannot share"),
        (np.zeros(8)[::2], np.zeros(4), "send is not contiguous; pass numpy.ascontiguousarray"),
        (memoryview(b"12345678")[::2], bytearray(4), "send is not contiguous"),
        (np.zeros(4), np.zeros(8)[::2], "recv is not contiguous"),
        (np.zeros(4), READ_ONLY, "recv is read-only"),
        (bytes(4), bytes(4), "recv is read-only"),
        ([np.zeros(4), Datatype(4)], np.zeros(4), "datatype has 4 bytes, the items .* have 8"),
        ([np.zeros(4), Datatype(8, 16)], np.zeros(4), "the datatype has gaps"),
        ([np.zeros(4), Derived([4, 5, 6, 7, 0, 1, 2, 3])], np.zeros(4), "in another order"),
        ([np.zeros(4), Derived(range(8, 16))], np.zeros(4), "or begins elsewhere"),
        (
            [np.zeros(4, "V600"), Derived([*range(256, 600), *range(256)])],
            np.zeros(4, "V600"),
            "in another order",
        ),
        (np.zeros(4), InPlaceType(1), "recv is MPI.IN_PLACE, which stands for send alone"),
        (np.zeros(4), BottomType(0), "recv is MPI.BOTTOM; expected a buffer"),
        ([np.zeros(4), 7], np.zeros(4), "7 is no datatype"),
        ([np.zeros(4), "nonsense"], np.zeros(4), "'nonsense' is no datatype"),
        ([np.zeros(4), [1], [2]], np.zeros(4), "alltoallv takes counts"),
        ([], np.zeros(4), "send is of type NoneType; expected a NumPy array"),
        (np.array([{}] * 4), np.zeros(4), "send holds Python objects"),
        (np.zeros(4, "V0"), np.zeros(4), "items of no bytes"),
        (type("Gpu", (), {"__cuda_array_interface__": {}})(), np.zeros(4), "in GPU memory"),
    ],
)
def test_buffers_that_cannot_be_used_are_refused_with_the_reason(
    send: Any, recv: Any, says: str
) -> None:
    with pytest.raises(BadBuffer, match=says) as caught:
        equal_blocks(send, recv, 4)
    assert isinstance(caught.value, (BadInput, ValueError))


@pytest.mark.parametrize(
    "spec",
    [
        lambda a: [a, [1, 2, 0]],
        lambda a: [a, (1, 2, 0)],
        lambda a: [a, np.array([1, 2, 0]), None, "d"],
        lambda a: [a, ([1, 2, 0], [0, 1, 3])],
        lambda a: [a, ([1, 2, 0], None), Datatype(8)],
        lambda a: [a, [1, 2, 0], [0, 1, 99], Datatype(8)],
        lambda a: (a, [1, 2, 0], np.array([0, 1, 3])),
        lambda a: [a, [1, 2, 0], Datatype(8)],
    ],
)
def test_every_way_to_give_counts_gives_the_same_blocks(spec: Any) -> None:
    _, out, _, into = vector_blocks(spec(np.zeros(4)), spec(np.zeros(4)), 3)
    assert out == into == [(0, 8), (8, 16), (0, 0)]


def test_in_place_vector_sends_what_it_receives_into() -> None:
    source, out, _, into = vector_blocks(InPlaceType(1), [np.zeros(4), [2, 2]], 2)
    assert source is None and out == into == [(0, 16), (16, 16)]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (np.zeros(4), r"expected \[array, counts\]"),
        ([np.zeros(4)], r"expected \[array, counts\]"),
        ([np.zeros(4), [1, 2]], "2 counts for 3 ranks"),
        ([np.zeros(4), [1, 2, -1]], r"counts must not be negative \(-1\)"),
        ([np.zeros(4), [1.5, 2, 1]], "counts are not integers"),
        ([np.zeros(4), 7], "counts are not integers"),
        ([np.zeros(4), [1, 2, 3]], "the block of rank 2 has items 3 to 5, the buffer has 4"),
        ([np.zeros(4), [1, 1, 1], [0, 1]], "2 displacements for 3 ranks"),
        ([np.zeros(4), [1, 1, 1], None, "f4"], "the datatype has 4 bytes"),
        ([np.zeros(4), [1, 1, 1], None, "d", 5], r"expected \[array, counts\]"),
    ],
)
def test_what_is_wrong_with_a_vector_is_said(spec: Any, says: str) -> None:
    with pytest.raises(BadBuffer, match=says):
        vector_blocks(spec, [np.zeros(4), [0, 0, 0]], 3)
