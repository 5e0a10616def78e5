"""The equations of the papers on an exchange between p ranks, in seconds: 000 Eq 1, 2 and 6, 002's
group shuffle, 003 Eq 4 and 5, and pLogP. Those on bounds are in signature_fit.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np


@dataclass(frozen=True)
class LogP:
    """Per packet, in seconds: the parameters of 000 and 002."""

    o_s: float
    o_r: float
    u_r: float
    g: float  # the larger of g_s and g_r
    latency: float  # L(p)

    @property
    def once(self) -> float:
        """T_w: the time of an exchange beyond its packets."""
        return self.o_s + self.latency - self.g + self.o_r + self.u_r

    @property
    def doubt(self) -> str:
        """Where O_s + O_r + U_r < g < L does not hold."""
        if self.o_s + self.o_r + self.u_r >= self.g:
            return "O_s + O_r + U_r >= g: processors limit the exchange"
        return "" if self.g < self.latency else "g >= L"


def eq_1(net: LogP, packets: int) -> float:
    """000 Eq 1: one message. O_s + (k-1) g + L + O_r + U_r."""
    return net.once + packets * net.g


def eq_2(net: LogP, ranks: int, packets: int) -> float:
    """000 Eq 2: the synchronous shuffle. k (p-1) g + T_w."""
    return packets * (ranks - 1) * net.g + net.once


def eq_6(net: LogP, ranks: int, packets: int) -> float:
    """000 Eq 6: generalised pairwise. (p-1)(k g + T_w); p rounds where p is odd."""
    return (ranks - 1 + ranks % 2) * (packets * net.g + net.once)


def group_shuffle(net: LogP, ranks: int, packets: int, omega: int) -> float:
    """002: rounds of omega partners, each of which pays T_w once. Our reading: the thesis's formula
    is not in our copy."""
    return ceil((ranks - 1) / omega) * net.once + packets * (ranks - 1) * net.g


def eq_5(coefficients: Sequence[float], ranks: int, size: int) -> float:
    """003 Eq 4 and 5: (p-1)(alpha + m beta gamma), from m = M on with + delta."""
    alpha, beta, gamma, delta, threshold = coefficients
    return (ranks - 1) * (alpha + size * beta * gamma + (delta if size >= threshold else 0.0))


def parametrised_logp(gaps: Mapping[int, float], latency: float, ranks: int, size: int) -> float:
    """pLogP (003, VI.E): (p-1) g(m) + L, with g(m) of full packets and of what is left."""
    full = max(gaps)
    rest = size % full
    known = sorted(gaps)
    tail = float(np.interp(rest, known, [gaps[one] for one in known])) if rest else 0.0
    return (ranks - 1) * (size // full * gaps[full] + tail) + latency
