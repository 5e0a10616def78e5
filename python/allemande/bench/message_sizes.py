"""Sizes of the messages to measure, as the user writes them: `100,1000,50K`.

K and M are powers of ten. MPI_Alltoall counts in int, so sizes end below 2^31.
"""

from __future__ import annotations

import re

from allemande.errors import BadInput

SIZE_BYTES_MAX = 2**31 - 1  # MPI_Alltoall counts are int
FACTORS = {"": 1, "k": 1000, "m": 1000_000}


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([kKmM]?)[bB]?", text.strip())
    size = int(match[1]) * FACTORS[match[2].lower()] if match else 0
    if not 1 <= size <= SIZE_BYTES_MAX:
        raise BadInput(
            f"size {text.strip()!r} is not valid; expected bytes from 1 to {SIZE_BYTES_MAX}, "
            "with an optional K (1000) or M (1000000), separated by commas: 100,1000,50K"
        )
    return size


def parse_sizes(text: str) -> list[int]:
    """Ascending and each once, so that the cheap sizes warm the connections for the dear ones."""
    return sorted({_parse_size(item) for item in text.split(",")})
