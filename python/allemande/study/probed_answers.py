"""What the prober says of random networks, beside what they are, as a table.

    python -m allemande.study.probed_answers [--networks N] [--first SEED] [--trees]

Each answer is right, wrong, or open: the prober said that it cannot tell, or nothing. A shared
buffer that holds what all its ports may queue together is the same as a queue for each. The
networks are those of allemande.study.random_networks, of one or two levels; with `--trees` those of
allemande.study.random_trees, of one to three, with queues of 3 to 1,000 packets and some with back-
pressure. Of three levels leaves alone are judged. Hosts do not pause. Ends with 1 where more than
WRONG_MAX of the answers of a kind are wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from allemande.entry import run_command
from allemande.model.profile import MEASURED, UNDETERMINED
from allemande.probe.network_findings import Findings
from allemande.probe.overload import PortFinding
from allemande.probe.probing import Probing, Wishes
from allemande.probe.simulated_bed import SimulatedBed
from allemande.study.measuring import conclude, on_all_processors
from allemande.study.random_networks import random_network
from allemande.study.random_trees import random_tree
from allemande.tables import right, ruled_table
from allemande.topology import Cluster, Link, Switch

NETWORKS = 60
WRONG_MAX = 0.05
REPEAT = 8
RIGHT, WRONG, OPEN = "right", "wrong", "open"
QUESTIONS = (
    "leaves",
    "leaf_architecture",
    "leaf_switching",
    "core_architecture",
    "core_switching",
    "host_ports",
    "uplinks",
    "core_ports",
)
# A queue that was found may be wrong by so much, and by as many packets.
QUEUE_OFF, QUEUE_PACKETS_OFF = 0.1, 3.0


def _said(answer: str | None, *true: str) -> str:
    if answer in (None, UNDETERMINED):
        return OPEN
    return RIGHT if answer in true else WRONG


def _architectures(switch: Switch, links: Sequence[Link]) -> list[str]:
    """What may be said of how a switch queues."""
    queues = [
        link.queue_down_packets if link.to == switch.name else link.queue_up_packets
        for link in links
        if switch.name in (link.from_, link.to)
    ]
    if switch.architecture == "shared" and switch.buffer_packets >= sum(queues):
        return ["shared", "output"]
    return [switch.architecture]


def _ports(found: Sequence[PortFinding], queue: int, switch: Switch) -> str:
    """Wrong where one is; open where none is known."""
    pool = switch.buffer_packets if switch.architecture == "shared" else None
    true = min(queue, pool) if pool else queue
    known = [
        one.buffer_packets.value for one in found if one.state == MEASURED and one.buffer_packets
    ]
    if not known:
        return OPEN
    off = max(abs(value - true) for value in known)
    return RIGHT if off <= max(QUEUE_PACKETS_OFF, QUEUE_OFF * true) else WRONG


def _judge(cluster: Cluster, found: Findings) -> dict[str, str]:
    """By question; what a network does not have is left out."""
    hosts = {host.name for host in cluster.hosts}
    switches = {switch.name: switch for switch in cluster.switches}
    low: list[Link] = [link for link in cluster.links if link.from_ in hosts]
    high: list[Link] = [link for link in cluster.links if link.from_ not in hosts]
    leaf_of = {link.from_: link.to for link in low}
    names = sorted(set(leaf_of.values()))
    true = sorted(
        [rank for rank, host in enumerate(cluster.hosts) if leaf_of[host.name] == name]
        for name in names
    )
    leaves = found.groups.leaves
    alike = leaves is not None and sorted(map(sorted, leaves)) == true
    out = {"leaves": OPEN if leaves is None else RIGHT if alike else WRONG}
    if len({link.to for link in high}) > 1:
        return out
    leaf = switches[names[0]]
    out["leaf_architecture"] = _said(
        found.answers.get("leaf_architecture"), *_architectures(leaf, cluster.links)
    )
    out["leaf_switching"] = _said(found.answers.get("leaf_switching"), leaf.switching)
    out["host_ports"] = _ports(found.host_ports, low[0].queue_down_packets, leaf)
    if high:
        core = switches[high[0].to]
        out["core_architecture"] = _said(
            found.answers.get("core_architecture"), *_architectures(core, cluster.links)
        )
        out["core_switching"] = _said(found.answers.get("core_switching"), core.switching)
        out["uplinks"] = _ports(found.uplinks, high[0].queue_up_packets, leaf)
        out["core_ports"] = _ports(found.downlinks, high[0].queue_down_packets, core)
    return out


def answers_on(make: Callable[[int], Cluster], seed: int) -> dict[str, str]:
    """How the prober's answers about the network of this seed are."""
    cluster = make(seed)
    bed = SimulatedBed.of_text(cluster.to_toml(), {"seed": seed})
    return _judge(cluster, Probing(bed, Wishes(repeat=REPEAT)).run())


def _verdict(counts: dict[str, Counter[str]]) -> tuple[bool, str]:
    """Whether few answers are wrong, and a line that says so."""
    worst = max(counts, key=lambda name: counts[name][WRONG] / max(1, counts[name].total()))
    part = counts[worst][WRONG] / max(1, counts[worst].total())
    return part <= WRONG_MAX, f"most often wrong: {worst}, {part:.1%}"


def _command(
    networks: Annotated[int, typer.Option(help="So many random networks.", min=1)] = NETWORKS,
    first: Annotated[int, typer.Option(help="Seed of the first network.", min=0)] = 0,
    trees: Annotated[bool, typer.Option("--trees", help="Of one to three levels.")] = False,
) -> None:
    """Compare what the prober says of random networks with what they are."""
    seeds = range(first, first + networks)
    rows = on_all_processors(
        answers_on, [random_tree if trees else random_network] * networks, seeds
    )
    counts = {name: Counter(row[name] for row in rows if name in row) for name in QUESTIONS}
    table = ruled_table("the prober's answers", "question", *right(RIGHT, WRONG, OPEN, "wrong on"))
    for name, count in counts.items():
        wrong = [str(seed) for seed, row in zip(seeds, rows, strict=True) if row.get(name) == WRONG]
        table.add_row(name, *(str(count[one]) for one in (RIGHT, WRONG, OPEN)), " ".join(wrong))
    conclude(table, _verdict(counts))


if __name__ == "__main__":
    sys.exit(run_command("probed-answers", _command))
