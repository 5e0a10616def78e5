"""What a packet takes on its way by the rates of the links alone, and how that tells switching.

A switch that stores a frame sends it on when its last bit has come; one that cuts through sends its
head on at once, and on a faster link never outruns its tail.
"""

from __future__ import annotations

from collections.abc import Sequence

from allemande.model.profile import UNDETERMINED

CUT_THROUGH, STORE_AND_FORWARD = "cut-through", "store-and-forward"
# What was measured is so near to what one kind of switch takes, as a part of what the kinds differ
# by, and they differ by this part at least of what is measured.
NEAR, APART = 0.25, 0.03


def passing_s(bits: float, rates_bit_s: Sequence[float], kinds: Sequence[str]) -> float:
    """From host to host. `kinds`: how the switches forward, one less than there are rates; those
    that are not known count as storing."""
    head = tail = 0.0
    for kind, rate in zip(["", *kinds], rates_bit_s, strict=True):
        start = head if kind == CUT_THROUGH else tail
        tail = max(tail, start + bits / rate)
        head = start
    return tail


def core_switching(
    byte_s: float, host_bit_s: float, uplinks_bit_s: Sequence[float], leaf_kind: str
) -> str:
    """How the core forwards, from the time of a byte between two leaves (s/B).

    `uplinks_bit_s`: the least and the most that links between switches may carry; leaves of
    `leaf_kind`. Undetermined where the time fits both kinds, or none.
    """
    if leaf_kind == UNDETERMINED:
        return UNDETERMINED
    byte = {
        kind: [
            passing_s(8.0, [host_bit_s, rate, rate, host_bit_s], [leaf_kind, kind, leaf_kind])
            for rate in uplinks_bit_s
        ]
        for kind in (CUT_THROUGH, STORE_AND_FORWARD)
    }
    through, stored = byte[CUT_THROUGH], byte[STORE_AND_FORWARD]
    apart = min(stored) - max(through)
    if apart < APART * byte_s:
        return UNDETERMINED
    for kind, times in byte.items():
        if min(times) - NEAR * apart <= byte_s <= max(times) + NEAR * apart:
            return kind
    return UNDETERMINED
