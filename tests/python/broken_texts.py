"""Files broken at random, by a seed: what a reader must survive."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

# What stands in the place of a number, or anywhere.
NUMBERS = (b"0", b"-1", b"1", b"7", b"999999999", b"9" * 4300, b"1e9", b"0.5", b"nan", b"")
ODD = (
    b"\xff\xfe",
    b"\x00",
    b"\x1b[2J",
    b"\xe2\x80\xa8",
    b"\xd9\xa3",
    b"[" * 3000,
    b"(" * 3000,
    b"<a>" * 3000,
    b"{",
    b"]",
    b'"',
    b"'",
    b"#",
    b"=",
    b"&a [*a]",
    b"*a",
    b"!!python/name:os.system",
    b"2024-13-45",
    b"n[0-999999999]",
    b"n[0-99][0-99][0-99]",
    b"x" * 5000,
    b"<!ENTITY e 'e'>",
    b"&e;",
    b"\\",
    b"\n",
    b"\r",
    b"\t",
)


def _cut(text: bytes, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text) + 1)]


def _drop(text: bytes, rng: random.Random) -> bytes:
    begin = rng.randrange(len(text) + 1)
    return text[:begin] + text[begin + rng.randrange(1, 40) :]


def _flip(text: bytes, rng: random.Random) -> bytes:
    found = bytearray(text)
    for _ in range(rng.randrange(1, 6)):
        if found:
            found[rng.randrange(len(found))] = rng.choice(b' \n\t"[]<>=/-_#:;,{}x19\x7f\xc3')
    return bytes(found)


def _put(text: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(ODD) + text[place:]


def _number(text: bytes, rng: random.Random) -> bytes:
    found = list(re.finditer(rb"[0-9]+", text))
    if not found:
        return _put(text, rng)
    one = rng.choice(found)
    return text[: one.start()] + rng.choice(NUMBERS) + text[one.end() :]


def _word(text: bytes, rng: random.Random) -> bytes:
    """One word in the place of another."""
    found = list(re.finditer(rb'[^\s"<>=]+', text))
    if len(found) < 2:
        return _put(text, rng)
    one, other = rng.choice(found), rng.choice(found)
    return text[: one.start()] + other[0] + text[one.end() :]


def _lines(text: bytes, rng: random.Random) -> bytes:
    """Lines that are twice, gone or elsewhere."""
    lines = text.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            lines.insert(other, lines[one])
        case 1:
            del lines[one : one + rng.randrange(1, 4)]
        case _:
            lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


BREAKS: Sequence[Callable[[bytes, random.Random], bytes]] = (
    _cut,
    _drop,
    _flip,
    _put,
    _number,
    _word,
    _lines,
)


def broken(text: bytes, seed: int) -> bytes:
    """The text with one to three things wrong; the same seed breaks it the same way."""
    rng = random.Random(seed)
    for _ in range(rng.randrange(1, 4)):
        text = rng.choice(BREAKS)(text, rng)
    return text
