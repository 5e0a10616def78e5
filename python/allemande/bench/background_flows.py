"""Bulk TCP flows between hosts of the lab while calls are timed, and what each of them achieved."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from allemande.background import UPLINKS, Background
from allemande.errors import BadInput, Failed
from allemande.lab import Lab
from allemande.lab.network import Network, Port
from allemande.quantities import format_rate

PROGRAM = Path(__file__).with_name("bulk_flow.py")
START_S = 20.0
STOP_S = 5.0
STDERR_CHARACTERS = 500


@dataclass(frozen=True)
class Flow:
    sender: str
    receiver: str
    rate_mbit_s: float | None  # in the lab
    fair_mbit_s: float  # what it gets where all who use its narrowest link get the same


def _leaves(network: Network) -> dict[str, list[str]]:
    """The hosts of each leaf, in file order."""
    hosts = set(network.hosts)
    leaves: dict[str, list[str]] = {}
    leaf_of = {}
    for link in network.links:
        for host, leaf in ((link.node_from, link.node_to), (link.node_to, link.node_from)):
            if host in hosts:
                leaf_of[host] = leaf
    for host in network.hosts:
        leaves.setdefault(leaf_of[host], []).append(host)
    return leaves


def path(network: Network, sender: str, receiver: str) -> list[Port]:
    """The ports that packets leave through, the sender's first; with bridges as switches."""
    routes = network.routes()
    target = network.hosts.index(receiver)  # its first interface
    ports = [next(port for port in network.ports() if port.node == sender)]
    while ports[-1].peer != receiver:
        following = routes[ports[-1].peer][target]
        assert following is not None  # a cluster is connected
        ports.append(following)
    return ports


