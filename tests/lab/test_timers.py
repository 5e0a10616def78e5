"""Scaled timers reach the kernel's routes and the ranks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from allemande.lab import Lab


def output(lab: Lab, *command: str) -> str:
    return str(lab.exec("h1", command, capture_output=True, text=True, check=True).stdout)


def test_a_slow_lab_has_longer_time_outs(cluster: Path) -> None:
    with Lab.boot(cluster, scale=0.25) as lab:
        assert (lab.timers.name, lab.timers.factor) == ("scaled", 4)
        for family in ("-4", "-6"):
            (route,) = (
                line
                for line in output(lab, "ip", family, "route").splitlines()
                if "congctl" in line
            )
            assert "rto_min lock 800ms" in route
        assert output(lab, "printenv", "ALLEMANDE_TIME_SCALE") == "4\n"
        for library in ("openmpi", "mpich"):
            done = lab.run(
                library,
                2,
                ["sh", "-c", "sleep 1; echo scale $ALLEMANDE_TIME_SCALE"],
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=lab.timers.patience_s(30),
            )
            assert done.stdout.split() == ["scale", "4"] * 2, done.stderr


def test_the_user_has_the_last_word(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lab.boot(cluster, scale=0.25, timers="real") as lab:
        assert "rto_min" not in output(lab, "ip", "route")
        assert output(lab, "sh", "-c", "echo $ALLEMANDE_TIME_SCALE") == "\n"
    monkeypatch.setenv("ALLEMANDE_TIME_SCALE", "2")
    with Lab.boot(cluster, scale=0.25) as lab:
        assert output(lab, "printenv", "ALLEMANDE_TIME_SCALE") == "2\n"


def test_the_kernel_obeys_what_the_routes_say(cluster: Path) -> None:
    """A connection's time-out is at least the minimum of its route."""
    serve = (
        "import socket, sys, time; server = socket.create_server((sys.argv[1], 7000)); "
        "print('ready', flush=True); peer, _ = server.accept(); peer.recv(1); time.sleep(5)"
    )
    call = (
        "import socket, struct, sys; peer = socket.create_connection((sys.argv[1], 7000)); "
        "peer.send(b'x'); info = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32); "
        "print(struct.unpack_from('I', info, 8)[0])"
    )
    with Lab.boot(cluster, scale=0.25) as lab:
        address = lab.network.ipv4("h3")
        with lab.popen(
            "h3", [sys.executable, "-c", serve, address], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            rto_us = int(output(lab, sys.executable, "-c", call, address))
            server.kill()
    assert rto_us >= 800_000
