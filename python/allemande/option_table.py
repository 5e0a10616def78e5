"""The options of allemande. Made by tools/make_options.py from src/base/options.def."""

from __future__ import annotations

from dataclasses import dataclass

# ruff: noqa: E501


@dataclass(frozen=True)
class Option:
    key: str
    kind: str  # text, path, integer, number, choice or flag
    default: str  # as text; empty: not set
    valid: str  # integer: ranges "0,576..65535"; number: "1..9"; choice: "a|b|c"
    shared: bool  # must be equal on all ranks of a job
    help: str

    @property
    def variable(self) -> str:
        return f"ALLEMANDE_{self.key.upper()}"


OPTIONS: tuple[Option, ...] = (
    Option(
        key="cluster",
        kind="path",
        default="",
        valid="",
        shared=False,
        help="Cluster file (TOML) that describes hosts, switches and links. Without it all hosts are taken to hang on one switch.",
    ),
    Option(
        key="disable",
        kind="flag",
        default="off",
        valid="",
        shared=True,
        help="Pass every call through to the MPI library, as if allemande were not loaded. For a quick comparison.",
    ),
    Option(
        key="algorithm",
        kind="choice",
        default="auto",
        valid="auto|sync-shuffle|combine|group-shuffle|pairwise|shift-exchange|direct|native",
        shared=True,
        help="How the exchange is ordered. `auto` takes `combine`, which packs blocks of several pairs into one packet in a few phases, where they are small, else `sync-shuffle`. `native` is the MPI library's own. Leave it alone unless you compare algorithms.",
    ),
    Option(
        key="trials",
        kind="flag",
        default="on",
        valid="",
        shared=True,
        help="With `algorithm = auto`: the first calls of each size on a communicator take several ways in turn, ours, the MPI library's own and messages in other orders, and the fastest is kept. `off` always takes ours.",
    ),
    Option(
        key="decisions",
        kind="path",
        default="",
        valid="",
        shared=False,
        help="File for what the trials decided (TOML), read by rank 0 in MPI_Init and written in MPI_Finalize: later runs of the same shape take the same ways without a trial. `allemande explain` prints it.",
    ),
    Option(
        key="profile",
        kind="path",
        default="",
        valid="",
        shared=False,
        help="What was measured of this network (TOML, docs/profile.md), read by rank 0 in MPI_Init: the way predicted to be the fastest is taken first, and trials begin with it. A profile of another network is named and not used.",
    ),
    Option(
        key="permutation",
        kind="choice",
        default="balanced",
        valid="balanced|shift|xor|edge-colouring",
        shared=True,
        help="Who is whose partner in which step. `balanced` loads every uplink evenly. Leave it alone unless you compare schedules.",
    ),
    Option(
        key="uneven_steps",
        kind="flag",
        default="on",
        valid="",
        shared=True,
        help="In MPI_Alltoallv and MPI_Alltoallw with uneven counts, and a cluster file: the ranks tell each other their counts and send in steps made from them, so that no port is asked for more than it carries. `off` for comparison.",
    ),
    Option(
        key="omega",
        kind="integer",
        default="0",
        valid="0..65535",
        shared=True,
        help="Partners per round of group-shuffle; 0 picks one. No other algorithm looks at it.",
    ),
    Option(
        key="window_packets",
        kind="integer",
        default="0",
        valid="0..1048576",
        shared=True,
        help="Packets one rank may have in flight to all its peers together. 0 takes it from the cluster file: contended buffer / average load. Set it when the file's buffer sizes are guesses and packets are lost.",
    ),
    Option(
        key="grain_packets",
        kind="integer",
        default="0",
        valid="0..64",
        shared=True,
        help="Packets sent to one partner before the next one's turn. 0 takes it from link rate and buffer. 1 is the finest interleaving and costs most CPU.",
    ),
    Option(
        key="reliability",
        kind="choice",
        default="selective-repeat",
        valid="selective-repeat|go-back-n",
        shared=True,
        help="What is sent again after a loss: the missing packets, or everything since. `go-back-n` is there for study.",
    ),
    Option(
        key="integrity",
        kind="choice",
        default="full",
        valid="full|header",
        shared=True,
        help="What allemande's keyed checksum covers. `full`: every byte. `header`: the headers, while the data has only the 16-bit checksum of UDP, which network interfaces compute. Saves processor time on links of 10 Gbit/s and more; leave it alone where memory or switches are in doubt.",
    ),
    Option(
        key="send_rule",
        kind="choice",
        default="either",
        valid="either|receive-clock|unacked",
        shared=True,
        help="What opens the window: packets received, packets acknowledged, or either. The pure rules are there for study; `receive-clock` can stall.",
    ),
    Option(
        key="congestion_control",
        kind="choice",
        default="aimd",
        valid="aimd|off",
        shared=True,
        help="What a rank does when packets are lost, which tells that others use the queues: `aimd` halves its window and opens it again when nothing is lost. `off` keeps to the window of the cluster file, for comparison.",
    ),
    Option(
        key="paths",
        kind="integer",
        default="1",
        valid="1..32",
        shared=True,
        help="Path numbers between two hosts. Each is another pair of UDP ports, so that switches with several equal routes (ECMP) may send them different ways. 1 is one route; more pay where leaf switches have several uplinks to different spines.",
    ),
    Option(
        key="path_policy",
        kind="choice",
        default="least-loaded",
        valid="one|rotate|random|least-loaded|even|bss|hsam|recycled|bitmap|assigned",
        shared=True,
        help="With `paths` above 1: which path the next packets to a host take (docs/paths.md). `least-loaded` takes the one with the fewest packets under way; `assigned` follows the plan; `one`, `rotate`, `random` and `even` look at nothing and are there for comparison.",
    ),
    Option(
        key="path_batch",
        kind="integer",
        default="0",
        valid="0..32",
        shared=True,
        help="With `path_policy = bss`: paths in use at once, at most `paths`. 0 takes a quarter of them. No other policy looks at it.",
    ),
    Option(
        key="transport",
        kind="choice",
        default="auto",
        valid="auto|udp|mpi",
        shared=True,
        help="How the data travels: UDP sockets, or MPI point-to-point messages on fabrics UDP cannot use. `auto` takes UDP and falls back with a warning.",
    ),
    Option(
        key="leaders_per_host",
        kind="choice",
        default="auto",
        valid="auto|1|2|3|4|5|6|7|8",
        shared=True,
        help="So many ranks of a host share the sending and receiving of large blocks, where every host has as many. `auto` takes one, and on host links of more than 5 Gbit/s by the cluster file tries several beside it. A number is kept to without a trial; leave it alone unless you compare.",
    ),
    Option(
        key="interface",
        kind="text",
        default="",
        valid="",
        shared=False,
        help="Network interface to use, for example eth0. Without it the cluster file, then the route to the peers decides.",
    ),
    Option(
        key="mtu_bytes",
        kind="integer",
        default="0",
        valid="0,576..65535",
        shared=True,
        help="Largest IP packet to send. 0 takes the MTU of the route. Lower it when a path in between carries less than the interface says.",
    ),
    Option(
        key="gso",
        kind="choice",
        default="auto",
        valid="auto|off",
        shared=False,
        help="Hand several packets to the kernel at once (UDP_SEGMENT). `auto` does so where the kernel can; `off` for network drivers that get it wrong.",
    ),
    Option(
        key="gro",
        kind="choice",
        default="auto",
        valid="auto|off",
        shared=False,
        help="Take several packets from the kernel at once (UDP_GRO). `auto` does so where the kernel can; `off` for network drivers that get it wrong.",
    ),
    Option(
        key="pacing",
        kind="choice",
        default="auto",
        valid="auto|off",
        shared=False,
        help="Space packets in user space. `auto` does so where the kernel gives no back-pressure (virtual machines, containers) and the cluster file names the link's rate; `off` to compare.",
    ),
    Option(
        key="progress",
        kind="choice",
        default="off",
        valid="off|thread",
        shared=True,
        help="Who carries out MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw. `off`: the MPI library. `thread`: a thread of ours per communicator, which needs an MPI library that provides MPI_THREAD_MULTIPLE. Turn it on for programs that compute during the exchange.",
    ),
    Option(
        key="device_memory",
        kind="choice",
        default="auto",
        valid="auto|on|off",
        shared=True,
        help="Whether programs may pass buffers in GPU memory; their calls go to the MPI library, and every call begins with an agreement on whether any rank has one. `auto`: where a GPU runtime or its driver is there. `off` saves the agreement for programs that do not use the GPU.",
    ),
    Option(
        key="init_timeout_s",
        kind="integer",
        default="30",
        valid="1..3600",
        shared=False,
        help="How long MPI_Init waits for every rank to turn out to have allemande loaded. Raise it when ranks start minutes apart.",
    ),
    Option(
        key="hello_timeout_ms",
        kind="integer",
        default="3000",
        valid="10..600000",
        shared=False,
        help="How long a new communicator waits for UDP packets from every peer before it takes MPI messages instead.",
    ),
    Option(
        key="peer_warning_s",
        kind="integer",
        default="10",
        valid="1..86400",
        shared=False,
        help="A peer silent for so long, while it is waited for, is named in a warning.",
    ),
    Option(
        key="peer_timeout_s",
        kind="integer",
        default="300",
        valid="1..86400",
        shared=False,
        help="A peer silent for so long, while it is waited for, fails the call. A process stopped in a debugger is silent, too.",
    ),
    Option(
        key="time_scale",
        kind="number",
        default="1",
        valid="1..10000",
        shared=True,
        help="So many times slower than in truth is the network: every fixed time that belongs to its speed is multiplied by it, those of the options `hello_timeout_ms`, `peer_warning_s` and `peer_timeout_s` included. `allemande lab` sets it where links are slowed down (`--timers`); leave it alone on a real network.",
    ),
    Option(
        key="log",
        kind="choice",
        default="warning",
        valid="error|warning|info|debug",
        shared=False,
        help="What is written to standard error. `info` tells the decision for each communicator.",
    ),
    Option(
        key="stats",
        kind="path",
        default="",
        valid="",
        shared=False,
        help="File for the counters (JSON), summed over all ranks and written in MPI_Finalize. With `%r` in the name, which stands for the rank, each rank writes its own.",
    ),
)
