"""Patterns in the simulator: what a case's steps are, and what they took (allemande.patterns)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from allemande.errors import BadInput
from allemande.flow_limit import bound_s, flow_limit
from allemande.matrix import of_sends
from allemande.patterns import Send, Steps, make_steps, parse_pattern
from allemande.topology import Cluster

WITHOUT = ("matrix", "pairs", "jobs", "background", "steps")


@dataclass(frozen=True)
class StepTimes:
    """Seconds of each step, from when all ranks begin to when all have ended: of each visit, that
    is each time that the pattern was gone through."""

    visits_s: list[list[float]]

    @property
    def mean_s(self) -> list[float]:
        return [sum(times) / len(times) for times in zip(*self.visits_s, strict=True)]


def steps_of(options: Mapping[str, Any], hosts: int, size: int, mode: str) -> Steps:
    """The steps of a case that has a `pattern` among its options."""
    spec = parse_pattern(str(options["pattern"]))
    given = [name for name in WITHOUT if options.get(name) is not None]
    if given:
        raise BadInput(f"pattern {spec.text!r} says who sends; leave out {', '.join(given)}")
    if mode != "packet":
        raise BadInput(f"pattern {spec.text!r} needs packet mode; flow mode has no steps")
    if int(options.get("ranks_per_host", 1)) != 1:
        raise BadInput(f"pattern {spec.text!r} needs one rank per host")
    return make_steps(spec, hosts, size)


def step_times(raw: Mapping[str, Any], steps: Steps) -> StepTimes:
    times = list(raw["exchange_s"])
    return StepTimes([times[at : at + len(steps)] for at in range(0, len(times), len(steps))])


def steps_limit_s(cluster: Cluster, hosts: Sequence[str], steps: Steps) -> float:
    """The least that the links allow: the sum over the steps."""
    return _sum_over(steps, lambda step: _step_limit_s(cluster, hosts, step))


def steps_bound_s(cluster: Cluster, hosts: Sequence[str], steps: Steps) -> float:
    """The same with the travel of packets: every step begins when the one before is done."""

    def of_step(step: Sequence[Send]) -> float:
        rows = of_sends(len(hosts), step).tolist()
        return bound_s(cluster, list(hosts), rows, _step_limit_s(cluster, hosts, step))

    return _sum_over(steps, of_step)


def _sum_over(steps: Steps, seconds: Callable[[Sequence[Send]], float]) -> float:
    """A step may be there many times, as the same object."""
    known: dict[int, float] = {}
    for step in steps:
        if id(step) not in known:
            known[id(step)] = seconds(step)
    return sum(known[id(step)] for step in steps)


def _step_limit_s(cluster: Cluster, hosts: Sequence[str], step: Sequence[Send]) -> float:
    rows = of_sends(len(hosts), step).tolist()
    return flow_limit(cluster, list(hosts), rows).seconds