def _ring(leaves: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """From every leaf to the next: one flow up and one down at each leaf."""
    return [(hosts[0], leaves[(index + 1) % len(leaves)][-1]) for index, hosts in enumerate(leaves)]


def _pairs(background: Background, network: Network) -> list[tuple[str, str]]:
    leaves = _leaves(network)
    names = [switch.name for switch in network.switches]
    hosts = network.hosts
    sender, dots, receiver = background.links.partition("..")
    if dots:
        for host in (sender, receiver):
            if host not in hosts:
                raise BadInput(
                    f"--background {background.text!r}: the cluster has no host {host!r}; "
                    f"its hosts are {hosts[0]} to {hosts[-1]}"
                )
        if sender == receiver:
            raise BadInput(
                f"--background {background.text!r}: a flow needs two hosts; "
                f"expected one of the others instead of the second {sender!r}"
            )
        return [(sender, receiver)]
    if background.links != UPLINKS and background.links not in names:
        raise BadInput(
            f"--background {background.text!r}: {background.links!r} is unknown; expected "
            f"{UPLINKS!r}, a switch ({', '.join(names)}) or two hosts "
            f"({hosts[0]}..{hosts[-1]})"
        )
    ring = _ring(list(leaves.values())) if len(leaves) > 1 else []
    if background.links != UPLINKS:
        ring = [
            pair
            for pair in ring
            if any(
                background.links in (port.node, port.peer)
                for port in path(network, *pair)
                if port.node not in hosts and port.peer not in hosts
            )
        ]
    if not ring:
        raise BadInput(
            f"--background {background.text!r}: no link between switches to load on "
            f"{network.name}; name two hosts: --background {hosts[0]}..{hosts[-1]}:RATE"
        )
    return ring


def find_flows(background: Background, network: Network, scale: float, jobs: int = 1) -> list[Flow]:
    """`network`: at full speed. `jobs`: exchanges that share the links with the flows."""
    pairs = _pairs(background, network)
    lab = network.scaled(scale)
    paths = [path(lab, *pair) for pair in pairs]
    users = Counter(port.index for ports in paths for port in ports)
    rate = None if background.rate_mbit_s is None else background.rate_mbit_s * scale
    flows = []
    for (sender, receiver), ports in zip(pairs, paths, strict=True):
        fair = min(port.rate_mbit_s / (users[port.index] + jobs) for port in ports)
        flows.append(Flow(sender, receiver, rate, fair if rate is None else min(rate, fair)))
    return flows


def describe_flows(flows: Sequence[Flow]) -> str:
    names = ", ".join(f"{flow.sender} to {flow.receiver}" for flow in flows)
    rate = flows[0].rate_mbit_s
    each = "as fast as TCP can" if rate is None else f"at most {format_rate(rate)} each"
    return f"background TCP flows: {names}; {each} in the lab"


class FlowLog:
    """What one receiver counted: bytes at moments in between by a straight line."""

    def __init__(self, text: str) -> None:
        pairs = [line.split() for line in text.splitlines()]
        self._times = [float(pair[0]) for pair in pairs if len(pair) == 2]
        self._bytes = [float(pair[1]) for pair in pairs if len(pair) == 2]

    def _until(self, when: float) -> float:
        if not self._times or when <= self._times[0]:
            return self._bytes[0] if self._bytes else 0.0
        at = bisect_right(self._times, when)
        if at == len(self._times):
            return self._bytes[-1]
        begin, end = self._times[at - 1], self._times[at]
        part = (when - begin) / (end - begin)
        return self._bytes[at - 1] + part * (self._bytes[at] - self._bytes[at - 1])

    def mbit_s(self, spans: Iterable[tuple[float, float]]) -> float:
        """The mean over the spans of time together."""
        spans = list(spans)
        seconds = sum(end - begin for begin, end in spans)
        carried = sum(self._until(end) - self._until(begin) for begin, end in spans)
        return carried * 8e-6 / seconds if seconds > 0 else 0.0


class RunningFlows:
    def __init__(
        self, flows: Sequence[Flow], folder: Path, processes: Sequence[subprocess.Popen[str]]
    ) -> None:
        self.flows = flows
        self._folder = folder
        self._processes = processes

    def check(self) -> None:
        """Figures without the flows would not be what was asked for."""
        for index, process in enumerate(self._processes):
            if process.poll() is not None:
                flow = self.flows[index // 2]
                said = _said(process)
                raise Failed(
                    f"the background flow from {flow.sender} to {flow.receiver} ended by itself "
                    f"(status {process.returncode}){said}"
                )

    def mbit_s(self, spans: Sequence[tuple[float, float]]) -> list[float]:
        """What each flow carried in these spans of the monotonic clock."""
        return [
            FlowLog(_log_of(self._folder, index).read_text(encoding="ascii")).mbit_s(spans)
            for index in range(len(self.flows))
        ]


def _log_of(folder: Path, index: int) -> Path:
    return folder / f"flow.{index}"


def _said(process: subprocess.Popen[str]) -> str:
    text = process.stderr.read() if process.stderr else ""
    return f": {text.strip()[-STDERR_CHARACTERS:]}" if text.strip() else ""


def _start(lab: Lab, host: str, *words: str) -> subprocess.Popen[str]:
    return lab.popen(
        host,
        [sys.executable, "-I", "-S", str(PROGRAM), *words],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is ours to handle
    )


def _stop(processes: Sequence[subprocess.Popen[str]]) -> None:
    """They end with their standard input; who does not is killed, by its id."""
    for process in processes:
        if process.stdin:
            process.stdin.close()
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
            continue
        process.kill()
        process.wait()
    for process in processes:
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _await_bytes(log: Path, running: RunningFlows) -> None:
    deadline = time.monotonic() + START_S
    while not log.exists() or not log.stat().st_size:
        running.check()
        if time.monotonic() > deadline:
            raise Failed(f"a background flow carried nothing within {START_S:g} s")
        time.sleep(0.02)


@contextmanager
def run_flows(lab: Lab, flows: Sequence[Flow]) -> Iterator[RunningFlows]:
    """They run from here to the end of the block, however that is left."""
    processes: list[subprocess.Popen[str]] = []
    with tempfile.TemporaryDirectory(prefix="allemande-flows-") as name:
        folder = Path(name)
        running = RunningFlows(flows, folder, processes)
        try:
            for index, flow in enumerate(flows):
                address = lab.network.ipv4(flow.receiver)
                log = str(_log_of(folder, index))
                processes.append(_start(lab, flow.receiver, "receive", address, log))
                stdout = processes[-1].stdout
                port = stdout.readline().strip() if stdout else ""
                if not port:
                    processes[-1].wait(STOP_S)
                    running.check()
                rate = 0 if flow.rate_mbit_s is None else max(1, round(flow.rate_mbit_s * 125_000))
                processes.append(_start(lab, flow.sender, "send", address, port, str(rate)))
            for index in range(len(flows)):
                _await_bytes(_log_of(folder, index), running)
            yield running
        finally:
            _stop(processes)
