"""From facts to findings: pure functions, one per subject. Every finding names its fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from allemande.doctor.facts import Bond, Cluster, Facts, Interface, Mpi

Status = Literal["ok", "note", "bad"]  # a note costs speed at most; bad: something does not work

# What src/transport/io asks for (endpoint.h): kernel memory, of which a full packet takes 2304.
RECEIVE_BUFFER_BYTES = 4 << 20
KERNEL_BYTES_PER_PACKET = 2304
RECEIVE_PACKETS_MIN = 128
SEND_BUFFER_BYTES = 128 * KERNEL_BYTES_PER_PACKET
BACKLOG_MIN = 1000
PORTS_MIN = 1000
MTU_MIN = 576
SPEED_UNTOLD_MBIT_S = 1000  # what counts for interfaces that do not tell theirs

# Whose transmit queues tell senders to wait, where nothing shapes them: packets vanish elsewhere.
NO_BACK_PRESSURE = ("virtio_net", "veth", "vif", "hv_netvsc", "vmxnet3")

# Bonds that choose a link by a hash, and hashes that leave out the ports.
HASHING_BONDS = ("balance-xor", "802.3ad")
HASHES_WITHOUT_PORTS = ("layer2", "layer2+3", "vlan+srcmac")


@dataclass(frozen=True)
class Finding:
    check: str
    status: Status
    says: str
    fix: str = ""


def examine(facts: Facts) -> list[Finding]:
    return [
        *_system(facts),
        *_buffers(facts),
        *_sockets(facts),
        *_network(facts),
        *_machine(facts),
        *_configuration(facts),
        *_mpis(facts.mpis),
        *_lab(facts),
    ]


def failed(findings: Iterable[Finding]) -> bool:
    return any(finding.status == "bad" for finding in findings)


def _system(facts: Facts) -> Iterator[Finding]:
    if facts.system != "Linux":
        yield Finding(
            "system",
            "bad",
            f"{facts.system}: allemande needs Linux",
            "run it on the cluster's Linux hosts",
        )
        return
    release = tuple(int(word) for word in facts.kernel.split(".")[:2] if word.isdigit())
    if release < (4, 18):
        yield Finding(
            "system",
            "note",
            f"Linux {facts.kernel} cannot hand over trains of packets (UDP_SEGMENT, since 4.18)",
            "a newer kernel; until then allemande sends packet by packet",
        )
    else:
        yield Finding("system", "ok", f"Linux {facts.kernel}")


def _buffers(facts: Facts) -> Iterator[Finding]:
    """net.core limits. With CAP_NET_ADMIN a socket may pass them: what is granted counts."""
    wanted = RECEIVE_BUFFER_BYTES // 2  # the kernel doubles what it is asked for
    granted = facts.sockets.receive_buffer_bytes
    fix = f"sysctl -w net.core.rmem_max={wanted}"
    packets = granted // KERNEL_BYTES_PER_PACKET
    if facts.sockets.error:
        pass  # said below
    elif packets < RECEIVE_PACKETS_MIN:
        yield Finding(
            "receive buffer",
            "bad",
            f"{granted} bytes are granted, {packets} packets of 1500 bytes; windows need at least "
            f"{RECEIVE_PACKETS_MIN}",
            fix,
        )
    elif granted < RECEIVE_BUFFER_BYTES:
        yield Finding(
            "receive buffer",
            "note",
            f"{granted} bytes are granted of {RECEIVE_BUFFER_BYTES}: hosts that pause lose packets",
            fix,
        )
    else:
        yield Finding("receive buffer", "ok", f"{granted} bytes")
    if not facts.sockets.error and facts.sockets.send_buffer_bytes < SEND_BUFFER_BYTES:
        yield Finding(
            "send buffer",
            "note",
            f"{facts.sockets.send_buffer_bytes} bytes are granted of {SEND_BUFFER_BYTES}: more "
            "system calls",
            f"sysctl -w net.core.wmem_max={SEND_BUFFER_BYTES // 2}",
        )
    elif not facts.sockets.error:
        yield Finding("send buffer", "ok", f"{facts.sockets.send_buffer_bytes} bytes")
    for name, value in (("rmem_max", facts.rmem_max), ("wmem_max", facts.wmem_max)):
        if value is None:
            yield Finding(name, "note", f"/proc/sys/net/core/{name} cannot be read")
    backlog = facts.netdev_max_backlog
    if backlog is None:
        yield Finding("backlog", "note", "/proc/sys/net/core/netdev_max_backlog cannot be read")
    elif backlog < BACKLOG_MIN:
        yield Finding(
            "backlog",
            "note",
            f"a processor queues {backlog} received packets at most and drops the rest",
            f"sysctl -w net.core.netdev_max_backlog={BACKLOG_MIN}",
        )
    else:
        yield Finding("backlog", "ok", f"{backlog} packets")


def _sockets(facts: Facts) -> Iterator[Finding]:
    sockets = facts.sockets
    if sockets.error or not sockets.passes:
        yield Finding(
            "UDP",
            "bad",
            sockets.error or "datagrams do not get through on loopback",
            "allow UDP on lo (a firewall, a seccomp filter?); until then: ALLEMANDE_TRANSPORT=mpi",
        )
        return
    yield Finding("UDP", "ok", "datagrams get through on loopback")
    if sockets.segmentation:
        yield Finding(
            "UDP_SEGMENT",
            "note",
            f"no trains of packets: {sockets.segmentation}",
            "a kernel with UDP GSO; until then allemande sends packet by packet",
        )
    else:
        yield Finding("UDP_SEGMENT", "ok", "several packets per system call (GSO)")
    if sockets.coalescing:
        yield Finding(
            "UDP_GRO",
            "note",
            f"packets are received one by one: {sockets.coalescing}",
            "a kernel since 5.0; until then reception costs more processor time",
        )
    else:
        yield Finding("UDP_GRO", "ok", "several packets per system call (GRO)")
    if sockets.error_queue:
        yield Finding(
            "IP_RECVERR",
            "note",
            f"ICMP errors are not told: {sockets.error_queue}",
            "a dead peer is noticed by its silence alone; raise no ALLEMANDE_PEER_TIMEOUT_S",
        )
    else:
        yield Finding("IP_RECVERR", "ok", "ICMP errors are told")


def _network(facts: Facts) -> Iterator[Finding]:
    if facts.port_range is not None:
        low, high = facts.port_range
        if high - low < PORTS_MIN:
            yield Finding(
                "ports",
                "bad",
                f"sockets get ports {low} to {high}: too few",
                'sysctl -w net.ipv4.ip_local_port_range="32768 60999"',
            )
        else:
            yield Finding("ports", "ok", f"UDP {low} to {high}")
    if facts.firewalls and facts.port_range is not None:
        low, high = facts.port_range
        yield Finding(
            "firewall",
            "note",
            f"{', '.join(facts.firewalls)} active: packets between hosts may be dropped",
            f"let UDP ports {low} to {high} through between the cluster's hosts",
        )
    usable = [interface for interface in facts.interfaces if interface.up]
    if not usable:
        yield Finding(
            "interfaces",
            "note",
            "none but loopback is up: no other host can be reached",
            "ip link set DEVICE up; name it with ALLEMANDE_INTERFACE",
        )
    for interface in usable:
        yield _interface(interface)
        if interface.bond is not None:
            yield _bond(interface.name, interface.bond)
    if len(usable) > 1:
        yield _choice(usable)


def _choice(usable: Sequence[Interface]) -> Finding:
    """Which of several interfaces a job takes: the rule of src/job/local_addresses.cc."""

    def speed(interface: Interface) -> int:
        told = 0 if interface.virtual else interface.speed_mbit_s
        return told or SPEED_UNTOLD_MBIT_S

    first, *others = sorted(usable, key=lambda interface: -speed(interface))
    if any(speed(other) < speed(first) for other in others):
        why = f"the fastest by what it says of itself ({first.speed_mbit_s} Mbit/s)"
    else:
        why = "none says to be faster, and it comes first"
    return Finding(
        "interfaces",
        "ok",
        f"jobs try {first.name} first where all hosts share its subnet, because {why}; then "
        f"{', '.join(other.name for other in others)}. A cluster file that names interfaces, or "
        "ALLEMANDE_INTERFACE, decides otherwise",
    )


def _interface(interface: Interface) -> Finding:
    what = f"{interface.name}: {interface.driver or ('virtual' if interface.virtual else 'device')}"
    what += f", MTU {interface.mtu}"
    if interface.speed_mbit_s > 0:
        what += f", {interface.speed_mbit_s} Mbit/s"
    if interface.mtu < MTU_MIN:
        return Finding(
            "interface",
            "bad",
            f"{what}; packets of at least {MTU_MIN} bytes are needed",
            f"ip link set {interface.name} mtu 1500",
        )
    weak = interface.driver in NO_BACK_PRESSURE or interface.queue == "noqueue"
    # A bond has no queue because its members have them.
    if weak and interface.bond is None and not interface.queue.startswith(("tbf", "htb", "netem")):
        return Finding(
            "interface",
            "note",
            f"{what}; a full queue is not told to the sender, packets vanish",
            "name the link's rate in the cluster file: allemande then paces in user space",
        )
    return Finding("interface", "ok", what)


def _bond(name: str, bond: Bond) -> Finding:
    what = f"{name}: {bond.mode} of {', '.join(bond.members) or 'no link'}"
    down = [member for member in bond.members if member not in bond.up]
    if down:
        links = ", ".join(down)
        return Finding("bond", "note", f"{what}; down: {links}", "see to the cable and the switch")
    if bond.mode not in HASHING_BONDS or len(bond.members) < 2:
        return Finding("bond", "ok", what)
    what += f", by {bond.hash_policy}"
    if bond.hash_policy in HASHES_WITHOUT_PORTS:
        return Finding(
            "bond",
            "note",
            f"{what}: all packets between two hosts take one of the links",
            f"echo layer3+4 > /sys/class/net/{name}/bonding/xmit_hash_policy, the switch likewise, "
            "and ALLEMANDE_PATHS=4",
        )
    return Finding(
        "bond",
        "ok",
        f"{what}: paths spread over the links with ALLEMANDE_PATHS={2 * len(bond.members)}",
    )


def _machine(facts: Facts) -> Iterator[Finding]:
    if facts.processors < 2:
        yield Finding(
            "processors",
            "note",
            f"1 of {facts.processors_online} may be used: the thread that answers late peers "
            "waits for the program",
            "give each rank two (mpirun --bind-to none, --cpus-per-proc, srun -c 2)",
        )
    else:
        text = f"{facts.processors} of {facts.processors_online} may be used"
        yield Finding("processors", "ok", text)
    if facts.huge_pages == "never":
        yield Finding(
            "huge pages",
            "note",
            "transparent huge pages are off: large buffers cost more page faults",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )
    elif facts.huge_pages:
        yield Finding("huge pages", "ok", facts.huge_pages)
    if facts.container:
        yield Finding(
            "container",
            "note",
            f"{facts.container}: addresses of its own network may be the same on every host",
            "use the host's network (docker run --network host), or name the interface with "
            "ALLEMANDE_INTERFACE",
        )


def _configuration(facts: Facts) -> Iterator[Finding]:
    if facts.configuration:
        fix = "`allemande config` lists the valid names and values"
        yield Finding("configuration", "bad", facts.configuration, fix)
    else:
        yield Finding("configuration", "ok", "every option is valid")
    if facts.cluster is not None:
        yield from _cluster(facts.cluster)


def _cluster(cluster: Cluster) -> Iterator[Finding]:
    if cluster.error:
        yield Finding(
            "cluster file",
            "bad",
            cluster.error,
            "docs/cluster-file.md describes the format; `allemande topology FILE` checks it",
        )
        return
    yield Finding("cluster file", "ok", f"{cluster.path}: {cluster.hosts} hosts")
    for warning in cluster.warnings:
        yield Finding("cluster file", "note", warning, f"allemande topology {cluster.path}")
    if not cluster.names_this_host:
        yield Finding(
            "cluster file",
            "note",
            f"{cluster.path} does not name this host ({cluster.host})",
            "run the doctor on a host of the cluster, or add the host",
        )


def _mpis(mpis: tuple[Mpi, ...]) -> Iterator[Finding]:
    if not mpis:
        yield Finding(
            "MPI",
            "note",
            "no launcher (mpirun, mpiexec, srun) in PATH: nothing to preload allemande into",
            "put the MPI library's bin folder into PATH, or give --mpirun",
        )
    for mpi in mpis:
        if mpi.kind == "srun":
            yield Finding("MPI", "ok", f"{mpi.launcher}: Slurm")
            continue
        if not mpi.kind:
            yield Finding(
                "MPI",
                "note",
                f"{mpi.launcher} is neither Open MPI's nor MPICH's launcher",
                "forward LD_PRELOAD (`allemande preload`) by the launcher's own options",
            )
            continue
        fortran = "C and Fortran" if mpi.fortran else "C alone"
        yield Finding("MPI", "ok", f"{mpi.launcher}: {mpi.version or mpi.kind}, {fortran}")
        yield _preload(mpi)


def _preload(mpi: Mpi) -> Finding:
    if not mpi.preload:
        mpicc = mpi.mpicc or "MPICC"
        return Finding(
            "preload",
            "bad",
            mpi.preload_missing or f"there is no library to preload for {mpi.kind}",
            f"allemande build-preload --mpicc {mpicc}",
        )
    if mpi.job is None:
        return Finding("preload", "note", f"{mpi.preload}: not tried ({mpi.job_skipped})")
    if mpi.job:
        return Finding(
            "preload",
            "bad",
            f"a job of 2 processes under {mpi.launcher} failed: {mpi.job}",
            "run it without allemande (allemande doctor --no-jobs skips it); where that works, "
            f"build the library anew: allemande build-preload --mpicc {mpi.mpicc or 'MPICC'}",
        )
    return Finding("preload", "ok", f"{mpi.preload}: 2 processes exchanged under {mpi.launcher}")


def _lab(facts: Facts) -> Iterator[Finding]:
    """Only `allemande lab`, `bench` and `demo` need it."""
    if facts.lab_tools:
        packages = sorted({tool.partition("(")[2].rstrip(")") for tool in facts.lab_tools})
        yield Finding(
            "lab",
            "note",
            f"allemande lab, bench and demo need {', '.join(facts.lab_tools)}",
            f"apt-get install {' '.join(packages)}",
        )
    elif facts.namespaces:
        reason, _, fix = facts.namespaces.partition("; ")
        yield Finding("lab", "note", f"no emulated clusters here: {reason}", fix)
    else:
        yield Finding("lab", "ok", "emulated clusters can be made here")
