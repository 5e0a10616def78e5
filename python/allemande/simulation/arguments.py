"""Runs and their options as texts: `block-port:from=core,to=leaf3`, `jitter_us=20`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from allemande.errors import BadInput
from allemande.matrix import parse_matrix
from allemande.patterns import parse_pattern
from allemande.quantities import parse_sizes
from allemande.topology import expand_hostlist

DEFAULT_SIZE = "64KiB"
FAULT_KINDS = ("link-down", "lossy-link", "block-port", "slow-host")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def _parse_value(text: str) -> Any:
    """An integer, a number, a truth value or a word."""
    if NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return {"true": True, "false": False}.get(text, text)


def _parse_fault(text: str) -> dict[str, Any]:
    """`block-port:from=core,to=leaf3,start_us=100,duration_us=50`."""
    kind, _, rest = text.partition(":")
    if kind not in FAULT_KINDS:
        raise BadInput(f"fault {kind!r} is unknown; expected one of {', '.join(FAULT_KINDS)}")
    fault: dict[str, Any] = {"kind": kind}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not value:
            raise BadInput(f"fault {text!r}: {item!r} cannot be read; expected KEY=VALUE")
        fault[key.strip()] = _parse_value(value.strip())
    return fault


def _parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value:
        raise BadInput(f"--set {text!r} cannot be read; expected KEY=VALUE")
    return key.strip(), _parse_value(value.strip())


def _parse_algorithms(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadInput(f"{text!r} has an empty name; expected names separated by commas")
    return names


def _simulated_size(size: str | None, matrix: str | None, pattern: str | None) -> str:
    if pattern is not None and parse_pattern(pattern).has_own_sizes:
        if size is not None:
            raise BadInput(f"pattern {pattern!r} says how many bytes; leave out --size")
        return "1"
    if matrix is not None and parse_matrix(matrix).has_own_sizes:
        if size is not None:
            raise BadInput("a matrix file says how many bytes; leave out --size")
        return "1"  # one case; the file's mean is what the result names
    return DEFAULT_SIZE if size is None else size


def parse_runs(
    size: str | None, algorithm: str, matrix: str | None, pattern: str | None = None
) -> list[tuple[int, str]]:
    """The size and the algorithm of each run."""
    if matrix is not None and pattern is not None:
        raise BadInput("--matrix and --pattern both say who sends how much; expected one of them")
    sizes = parse_sizes(_simulated_size(size, matrix, pattern))
    return list(itertools.product(sizes, _parse_algorithms(algorithm)))


def case_options(
    given: dict[str, Any], faults: Iterable[str], assignments: Iterable[str]
) -> dict[str, Any]:
    """The options of a case; what is None is left to the simulator."""
    options = {
        **given,
        "faults": [_parse_fault(text) for text in faults] or None,
        **dict(_parse_assignment(text) for text in assignments),
    }
    if isinstance(options.get("hosts"), str):
        options["hosts"] = expand_hostlist(options["hosts"], "--hosts")
    return {key: value for key, value in options.items() if value is not None}
