"""A lab is probed, a second one is built from what was found, and the prober finds the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from allemande.lab import Lab

# Measuring takes idle processors; a packet at this scale takes 1.2 ms, longer than most pauses.
pytestmark = pytest.mark.alone
SCALE = 0.1
RATE = 0.03


def probe(cluster: str | Path, folder: Path, scale: float, budget: str) -> dict[str, Any]:
    """What `allemande probe` finds in a lab of this cluster; its cluster file is beside it."""
    figures, found = folder / "found.json", folder / "found.toml"
    command = [sys.executable, "-m", "allemande", "probe", "--repeat", "8", "--budget", budget]
    outputs = ["-o", folder / "net.toml", "--json", figures, "--cluster-out", found]
    with Lab.boot(cluster, scale=scale) as lab:
        lab.run("openmpi", None, [*command, *map(str, outputs)], check=True, timeout=240)
    result: dict[str, Any] = json.loads(figures.read_text())
    return result


def ports(found: dict[str, Any], from_: str, to: str) -> list[dict[str, Any]]:
    """Those whose ends begin like this."""
    return [
        port
        for port in found["ports"]
        if port["from"].startswith(from_) and port["to"].startswith(to)
    ]


def test_probe_cluster_file_lab_probe_agree(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    once = probe("shallow-4x2", first, SCALE, "3s")
    again = probe(first / "found.toml", second, 1.0, "0s")
    for found in (once, again):
        assert found["leaves"] == [["h0", "h1", "h2", "h3"], ["h4", "h5", "h6", "h7"]]
        up = [one["value"] for one in found["up_mbit_s"]]
        assert up == pytest.approx([10] * 8, rel=RATE)
        for from_, to, rate in (("switch", "h", 10), ("leaf", "core", 20)):
            for port in ports(found, from_, to):
                assert port["state"] == "measured"
                assert port["rate_mbit_s"]["value"] == pytest.approx(rate, rel=RATE)
                assert port["buffer_packets"]["value"] == pytest.approx(10, abs=1.01)
        # Two leaves: what comes from one uplink does not fill another.
        assert {port["state"] for port in ports(found, "core", "leaf")} == {"not overloadable"}
