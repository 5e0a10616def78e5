"""Routes from outside, such as routers have told them, in the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from allemande import simulate
from allemande.errors import BadInput

CLUSTER = "leaf-spine:2x2x2"


def routes(*switches: list[str]) -> list[object]:
    return [["h0", "h2", [list(one) for one in switches]]]


def spine_bytes(**options: Any) -> dict[str, int]:
    result = simulate(CLUSTER, size=100_000, pairs=[["h0", "h2"]], routing="given", **options)
    return {
        port.name.split(" ")[-1]: port.bytes
        for port in result.ports
        if port.name.startswith("leaf0 -> spine")
    }


def test_packets_take_the_route_that_is_given(tmp_path: Path) -> None:
    for spine in ("spine0", "spine1"):
        sent = spine_bytes(routes=routes(["leaf0", spine, "leaf1"]))
        assert set(sent) == {spine}
    both = routes(["leaf0", "spine1", "leaf1"], ["leaf0", "spine0", "leaf1"])
    sent = spine_bytes(routes=both, paths=2, path_policy="rotate")
    assert sent["spine0"] == pytest.approx(sent["spine1"], rel=0.05)
    path = tmp_path / "routes.json"
    path.write_text(json.dumps(both))
    assert spine_bytes(routes=str(path), paths=2, path_policy="rotate") == sent


def test_routes_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="leads from `leaf0` to `leaf1`, which no link joins"):
        spine_bytes(routes=routes(["leaf0", "leaf1"]))
    with pytest.raises(BadInput, match="no switch is called `spine7`"):
        spine_bytes(routes=routes(["leaf0", "spine7", "leaf1"]))
    with pytest.raises(BadInput, match="belong together"):
        spine_bytes()
    with pytest.raises(BadInput, match="is no list of"):
        spine_bytes(routes=[["h0"]])
    with pytest.raises(BadInput, match="cannot read"):
        spine_bytes(routes=str(tmp_path / "nothing.json"))
