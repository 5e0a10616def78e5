"""Which shared libraries a program names as needed, read from its file without running anything."""

from __future__ import annotations

import struct
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian: what allemande is built for
_LOAD, _DYNAMIC = 1, 2  # program header types
_NEEDED, _STRTAB = 1, 5  # tags of the dynamic section


def needed_libraries(path: Path) -> list[str]:
    """The sonames of its DT_NEEDED entries; none where it is no dynamic program or unreadable."""
    try:
        data = path.read_bytes()
        return _needed(data) if data.startswith(_MAGIC) else []
    except (OSError, struct.error, ValueError):
        return []


def _needed(data: bytes) -> list[str]:
    (table,) = struct.unpack_from("<Q", data, 0x20)
    size, count = struct.unpack_from("<HH", data, 0x36)
    segments = []  # type, offset in the file, address, bytes in the file
    for index in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", data, table + index * size
        )
        segments.append((kind, offset, address, length))
    needed, strings = [], None
    for kind, offset, _, length in segments:
        if kind != _DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", data[offset : offset + length]):
            if tag == _NEEDED:
                needed.append(value)
            elif tag == _STRTAB:
                strings = value
    for kind, offset, address, length in segments:
        if strings is not None and kind == _LOAD and address <= strings < address + length:
            base = strings - address + offset
            return [_text(data, base + name) for name in needed]
    return []


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode(errors="replace")
