"""How long times last in a lab: what is chosen, and what follows from it."""

from __future__ import annotations

import pytest

from allemande.config import check_value
from allemande.errors import BadInput
from allemande.lab.boot_plan import make_plan
from allemande.lab.network import Link, Network, Switch
from allemande.lab.timers import VARIABLE, Timers, choose_timers
from allemande.option_table import OPTIONS

STAR = Network(
    "star",
    ("h0", "h1"),
    (Switch("s"),),
    tuple(Link(name, "s", 10, 10, 1000, 43) for name in ("h0", "h1")),
)


@pytest.mark.parametrize(
    ("name", "scale", "shaped", "expected"),
    [
        (None, 0.1, True, Timers("scaled", 10)),
        (None, 1.0, True, Timers("real", 1)),
        (None, 2.0, True, Timers("real", 1)),
        (None, 0.1, False, Timers("real", 1)),  # links as fast as the machine makes them
        ("real", 0.1, True, Timers("real", 1)),
        ("scaled", 0.25, True, Timers("scaled", 4)),
        ("scaled", 1.0, True, Timers("scaled", 1)),
        ("scaled", 3.0, True, Timers("scaled", 1)),
        ("scaled", 0.3, True, Timers("scaled", 3.33333)),
        ("scaled", 1e-9, True, Timers("scaled", 10_000)),
    ],
)
def test_below_scale_1_timers_are_scaled_unless_told_otherwise(
    name: str | None, scale: float, shaped: bool, expected: Timers
) -> None:
    assert choose_timers(name, scale, shaped) == expected


def test_unknown_timers_are_refused() -> None:
    with pytest.raises(BadInput, match="expected one of: scaled, real"):
        choose_timers("fast", 0.1)


@pytest.mark.parametrize("scale", [0.3, 0.1, 0.0123, 1e-4])
def test_allemande_takes_what_the_lab_says(scale: float) -> None:
    (option,) = (option for option in OPTIONS if option.variable == VARIABLE)
    ((name, text),) = choose_timers("scaled", scale).variables().items()
    assert name == VARIABLE
    assert check_value(option, name, text) == text
    assert choose_timers("real", scale).variables() == {}


def test_routes_carry_the_minimum_rto_where_timers_are_scaled() -> None:
    def lines(timers: Timers) -> list[str]:
        plan = make_plan(
            STAR, emulator=["emulate"], offloads=False, congestion_control="cubic", timers=timers
        )
        (host, *_) = plan["namespaces"]
        assert ("net/ipv4/tcp_comp_sack_delay_ns" in host["optional_settings"]) == (
            timers.factor > 1
        )
        return [line for line in host["ip"] if line.startswith("route")]

    assert len(lines(Timers())) == 3
    assert not any("rto_min" in line for line in lines(Timers()))
    assert all(line.endswith("rto_min 2000ms") for line in lines(Timers("scaled", 10)))


def test_patience_grows_with_the_times() -> None:
    assert Timers("scaled", 10).patience_s(60) == 600
    assert Timers().patience_s(60) == 60
