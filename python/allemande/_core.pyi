"""C++ parts of allemande. Use the Python modules that wrap them."""

from collections.abc import Callable, Sequence
from typing import Any


class Host:
    """A host of a cluster file."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str:
        """Empty if whoever uses the cluster assigns it."""

    @property
    def interface(self) -> str:
        """Empty if the route to the peers decides."""

    @property
    def links(self) -> int:
        """How many it has."""

    @property
    def interfaces(self) -> list[str]:
        """
        One for each link, or for the first alone if the file says nothing of the others.
        """

    def __repr__(self) -> str: ...

class Switch:
    """A switch of a cluster file."""

    @property
    def name(self) -> str: ...

    @property
    def architecture(self) -> str:
        """input, output or shared"""

    @property
    def switching(self) -> str:
        """cut-through or store-and-forward"""

    @property
    def flow_control(self) -> str:
        """drop or back-pressure"""

    @property
    def buffer_packets(self) -> int:
        """Shared pool; 0: the port queues alone."""

    @property
    def buffer_alpha(self) -> float:
        """
        A queue may grow to so many times the free pool; 0: as long as the pool has room.
        """

    @property
    def backplane_mbit_s(self) -> float:
        """0: carries everything."""

    @property
    def site(self) -> str:
        """Where its hosts are; empty: the cluster has no sites."""

    def __repr__(self) -> str: ...

class Link:
    """
    A link. Up is from_ -> to, down is back; a queue is the egress queue at the sending end.
    """

    @property
    def from_(self) -> str: ...

    @property
    def to(self) -> str: ...

    @property
    def rate_up_mbit_s(self) -> float: ...

    @property
    def rate_down_mbit_s(self) -> float: ...

    def at_rate(self, mbit_s: float) -> Link:
        """The same link at this rate, both ways."""

    def scaled(self, factor: float) -> Link:
        """The same link with its rates multiplied."""

    @property
    def latency_us(self) -> float: ...

    @property
    def queue_up_packets(self) -> int: ...

    @property
    def queue_down_packets(self) -> int: ...

    @property
    def bidirectional_cap_mbit_s(self) -> float:
        """0: none."""

    @property
    def one_way(self) -> bool:
        """Nothing travels down."""

    @property
    def ecn_packets(self) -> int:
        """Queue length from which a switch marks packets; 0: never."""

    def __repr__(self) -> str: ...

class Bisection:
    """The least cut between two halves of the hosts."""

    @property
    def links(self) -> int: ...

    @property
    def mbit_s(self) -> float:
        """From one half to the other."""

    def __repr__(self) -> str: ...

class LevelLimit:
    """What an all-to-all asks of one level of directed links."""

    @property
    def level(self) -> str: ...

    @property
    def seconds(self) -> float:
        """What the busiest link of the level needs."""

    @property
    def busiest(self) -> str: ...

    @property
    def rate_mbit_s(self) -> float: ...

    @property
    def bytes(self) -> float:
        """Framed bytes that must cross the busiest link."""

    def __repr__(self) -> str: ...

class Price:
    """The [price] of a cluster file."""

    @property
    def currency(self) -> str: ...

    @property
    def host(self) -> float:
        """What connects one host."""

    @property
    def link(self) -> float:
        """One cable."""

class Cost:
    """What a cluster's parts cost."""

    @property
    def hosts(self) -> float: ...

    @property
    def switches(self) -> float: ...

    @property
    def links(self) -> float: ...

    @property
    def total(self) -> float: ...

