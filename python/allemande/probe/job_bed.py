"""Experiments on the hosts of an MPI job, over UDP.

MPI starts the ranks, tells them what to do and brings home what they saw; it is silent while an
experiment runs. Ranks that wait for rank 0 sleep: on emulated clusters all share processors.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
import zlib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from allemande import _core
from allemande.errors import AllemandeError, BadInput, Failed
from allemande.probe.clocks import (
    LOOKS,
    Clocks,
    echo_experiment,
    echo_readings,
    two_way_experiment,
    two_way_readings,
)
from allemande.probe.packet_flows import NANOS, Experiment
from allemande.probe.record import RawLog, Record, pack, unpack

LEAD_S = 0.05  # from telling the beginning of an experiment to the beginning, at least
LONGER, SHORTER = 3.0, 0.9  # where a rank was late; where all were in time
NAP_S = 0.002
TRIES = 4
IPV4_HEADERS, IPV6_HEADERS, ETHERNET_BYTES = 28, 48, 14


def _address_towards(peer: str) -> str:
    """The address of the interface that leads to `peer`. No packet is sent."""
    family, kind, protocol, _, where = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(where)
        return str(probe.getsockname()[0])


class JobBed:
    """One rank's side. Rank 0 asks for experiments; the others `serve` until it ends.

    Raises BadInput where two ranks share a host, Failed where no address leads to the others.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.Get_rank()
        names = comm.allgather(socket.gethostname())
        if len(names) < 2:
            raise BadInput("one rank alone measures no network; start one on each host")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise BadInput(
                f"host {twice} has {names.count(twice)} ranks; expected one on each host "
                "(Open MPI: --map-by node, MPICH: -ppn 1)"
            )
        self._names: list[str] = names
        secret = comm.bcast(
            os.urandom(_core.PROBE_SECRET_BYTES) if self.rank == 0 else None, root=0
        )
        peer = names[1] if self.rank == 0 else names[0]
        trouble = ""
        try:
            self._socket = _core.ProbeSocket(_address_towards(peer), secret)
        except (OSError, AllemandeError) as error:
            trouble = f"{names[self.rank]}: {error}"
        self._raise_first(comm.allgather(trouble))
        self._socket.set_peers(comm.allgather(self._socket.local))
        self._datagram: int = min(comm.allgather(self._socket.datagram_bytes))
        self._number = 0
        self._clocks = Clocks(len(names))
        self._lead_s = LEAD_S
        self._time_scale = float(os.environ.get("ALLEMANDE_TIME_SCALE", "1"))

    @staticmethod
    def _raise_first(troubles: Sequence[str]) -> None:
        for trouble in troubles:
            if trouble:
                raise Failed(trouble)

    @property
    def hosts(self) -> Sequence[str]:
        """As they name themselves."""
        return self._names

    @property
    def datagram_bytes(self) -> int:
        """The least of all interfaces'."""
        return self._datagram

    @property
    def overhead_bytes(self) -> int:
        """IP, UDP and Ethernet, without preamble and checksum."""
        v6 = ":" in self._socket.local[0]
        return (IPV6_HEADERS if v6 else IPV4_HEADERS) + ETHERNET_BYTES

    @property
    def simulated(self) -> bool:
        """No."""
        return False

    @property
    def time_scale(self) -> float:
        """The option of this name: a lab sets it."""
        return self._time_scale

    # ---- rank 0 --------------------------------------------------------------------------------

    def run(self, experiment: Experiment) -> Record:
        """Carries it out on all ranks. Raises Failed where a host could not keep up."""
        if self._clocks.due(time.time_ns()):
            self._look_at_clocks()
        return Record(experiment, self._carry_out(experiment)[0])

    def together(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Calls `function(comm, *arguments)`, of a module, on every rank; the results, by rank."""
        where, what = function.__module__, function.__name__
        self._tell(("call", where, what, arguments))
        return self._outcomes(self._call(where, what, arguments))

    def together_by_clock(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """The same with one argument more: by how many ns each rank's clock is ahead of ours."""
        if self._clocks.due(time.time_ns()):
            self._look_at_clocks()
        return self.together(function, *arguments, self._clocks.at(time.time_ns()))

    def end(self) -> None:
        """Lets the other ranks go."""
        self._tell(("end",))

    def _tell(self, order: tuple[Any, ...]) -> None:
        self._meet()
        self._comm.bcast(zlib.compress(pickle.dumps(order), 1), root=0)

    def _look_at_clocks(self) -> None:
        ranks = len(self._names)
        if not self._clocks.known:
            logs, begins = self._carry_out(echo_experiment(ranks, self._time_scale))
            self._clocks.note(begins[0], echo_readings(logs, begins))
        for _ in range(LOOKS):
            logs, begins = self._carry_out(two_way_experiment(ranks, self._time_scale))
            if self._clocks.note(begins[0], two_way_readings(logs, begins)):
                break

    def _carry_out(self, experiment: Experiment) -> tuple[list[RawLog], list[int]]:
        flows = [flow.as_tuple() for flow in experiment.flows]
        watches = [watch.as_tuple() for watch in experiment.watches]
        for _ in range(TRIES):
            self._number += 1
            run = (self._number, experiment.duration_ns(), flows, watches)
            offsets = self._clocks.at(time.time_ns())
            self._tell(("run", run, offsets, self._lead_s))
            gathered = self._outcomes(self._run(run, offsets, self._lead_s))
            logs = [unpack(packed) for packed, _, _ in gathered]
            late = max(lateness for _, _, lateness in gathered)
            lost = sum(log[3] for log in logs)
            self._lead_s = max(LEAD_S, self._lead_s * (LONGER if late > 0 else SHORTER))
            if late <= 0 and lost == 0:
                return logs, [begin for _, begin, _ in gathered]
        if lost > 0:
            raise Failed(
                f"{lost} packets came to a host and found no room in the socket's buffer: the "
                "processors do not keep up; run with fewer hosts or a smaller scale"
            )
        raise Failed(f"a rank began an experiment {late / 1e6:.0f} ms late: too busy processors")

    # ---- all ranks -----------------------------------------------------------------------------

    def serve(self) -> None:
        """Every rank but 0: does what rank 0 tells until that ends."""
        while True:
            self._meet()
            order = pickle.loads(zlib.decompress(self._comm.bcast(None, root=0)))
            if order[0] == "end":
                return
            if order[0] == "run":
                self._outcomes(self._run(*order[1:]))
            else:
                self._outcomes(self._call(*order[1:]))

    def _meet(self) -> None:
        """A barrier in which those who wait sleep."""
        request = self._comm.Ibarrier()
        while not request.Test():
            time.sleep(NAP_S)

    def _outcomes(self, mine: tuple[Any, str]) -> list[Any]:
        """The results of all, at rank 0; raises Failed there where one failed.

        The other ranks go on: they serve until they are told to end.
        """
        gathered = self._comm.gather(mine, root=0)
        if gathered is None:
            return []
        self._raise_first([trouble for _, trouble in gathered])
        return [result for result, _ in gathered]

    def _trouble(self, error: Exception) -> str:
        """Whatever it is, rank 0 has to hear of it: it waits for all."""
        kind = "" if isinstance(error, AllemandeError) else f"{type(error).__name__}: "
        return f"{self._names[self.rank]}: {kind}{error}"

    def _run(self, run: tuple[Any, ...], offsets: Sequence[int], lead_s: float) -> tuple[Any, str]:
        began = self._comm.bcast(time.time_ns() + round(lead_s * NANOS), root=0)
        begin = began + offsets[self.rank]
        late = time.time_ns() - begin
        try:
            number, duration_ns, flows, watches = run
            log = self._socket.run(number, duration_ns, flows, watches, self.rank, begin)
        except Exception as error:
            return None, self._trouble(error)
        return (pack(log), begin, late), ""

    def _call(self, where: str, what: str, arguments: Sequence[Any]) -> tuple[Any, str]:
        function: Callable[..., Any] = getattr(import_module(where), what)
        try:
            outcome = function(self._comm, *arguments), ""
        except Exception as error:
            outcome = None, self._trouble(error)
        self._meet()  # who took no part is not to wait awake
        return outcome
