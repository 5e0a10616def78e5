"""What a packet takes on its way by the rates of the links alone, and how that tells switching.

A switch that stores a frame sends it on when its last bit has come; one that cuts through sends its
head on at once, and on a faster link never outruns its tail.
"""

from __future__ import annotations

from collections.abc import Sequence

from allemande.model.profile import UNDETERMINED

CUT_THROUGH, STORE_AND_FORWARD = "cut-through", "store-and-forward"
# What was measured is of one kind of switch if it is so near to what that takes, as a part, and
# farther from all that the other kind may take.
NEAR, FAR = 0.01, 0.02


def passing_s(bits: float, rates_bit_s: Sequence[float], kinds: Sequence[str]) -> float:
    """From host to host. `kinds`: how the switches forward, one less than there are rates; those
    that are not known count as storing."""
    head = tail = 0.0
    for kind, rate in zip(["", *kinds], rates_bit_s, strict=True):
        head = max(head, tail - bits / rate) if kind == CUT_THROUGH else tail
        tail = head + bits / rate
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

    def fits(kind: str, off: float) -> bool:
        times = [
            passing_s(8.0, [host_bit_s, rate, rate, host_bit_s], [leaf_kind, kind, leaf_kind])
            for rate in uplinks_bit_s
        ]
        return (1 - off) * min(times) <= byte_s <= (1 + off) * max(times)

    for kind, other in ((CUT_THROUGH, STORE_AND_FORWARD), (STORE_AND_FORWARD, CUT_THROUGH)):
        if fits(kind, NEAR) and not fits(other, FAR):
            return kind
    return UNDETERMINED