class Cluster:
    """Hosts, switches and links. Rates are in Mbit/s."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def mtu_bytes(self) -> int: ...

    @property
    def link_header_bytes(self) -> int: ...

    @property
    def hosts(self) -> list[Host]:
        """In file order."""

    @property
    def switches(self) -> list[Switch]:
        """In file order."""

    @property
    def links(self) -> list[Link]:
        """In file order."""

    def with_rates(self, links: Sequence[Link]) -> Cluster:
        """
        The same cluster with the rates of these links, which are its own in their order.
        """

    def scaled(self, factor: float) -> Cluster:
        """
        The same cluster with every rate multiplied; queues and latencies stay.
        """

    def sites(self) -> list[str]:
        """One for each host, in file order; empty if the file names none."""

    def latency_seconds(self, hosts: Sequence[str] | None) -> float:
        """
        The longest route between two of these hosts (None: all), by the latencies of its links.
        """

    def to_toml(self) -> str:
        """The cluster file that reads back as this cluster."""

    def __getstate__(self) -> str: ...

    def __setstate__(self, arg: str, /) -> None: ...

    def framed_bytes(self, bytes: int) -> int:
        """What one message occupies on a link, with the least framing."""

    def limit_seconds(self, hosts: Sequence[str] | None, bytes: int, combines: bool = False) -> float:
        """
        The least time an all-to-all of so many bytes per pair takes on these hosts (None: all).
        """

    def level_limits(self, hosts: Sequence[str] | None, bytes: int) -> list[LevelLimit]:
        """The same for each level of directed links."""

    def traffic_limit_seconds(self, hosts: Sequence[str] | None, matrix: Sequence[Sequence[int]], combines: bool = False) -> float:
        """
        The least time an exchange takes in which rank r, on hosts[r], sends matrix[r][s] bytes to rank s. Several ranks may share a host.
        """

    def bound_seconds(self, hosts: Sequence[str] | None, bytes: int, combines: bool = False) -> float:
        """
        As limit_seconds, with the least times before and after each link: for small blocks too.
        """

    def traffic_bound_seconds(self, hosts: Sequence[str] | None, matrix: Sequence[Sequence[int]], combines: bool = False) -> float:
        """The same of traffic_limit_seconds."""

    def is_tree(self) -> bool:
        """Whether one path joins any two hosts."""

    def leaf_traffic(self, hosts: Sequence[str] | None, amount: int | Sequence[Sequence[int]], combines: bool = False) -> tuple[list[str], list[float]]:
        """
        Framed bytes between the switches that hosts hang on (or hosts with several links), row by row: of an all-to-all of `amount` bytes per pair, or of a matrix.
        """

    @property
    def price(self) -> Price | None:
        """What its parts cost, where the file says so."""

    def cost(self) -> Cost | None:
        """What its parts cost together, where the file says so."""

    def schedule_hierarchy(self) -> list[list[int]]:
        """
        schedule_hierarchy()[l][h]: index of the group host h belongs to at level l; level 0 is the leaf switch, and the only level where the switches form no tree.
        """

    def root_switch(self) -> str:
        """Name of the switch in the middle, from which the tree hangs."""

    def bisection(self) -> Bisection:
        """
        The least that parts the hosts into halves. Raises BadInput where it is out of reach.
        """

    def warnings(self) -> list[str]:
        """Where the cluster does not grant what schedules and windows assume."""

    def __repr__(self) -> str: ...

def load_cluster(path: str) -> Cluster:
    """Reads a cluster file."""

def parse_cluster(text: str, source_name: str) -> Cluster:
    """Reads a cluster file from a string; the name is for messages."""

def generate(name: str) -> Cluster:
    """The network of a generated name, such as fat-tree:128 or myrinet:4."""

def is_generated(name: str) -> bool:
    """Whether the name is meant to be generated: its kind is known."""

def generated_forms() -> str:
    """The grammar of generated names."""

def check_toml(text: str, source_name: str) -> None:
    """Refuses what is no TOML; the name is for messages."""

def expand_hostlist(list: str) -> list[str]:
    """h[0-2],x -> h0 h1 h2 x (Slurm syntax)."""

def compress_hostlist(names: Sequence[str]) -> str:
    """h0 h1 h2 x -> h[0-2],x; keeps the order."""

class Tuning:
    """What the transport takes from the cluster file."""

    @property
    def nu(self) -> float:
        """Packets per step towards the most contended port."""

    @property
    def window_packets(self) -> int:
        """The global window W_g in use."""

    @property
    def window_with_acks(self) -> int:
        """W_g if every packet were acknowledged by one."""

    @property
    def single_window_packets(self) -> int:
        """W_g where every block is a single packet; 0: as for others."""

    @property
    def window_packets_min(self) -> int:
        """What keeps a host busy that sends at full rate: L / g."""

    @property
    def window_packets_max(self) -> int:
        """Eq 4: a larger window may lose packets; 0: nothing is lost."""

    @property
    def grain_packets(self) -> int:
        """Train length."""

    @property
    def host_rate_mbit_s(self) -> float:
        """The slowest host link."""

    @property
    def packet_time_us(self) -> float:
        """One full frame on that link."""

    @property
    def mtu_bytes(self) -> int: ...

    @property
    def latency_us(self) -> float:
        """One full frame over the longest route through the idle network."""

    @property
    def contended_port(self) -> str:
        """The port that sets the window."""

    @property
    def warnings(self) -> list[str]:
        """Where window and network do not go together."""

def tune(cluster: Cluster, hosts: Sequence[str] | None = None) -> Tuning:
    """Window and train length for an exchange among these hosts (None: all)."""

class Plan:
    """What one rank sends and receives, in rounds."""

    @property
    def algorithm(self) -> str: ...

    @property
    def permutation(self) -> str:
        """The one used: pairwise and shift-exchange choose by themselves."""

    @property
    def ranks(self) -> int: ...

    @property
    def rank(self) -> int: ...

    @property
    def interleaved(self) -> bool:
        """Packets to the partners of a round alternate; else block after block."""

    @property
    def identity(self) -> str:
        """What decision files and logs know the plan by: 'grid:8x4'."""

    @property
    def rounds(self) -> list[tuple[list[int], list[int]]]:
        """
        Per round of the first phase the ranks to send to and the ranks to receive from, in step order.
        """

    @property
    def phases(self) -> list[list[tuple[int, list[tuple[int, int]]]]]:
        """
        Per phase the messages this rank sends: to which rank, and the blocks in it, each as (origin, destination).
        """

    @property
    def phases_received(self) -> list[list[tuple[int, list[tuple[int, int]]]]]:
        """
        The same of the messages this rank receives, in the order of the rounds.
        """

    @property
    def phase_rounds(self) -> list[list[tuple[list[int], list[int]]]]:
        """Per phase what `rounds` gives of the first one."""

    @property
    def phase_interleaved(self) -> list[bool]:
        """Per phase what `interleaved` gives of the first one."""

def make_plan(ranks: int, rank: int, algorithm: str = 'sync-shuffle', permutation: str = 'balanced', contention_aware: bool = True, omega: int = 0, group_of: Sequence[Sequence[int]] = [], site_of: Sequence[int] = []) -> Plan:
    """
    The plan of one rank. group_of[l][r]: the group rank r is in at level l, as Cluster.schedule_hierarchy() gives it; empty: one switch. site_of[r]: the site of rank r, which local-group, coordinator and multi-site need.
    """

class Profile:
    """A profile as the models read it (docs/profile.md)."""

    @property
    def hosts(self) -> list[str]:
        """In rank order."""

    @property
    def cluster(self) -> Cluster | None:
        """The network as found; None: unknown."""

class Prediction:
    """Seconds of the slowest rank."""

    @property
    def time_s(self) -> float: ...

    @property
    def low_s(self) -> float:
        """low_s to high_s holds nine times in ten."""

    @property
    def high_s(self) -> float: ...

    @property
    def basis(self) -> str:
        """measured, fitted or extrapolated"""

class ExchangeShape:
    """What an exchange puts on the network, of all ranks."""

    @property
    def ranks(self) -> int: ...

    @property
    def phases(self) -> int:
        """How many."""

    @property
    def rounds(self) -> int:
        """How many, of all phases."""

class Signature:
    """Eq 5 of paper 003."""

    def __init__(self, alpha: float, beta: float, gamma: float = 1.0, delta: float = 0.0, threshold: float = 0.0) -> None: ...

class TwoSites:
    """Two sites of n1 <= n2 hosts, and what joins them."""

    def __init__(self, n1: int, n2: int, site: Signature, alpha: float, beta: float, link_beta: float) -> None:
        """
        alpha, beta: of one message between the sites; link_beta: seconds per byte on the link that all share.
        """

    def naive_s(self, bytes: float) -> float:
        """Eq 6 of paper 003."""

    def local_group_printed_s(self, bytes: float) -> float:
        """Eq 7 as printed."""

    def local_group_s(self, bytes: float) -> float:
        """The same with the true largest message between the sites."""

    def local_group_corrected_s(self, bytes: float) -> float:
        """And with the true messages within the sites."""

    def local_group_overlapped_s(self, bytes: float) -> float:
        """Ours: what crosses does so at the same time."""

    def multi_site_s(self, bytes: float) -> float:
        """Ours, of multi-site."""

class Demand:
    """What a shape asks of the idle network, in seconds."""

    @property
    def links_s(self) -> float:
        """The least time the links allow for each phase."""

    @property
    def turns_s(self) -> float:
        """For each round: the last packet's time after its host."""

    @property
    def work_s(self) -> float:
        """What the links do, at that pace and in those steps."""

    @property
    def packets(self) -> float:
        """Those of the rank that sends most."""

    @property
    def rounds(self) -> float: ...

