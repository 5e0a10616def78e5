"""Traffic of others beside an exchange, as `--background` of bench and simulate has it."""

from __future__ import annotations

from dataclasses import dataclass

from allemande.errors import BadInput

FULL = "full"
UPLINKS = "uplinks"
RATE_MBIT_S_MAX = 1e6


@dataclass(frozen=True)
class Background:
    """`links`: UPLINKS, the name of a switch, or SENDER..RECEIVER. No rate: as TCP can."""

    text: str
    links: str
    rate_mbit_s: float | None  # at full speed, as in the cluster file


def parse_background(text: str) -> Background:
    """`200`, `full`, `core:200`, `h0..h12:full`."""
    links, colon, amount = text.strip().rpartition(":")
    rate = None
    if amount != FULL:
        try:
            rate = float(amount)
        except ValueError:
            rate = -1.0
    if (colon and not links) or (rate is not None and not 0 < rate <= RATE_MBIT_S_MAX):
        raise BadInput(
            f"--background {text!r} is not valid; expected [LINKS:]RATE, where RATE is Mbit/s "
            f"above 0 or {FULL!r}, and LINKS {UPLINKS!r}, the name of a switch, or two hosts: "
            "200, core:200, h0..h12:full"
        )
    return Background(text.strip(), links or UPLINKS, rate)
