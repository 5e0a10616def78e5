"""How long times last in a lab whose links are slowed down (docs/lab.md, docs/adr/0005).

A lab at scale F is slow motion. With scaled timers what is a time there is divided by F as well,
as far as the kernel lets us: TCP's minimum retransmission time-out, by the routes; allemande's
fixed times, by its option `time_scale`; and how long commands wait for what runs in the lab.
"""

from __future__ import annotations

from dataclasses import dataclass

from allemande.errors import BadInput

SCALED, REAL = "scaled", "real"
NAMES = (SCALED, REAL)
VARIABLE = "ALLEMANDE_TIME_SCALE"
FACTOR_MAX = 10_000  # of the option time_scale
SCALE_MAX = 1000

# Linux's: TCP_RTO_MIN, and net.ipv4.tcp_comp_sack_delay_ns.
TCP_RTO_MIN_MS = 200
TCP_SACK_DELAY_NS = 1_000_000


@dataclass(frozen=True)
class Timers:
    name: str = REAL
    factor: float = 1.0  # times last so many times longer than at full speed

    @property
    def rto_min_ms(self) -> int:
        return round(TCP_RTO_MIN_MS * self.factor)

    @property
    def sack_delay_ns(self) -> int:
        return round(TCP_SACK_DELAY_NS * self.factor)

    @property
    def rto_min_text(self) -> str:
        seconds = self.rto_min_ms / 1000
        return f"{seconds:g} s" if seconds >= 1 else f"{self.rto_min_ms} ms"

    def variables(self) -> dict[str, str]:
        """For whatever runs in the lab."""
        return {} if self.factor == 1 else {VARIABLE: f"{self.factor:.10g}"}

    def patience_s(self, seconds: float) -> float:
        """So long is waited for what takes `seconds` at most at full speed."""
        return seconds * self.factor

    def note(self, scale: float) -> str | None:
        """What a reader of figures must know; nothing at full speed."""
        if self.name == SCALED and self.factor > 1:
            return (
                "timers scaled: TCP's minimum RTO and allemande's fixed times are divided by the "
                "scale. What the kernel does not let us scale favours the stock libraries: TCP's "
                "delayed acknowledgements (40 ms), its first RTO (1 s), cubic's growth in real time"
            )
        if scale < 1:
            return (
                "timers real: TCP's time-outs are not slowed down with the links, which favours "
                "the stock libraries"
            )
        return None


def check_scale(scale: float) -> None:
    if not 0 < scale <= SCALE_MAX:
        raise BadInput(f"scale {scale:g}: expected a number above 0, for example 0.1")


def choose_timers(name: str | None, scale: float, shaped: bool = True) -> Timers:
    """Scaled below scale 1, unless `name` says otherwise; links that are not shaped have no scale.

    From scale 1 on scaled timers are those of full speed.
    """
    if name is not None and name not in NAMES:
        raise BadInput(f"timers {name!r} are unknown; expected one of: {', '.join(NAMES)}")
    check_scale(scale)
    if name is None:
        name = SCALED if scale < 1 and shaped else REAL
    if name == REAL or scale >= 1:
        return Timers(name)
    return Timers(name, min(float(f"{1 / scale:.6g}"), FACTOR_MAX))