def demand(cluster: Cluster, members: Sequence[str] | None, shape: ExchangeShape, bytes: int) -> Demand:
    """
    The demand of blocks of `bytes` in our packets, among these hosts (None: all).
    """

def expected(demand: Demand, shape: ExchangeShape) -> tuple[float, float]:
    """
    Seconds where nothing was measured, and the deviation of the logarithm of what it takes.
    """

def saturation_onset(cluster: Cluster, hosts: Sequence[str] | None = None) -> int | None:
    """
    How many of these hosts, in this order, it takes until links between switches are the limit; None: they never are.
    """

class OwnWay:
    """A way that allemande carries out itself."""

    @property
    def algorithm(self) -> str:
        """As `allemande simulate` takes it."""

    @property
    def key(self) -> str:
        """As decision files have it: 'udp grid:8x4'."""

    @property
    def shape(self) -> ExchangeShape: ...

    def takes(self, bytes: int) -> bool:
        """Whether the algorithm goes this way for blocks of so many bytes."""

OVER_UDP: str = 'udp '

def own_ways(cluster: Cluster, members: Sequence[str] | None = None) -> list[OwnWay]:
    """All that allemande may take among these hosts (None: all)."""

def parse_profile(text: str, source_name: str) -> Profile:
    """Reads and checks a profile; the name is for messages."""

