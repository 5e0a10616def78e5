"""Whether two runs wrote the same: files by the digests of their parts, text by its lines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from allemande.errors import Failed

PART_BYTES = 64 * 1024


@dataclass(frozen=True)
class Written:
    """A file as a run left it."""

    size: int
    digests: tuple[bytes, ...]  # of each PART_BYTES


def read_written(path: Path) -> Written:
    digests = []
    size = 0
    try:
        with path.open("rb") as file:
            while part := file.read(PART_BYTES):
                size += len(part)
                digests.append(hashlib.blake2b(part, digest_size=16).digest())
    except OSError as error:
        raise Failed(f"{path}: cannot be read after a run: {error.strerror}") from error
    return Written(size, tuple(digests))


def describe_difference(one: Written, other: Written) -> str:
    """Where they differ, empty if they are the same."""
    for index, (mine, theirs) in enumerate(zip(one.digests, other.digests, strict=False)):
        if mine != theirs:
            least = index * PART_BYTES
            return f"they differ from a byte in {least} to {least + PART_BYTES - 1} on"
    if one.size != other.size:
        return f"one has {one.size} bytes, the other {other.size}"
    return ""


@dataclass(frozen=True)
class Stamp:
    """What changes when a program writes a file."""

    inode: int
    changed_ns: int


def stamp_of(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_ctime_ns)
