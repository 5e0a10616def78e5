"""What `allemande doctor` knows of a machine. Nothing here reads or judges anything."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bond:
    """Several links that are one interface."""

    mode: str  # "802.3ad", "active-backup"
    hash_policy: str  # which of them a packet takes: "layer2", "layer3+4"; empty: not told
    members: tuple[str, ...] = ()
    up: tuple[str, ...] = ()  # those of the members that carry packets


@dataclass(frozen=True)
class Interface:
    name: str
    up: bool
    mtu: int
    driver: str  # "virtio_net"; empty: none is told
    virtual: bool  # no device behind it (bridge, veth, tun)
    queue: str = ""  # the queueing discipline at its root: "fq_codel", "noqueue"; empty: not known
    speed_mbit_s: int = 0  # 0: not known
    bond: Bond | None = None  # None: it is none


@dataclass(frozen=True)
class Sockets:
    """What UDP sockets on loopback do."""

    error: str = ""  # not empty: not even that, and the rest is of no meaning
    passes: bool = True  # a datagram came through
    receive_buffer_bytes: int = 0  # granted for what the library asks for
    send_buffer_bytes: int = 0
    segmentation: str = ""  # UDP_SEGMENT (GSO): why not; empty: works
    coalescing: str = ""  # UDP_GRO
    error_queue: str = ""  # IP_RECVERR


@dataclass(frozen=True)
class Mpi:
    """One MPI launcher on PATH, and whether a job with allemande preloaded runs under it."""

    launcher: str  # path
    kind: str  # "openmpi", "mpich", "srun"; empty: unknown
    version: str = ""
    mpicc: str = ""  # path; empty: none beside the launcher
    fortran: bool = False
    preload: str = ""  # the library for it; empty: none
    preload_missing: str = ""  # why there is none
    job: str | None = None  # "" the job ran well; a text: it did not; None: not tried
    job_skipped: str = ""  # why it was not tried


@dataclass(frozen=True)
class Cluster:
    path: str
    error: str = ""
    hosts: int = 0
    warnings: tuple[str, ...] = ()
    names_this_host: bool = True
    host: str = ""


@dataclass(frozen=True)
class Facts:
    system: str = "Linux"
    kernel: str = "6.1.0"
    rmem_max: int | None = None  # None: cannot be read
    wmem_max: int | None = None
    netdev_max_backlog: int | None = None
    port_range: tuple[int, int] | None = None
    sockets: Sockets = field(default_factory=Sockets)
    interfaces: tuple[Interface, ...] = ()
    firewalls: tuple[str, ...] = ()  # active ones, by name
    processors: int = 1  # that this process may use
    processors_online: int = 1
    huge_pages: str = ""  # "always", "madvise", "never"; empty: not known
    container: str = ""  # what kind; empty: none found
    namespaces: str = ""  # why the lab cannot make any; empty: it can
    lab_tools: tuple[str, ...] = ()  # missing: "tc (iproute2)"
    configuration: str = ""  # what is wrong with variables and configuration file
    mpis: tuple[Mpi, ...] = ()
    cluster: Cluster | None = None
