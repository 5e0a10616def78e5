"""What queues and TCP did in a lab over a short time, look by look (docs/lab.md)."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from allemande.errors import Failed
from allemande.lab.network import Port
from allemande.lab.session import Lab

ENDS_WITHIN_S = 60


@dataclass(frozen=True)
class PortLooks:
    """Counters since boot, and the queue as it was, at each look."""

    port: Port
    sent_bytes: tuple[int, ...]
    queued_packets: tuple[int, ...]
    dropped_packets: tuple[int, ...]


@dataclass(frozen=True)
class Looks:
    times_s: tuple[float, ...]  # CLOCK_MONOTONIC
    tcp: Mapping[str, tuple[int, ...]]  # of all hosts, since boot: watch.TCP_COUNTERS
    ports: tuple[PortLooks, ...]
    processor_part: float  # of one processor that looking took


def parse_looks(answer: dict[str, Any], ports: Collection[Port], watched_s: float) -> Looks:
    by_index = {port.index: port for port in ports}
    rows = []
    for entry in answer["ports"]:
        sent, queued, dropped = zip(*entry["looks"], strict=True)
        rows.append(PortLooks(by_index[entry["port"]], sent, queued, dropped))
    return Looks(
        tuple(answer["times_s"]),
        {name: tuple(counts) for name, counts in answer["tcp"].items()},
        tuple(rows),
        answer["cpu_s"] / watched_s,
    )


class Lookout:
    """As a context manager: looks at `ports` from the beginning of the block until `take`."""

    def __init__(self, lab: Lab, ports: Collection[Port], period_s: float) -> None:
        self._lab = lab
        self._ports = ports
        self._period_s = period_s
        self._process: subprocess.Popen[str] | None = None
        self._began_s = 0.0

    def __enter__(self) -> Lookout:
        state = self._lab.inside_state()
        state["watch"] = {
            "period_s": self._period_s,
            "ports": [port.index for port in self._ports],
        }
        self._process = subprocess.Popen(
            self._lab.inside_command("watch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        # A program that ended before it read says why on its standard error.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(state) + "\n")
            self._process.stdin.flush()
        if self._process.stdout.readline() != "ready\n":
            _, said = self._process.communicate()
            raise Failed(f"cannot watch the queues of lab {self._lab.name!r}: {said.strip()}")
        self._began_s = time.monotonic()
        return self

    def take(self, begin_s: float, end_s: float) -> Looks:
        """Ends the watch; what was seen in this interval of CLOCK_MONOTONIC."""
        assert self._process is not None
        watched_s = time.monotonic() - self._began_s
        line = json.dumps({"begin_s": begin_s, "end_s": end_s}) + "\n"
        text, said = self._process.communicate(line, timeout=ENDS_WITHIN_S)
        if self._process.returncode != 0:
            raise Failed(f"cannot watch the queues of lab {self._lab.name!r}: {said.strip()}")
        return parse_looks(json.loads(text), self._ports, watched_s)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Whoever took nothing closes the program's input, which ends it."""
        assert self._process is not None
        if self._process.poll() is not None:
            return
        try:
            self._process.communicate(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
