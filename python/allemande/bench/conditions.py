"""Conditions of real programs: first calls, pauses, other traffic, other jobs, late ranks.

Times and rates are given as at full speed. With scaled timers the lab's times are longer by the
same factor as its links are slower (lab.timers), and rates always take the scale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from allemande.background import Background, parse_background
from allemande.errors import BadInput
from allemande.lab.timers import Timers
from allemande.topology import Cluster, expand_hostlist

LAYOUTS = ("interleaved", "split")
JOBS_MAX = 8
MS_MAX = 3_600_000
ITEMS = re.compile(r",(?![^\[]*\])")  # commas outside of brackets


@dataclass(frozen=True)
class Conditions:
    """As the user gave them; the defaults are those of a quiet cluster and one job that is warm."""

    cold: bool = False
    idle_ms: float = 0.0  # before each timed call
    background: Background | None = None
    jobs: int = 1
    job_layout: str = LAYOUTS[0]
    slow: str | None = None
    half_rate: str | None = None
    late_ms: Mapping[str, float] = field(default_factory=dict)  # `slow`, by host
    half_rate_hosts: tuple[str, ...] = ()

    def idle_s(self, timers: Timers) -> float:
        return timers.patience_s(self.idle_ms / 1000)

    def late_s(self, timers: Timers) -> dict[str, float]:
        """By host, in the lab's time."""
        return {host: timers.patience_s(ms / 1000) for host, ms in self.late_ms.items()}

    def arguments(self, timers: Timers) -> list[str]:
        """For the benchmark program."""
        words = []
        if self.idle_ms:
            words += ["--idle", f"{self.idle_s(timers):.9g}"]
        if self.late_ms:
            late = (f"{host}={seconds:.9g}" for host, seconds in self.late_s(timers).items())
            words += ["--late", ",".join(late)]
        return words

    def labels(self) -> dict[str, str | int | float | None]:
        """What every figure says about them."""
        return {
            "cold": self.cold,
            "idle_ms": self.idle_ms,
            "background": self.background.text if self.background else None,
            "jobs": self.jobs,
            "job_layout": self.job_layout if self.jobs > 1 else None,
            "slow": self.slow,
            "half_rate": self.half_rate,
        }

    def describe(self) -> str | None:
        """A line for people, where there is anything to say."""
        parts = []
        if self.cold:
            parts.append("cold: each timed call is the first of its own job")
        if self.idle_ms:
            parts.append(f"{self.idle_ms:g} ms idle before each timed call")
        if self.background:
            parts.append(f"background {self.background.text}")
        if self.jobs > 1:
            parts.append(f"{self.jobs} jobs at once, {self.job_layout}")
        if self.slow:
            parts.append(f"late to every call, in ms: {self.slow}")
        if self.half_rate:
            parts.append(f"links at half their rate: {self.half_rate}")
        return "; ".join(parts) or None

    def cluster(self, cluster: Cluster) -> Cluster:
        """With the links of some hosts at half their rate."""
        if not self.half_rate_hosts:
            return cluster
        halved = set(self.half_rate_hosts)
        return cluster.with_rates(
            [link.scaled(0.5) if {link.from_, link.to} & halved else link for link in cluster.links]
        )


QUIET = Conditions()


def _check_hosts(option: str, names: Sequence[str], hosts: Sequence[str]) -> None:
    for name in names:
        if name not in hosts:
            close = get_close_matches(name, hosts, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise BadInput(
                f"{option}: the cluster has no host {name!r}; {hint}"
                f"its hosts are {hosts[0]} to {hosts[-1]}"
            )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_slow(text: str) -> dict[str, float]:
    """`h3:5` or `h3:5,h[8-15]:2`: milliseconds, by host."""
    late: dict[str, float] = {}
    for item in ITEMS.split(text):
        hosts, colon, number = item.strip().rpartition(":")
        ms = _number(number)
        if not colon or not hosts or ms is None or not 0 < ms <= MS_MAX:
            raise BadInput(
                f"--slow {text!r} is not valid: {item.strip()!r}; expected HOST:MILLISECONDS "
                "above 0, separated by commas: h3:5 or h3:5,h[8-15]:2"
            )
        for host in expand_hostlist(hosts, "--slow"):
            if host in late:
                raise BadInput(f"--slow {text!r} names {host} twice; expected each host once")
            late[host] = ms
    return late


@dataclass(frozen=True)
class ConditionOptions:
    """As the command line has them; the cluster decides what is valid."""

    cold: bool = False
    idle_ms: float = 0.0
    background: str | None = None
    jobs: int = 1
    job_layout: str | None = None
    slow: str | None = None
    half_rate: str | None = None

    def read(self, hosts: Sequence[str]) -> Conditions:
        """Refuses what is not valid or does not go together. `hosts`: of the cluster."""
        background = None if self.background is None else parse_background(self.background)
        idle_ms, jobs, layout = self.idle_ms, self.jobs, self.job_layout
        if not 0 <= idle_ms <= MS_MAX:
            raise BadInput(f"--idle {idle_ms:g} is not valid; expected milliseconds, 0 to {MS_MAX}")
        if self.cold and idle_ms:
            raise BadInput(
                "--cold and --idle exclude each other: a job that makes one call has no gap"
            )
        if not 1 <= jobs <= JOBS_MAX:
            raise BadInput(f"--jobs {jobs} is not valid; expected 1 to {JOBS_MAX}")
        if layout is not None and layout not in LAYOUTS:
            raise BadInput(f"--job-layout {layout!r} is unknown; expected {' or '.join(LAYOUTS)}")
        if layout is not None and jobs == 1:
            raise BadInput("--job-layout says where several jobs run; add --jobs 2")
        layout = layout or LAYOUTS[0]
        if layout == "split" and jobs > 1 and (len(hosts) % jobs or len(hosts) < 2 * jobs):
            raise BadInput(
                f"--jobs {jobs} --job-layout split: {len(hosts)} hosts cannot be shared out "
                f"evenly; expected a multiple of {jobs}, at least two hosts for each job"
            )
        late = parse_slow(self.slow) if self.slow is not None else {}
        _check_hosts("--slow", list(late), hosts)
        halved: tuple[str, ...] = ()
        if self.half_rate is not None:
            halved = tuple(expand_hostlist(self.half_rate, "--half-rate"))
        _check_hosts("--half-rate", halved, hosts)
        halved = tuple(dict.fromkeys(halved))
        return Conditions(
            self.cold, idle_ms, background, jobs, layout, self.slow, self.half_rate, late, halved
        )