class Predictor:
    """What ways take among these hosts of a profile."""

    def __init__(self, profile: Profile, members: Sequence[str]) -> None: ...

    def predict(self, key: str, bytes: int, shape: ExchangeShape | None = None) -> Prediction | None:
        """
        None: the profile says nothing of such a way. `key`: of a way or a candidate.
        """

    def limit_s(self, bytes: int) -> float | None:
        """What the links allow; None without a cluster."""

    def latency_s(self) -> float | None:
        """
        The longest route's latency, by its links alone; None without a cluster.
        """

def usual_way(cluster: Cluster, members: Sequence[str] | None, bytes: int) -> str:
    """The key of the way that allemande takes by itself, before any trial."""

class Routes:
    """Where packets go on a cluster."""

    def path(self, from_: str, to: str, path_number: int = 0) -> list[str]:
        """
        The ports that a packet passes, as `leaf0 -> spine1`; `path_number` is the LID offset, the entropy or the number of the message, as the rule has it.
        """

    def lid_tables(self) -> list[list[int]]:
        """
        For each switch and each number of each host, the port that leads there, from 1 on in the order of the switch's links; 0: none. Rows are empty unless the rule is lid.
        """

def make_routes(cluster: Cluster, routing: str, lmc: int = 0, lid_engine: str = 'minhop') -> Routes:
    """
    Routes by a rule of the simulator's option `routing`. Raises BadInput for an unknown rule, a host that cannot be reached, and an LMC above 7.
    """

