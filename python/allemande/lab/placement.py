"""Which host each rank runs on, where there are several ranks per host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from allemande.errors import BadInput

ORDERS = ("block", "cyclic")
SLOTS_MAX = 1024


@dataclass(frozen=True)
class Placement:
    """`slots`: ranks of each host, in file order. `block` fills a host before the next, `cyclic`
    gives every host one rank before any gets its second."""

    slots: tuple[int, ...]
    order: str = "block"

    @property
    def ranks(self) -> int:
        return sum(self.slots)

    @property
    def shares_hosts(self) -> bool:
        return max(self.slots) > 1

    def of_ranks(self) -> list[int]:
        """The host of each rank, by its place in the file."""
        block = [host for host, count in enumerate(self.slots) for _ in range(count)]
        if self.order == "block":
            return block
        turns = [turn for count in self.slots for turn in range(count)]
        return [host for _, host in sorted(zip(turns, block, strict=True))]

    @property
    def text(self) -> str:
        """As the user writes it."""
        if len(set(self.slots)) == 1:
            return str(self.slots[0])
        return ",".join(str(count) for count in self.slots)


def parse_placement(text: str, hosts: int, order: str = "block") -> Placement:
    """`4`: so many on every host; `4,2,1`: on the first, second, third, and so on again."""
    if order not in ORDERS:
        raise BadInput(f"rank order {order!r} is unknown; expected {' or '.join(ORDERS)}")
    try:
        pattern = [int(item) for item in text.split(",")]
    except ValueError:
        pattern = []
    if not pattern or not all(1 <= count <= SLOTS_MAX for count in pattern):
        raise BadInput(
            f"--ranks-per-host {text!r} is not valid; expected numbers from 1 to {SLOTS_MAX}, "
            "separated by commas: 4 or 4,2"
        )
    if len(pattern) > hosts:
        raise BadInput(
            f"--ranks-per-host {text!r} names {len(pattern)} hosts; the cluster has {hosts}"
        )
    return Placement(tuple(pattern[host % len(pattern)] for host in range(hosts)), order)


def one_per_host(hosts: int) -> Placement:
    return Placement((1,) * hosts)


def spread(ranks: int, hosts: int) -> Placement:
    """Evenly; the first hosts take what is over."""
    each, over = divmod(ranks, hosts)
    return Placement(tuple(each + (index < over) for index in range(hosts)))


def hostfile(hosts: Sequence[str], placement: Placement, library: str) -> str:
    """As many slots as ranks and a spare one, on the last host that has ranks.

    The spare one is for a process that the program starts (MPI_Comm_spawn): Open MPI refuses what
    has no slot. MPICH's launcher starts any number of processes and needs none.
    """
    openmpi = library == "openmpi"
    if placement.order == "cyclic":  # a line per rank, each of which may name a host again
        line = "{}\n" if openmpi else "{}:1\n"
        where = placement.of_ranks()
        return "".join(line.format(hosts[host]) for host in [*where, *(where[-1:] * openmpi)])
    last = max(index for index, count in enumerate(placement.slots) if count)
    text = ""
    for index, (host, count) in enumerate(zip(hosts, placement.slots, strict=True)):
        if count:
            spare = int(openmpi and index == last)
            text += f"{host} slots={count + spare}\n" if openmpi else f"{host}:{count}\n"
    return text


def number_of_ranks(asked: int | None, hosts: int) -> int:
    """What `-n` asks for; one for each host where it asks for none."""
    most = SLOTS_MAX * hosts
    if asked is not None and not 1 <= asked <= most:
        raise BadInput(f"-n {asked}: expected a number of ranks from 1 to {most}")
    return hosts if asked is None else asked