def simulate(cluster: Cluster, options: dict[str, Any], progress: Callable[[float], object] | None = None, told: Cluster | None = None) -> dict[str, Any]:
    """
    Simulates exchanges packet by packet. `options` are those of docs/simulator.md; `progress(share)` is called now and then. `told` is what the job's own cluster file says, where that is not the network.
    """

def simulate_flows(cluster: Cluster, options: dict[str, Any], progress: Callable[[float], object] | None = None) -> dict[str, Any]:
    """
    One exchange among all hosts as max-min fair flows. `progress` is called with the part done, 0 to 1.
    """

def simulate_streams(cluster: Cluster, streams: Sequence[tuple[str, str]], message_bytes: int, duration_s: float, warm_up_s: float, options: dict[str, Any]) -> dict[str, Any]:
    """
    Simulates streams between pairs of hosts, one message after another as fast as cards and back-pressure let them. The result has `bit_s` of each stream, and `port_bytes`: what crossed the links from one node to another.
    """

ALM_OK: int = 0

ALM_ERROR_ARGUMENT: int = 1

ALM_ERROR_CONFIG: int = 2

ALM_ERROR_UNAVAILABLE: int = 4

ALM_ERROR_PEER_LOST: int = 5

ALM_ERROR_MISMATCH: int = 6

ALM_ERROR_BUSY: int = 7

class Exchange:
    """An exchange among the processes `allgather` reaches."""

    def __init__(self, ranks: int, rank: int, allgather: Callable[[bytes], object], progress: object | None, options: Sequence[str]) -> None:
        """
        allgather(mine) returns the bytes of all ranks in rank order; progress() is called every millisecond while a call waits; options are key=value.
        """

    def open(self) -> int:
        """Collective. An ALM_ code, as of the functions below."""

    def alltoall(self, send: object | None, recv: object, bytes: int) -> int:
        """Blocks of `bytes` bytes; send None: in place."""

    def alltoallv(self, send: object | None, send_blocks: Sequence[tuple[int, int]], recv: object, recv_blocks: Sequence[tuple[int, int]]) -> int:
        """Blocks as (displacement, bytes), one per rank; send None: in place."""

    def close(self) -> None:
        """Not collective."""

    def error(self) -> str:
        """What the last call that failed has to say."""

    def counters(self) -> tuple[int, str]:
        """(code, JSON)."""

PROBE_HEADER_BYTES: int = 40

PROBE_SECRET_BYTES: int = 192

def simulate_probe(cluster: Cluster, options: dict[str, Any], number: int, duration_ns: int, flows: Sequence[tuple[int, int, int, int, int, int, int, bool, bool]], watches: Sequence[tuple[int, int, int, int]]) -> list[tuple[bytes, bytes, bytes, int]]:
    """
    (sent, received, stalls, overflow) of each host; options as of simulate().
    """

class ProbeSocket:
    """Carries out a rank's part of experiments over UDP."""

    def __init__(self, address: str, secret: bytes) -> None:
        """address: numeric; empty: that of the default route."""

    @property
    def local(self) -> tuple[str, int]:
        """(numeric address, port)"""

    @property
    def datagram_bytes(self) -> int:
        """Largest datagram of one packet on the interface."""

    @property
    def warnings(self) -> list[str]: ...

    def set_peers(self, peers: Sequence[tuple[str, int]]) -> None:
        """(numeric address, port) of all ranks, in their order."""

    def run(self, number: int, duration_ns: int, flows: Sequence[tuple[int, int, int, int, int, int, int, bool, bool]], watches: Sequence[tuple[int, int, int, int]], rank: int, begin_ns: int) -> tuple[bytes, bytes, bytes, int]:
        """
        From begin_ns (CLOCK_REALTIME) on; returns when the experiment is over.
        """
