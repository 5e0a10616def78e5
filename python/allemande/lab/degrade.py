"""Links that get worse while the lab runs: slower, losing packets, or dead.

Each direction of a link is shaped at its sending end and loses packets at its receiving end. A
slower link gets another rate for its shapers. A link that loses packets gets a classic BPF program
where they come in: it draws a random number for each and drops it or not. A dead link drops all of
them: nobody is told, as with a broken cable whose ends stay lit. Routers learn of it when next hops
are withdrawn, all of them at once.

The kernel's own random numbers decide, so losses are not the same in a second run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.lab import boot_plan, registry, routers
from allemande.lab.network import Network, Port

FILE = "degraded.json"

# Classic BPF: A = random 32 bits; A >= threshold drops the packet, else other filters decide.
_LOAD_RANDOM = "32 0 0 4294963256"  # ld [SKF_AD_OFF + SKF_AD_RANDOM]
_DROP, _GO_ON = "6 0 0 2", "6 0 0 4294967295"  # TC_ACT_SHOT, TC_ACT_UNSPEC


@dataclass(frozen=True)
class Condition:
    """Of one link, both ways. As built: the defaults."""

    rate: float = 1.0  # of what the cluster file says, times the lab's scale
    loss: float = 0.0  # part of the packets; 1: the link is dead
    withdrawn: bool = False  # routers know that it is dead


Conditions = Mapping[int, Condition]  # by the link's place in the file; others are as built
# (node, tool) -> lines for its -batch
Commands = dict[tuple[str, str], list[str]]

AS_BUILT = Condition()


def read(directory: Path) -> dict[int, Condition]:
    try:
        content = json.loads((directory / FILE).read_text())
    except FileNotFoundError:
        return {}
    return {int(link): Condition(**values) for link, values in content.items()}


def write(directory: Path, conditions: Conditions) -> None:
    content = {str(link): asdict(condition) for link, condition in conditions.items()}
    registry.write(directory / FILE, content)


def find_links(network: Network, one: str, other: str, lab: str) -> list[int]:
    """All links that join two nodes; several where a trunk is doubled."""
    nodes = [*network.hosts, *(switch.name for switch in network.switches)]
    for name in (one, other):
        if name not in nodes:
            close = get_close_matches(name, nodes, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise BadInput(f"lab {lab!r} has no host or switch {name!r}{hint}")
    found = network.links_between(one, other)
    if not found:
        peers = dict.fromkeys(port.peer for port in network.ports() if port.node == one)
        raise BadInput(
            f"lab {lab!r} has no link {one}:{other}; {one} is linked to: {', '.join(peers)}"
        )
    return found


def changed(
    before: Conditions,
    links: Iterable[int],
    *,
    rate: float | None = None,
    loss: float | None = None,
    restore: bool = False,
) -> dict[int, Condition]:
    """The conditions after one change; what is not named stays."""
    after = dict(before)
    for link in links:
        condition = AS_BUILT if restore else after.get(link, AS_BUILT)
        if rate is not None:
            condition = replace(condition, rate=rate)
        if loss is not None:
            condition = replace(condition, loss=loss)
        after[link] = condition
        if condition == AS_BUILT:
            del after[link]
    return after


def withdrawn(before: Conditions, links: Iterable[int]) -> dict[int, Condition]:
    return {**before, **{link: replace(before[link], withdrawn=True) for link in links}}


def _loss_lines(device: str, before: float, after: float) -> list[str]:
    if before == after:
        return []
    if after == 0:
        return [f"qdisc del dev {device} clsact"]
    threshold = min(round((1 - after) * 2**32), 2**32 - 1)
    program = f"4,{_LOAD_RANDOM},53 0 1 {threshold},{_DROP},{_GO_ON}"
    first = [] if before else [f"qdisc add dev {device} clsact"]
    verb = "replace" if before else "add"
    return [
        *first,
        f"filter {verb} dev {device} ingress pref 1 handle 1 bpf da bytecode '{program}'",
    ]


def commands(network: Network, before: Conditions, after: Conditions, routed: bool) -> Commands:
    """What has to be carried out where, for links that were so and are to be so."""
    lines: Commands = {}
    ports = network.ports()

    def add(port: Port, tool: str, new: list[str]) -> None:
        if new:
            lines.setdefault((port.node, tool), []).extend(new)

    for link in sorted({*before, *after}):
        was, becomes = before.get(link, AS_BUILT), after.get(link, AS_BUILT)
        for port in ports[2 * link : 2 * link + 2]:
            if was.rate != becomes.rate:
                add(port, "tc", [boot_plan.reshaping(network, port, becomes.rate)])
            add(port, "tc", _loss_lines(port.device, was.loss, becomes.loss))
    if routed:
        gone_before = {link for link, condition in before.items() if condition.withdrawn}
        gone_after = {link for link, condition in after.items() if condition.withdrawn}
        if gone_before != gone_after:
            for switch in network.switches:
                known = set(routers.forwarding(network, switch.name, gone_before))
                new = routers.forwarding(network, switch.name, gone_after)
                if differing := [line for line in new if line not in known]:
                    lines[switch.name, "ip"] = differing
    return lines


def as_rows(network: Network, conditions: Conditions) -> list[dict[str, Any]]:
    """For people and JSON: the links that are not as built."""
    return [
        {
            "link": f"{network.links[link].node_from}:{network.links[link].node_to}",
            "rate": condition.rate,
            "loss": condition.loss,
            "withdrawn": condition.withdrawn,
        }
        for link, condition in sorted(conditions.items())
    ]


def apply_rates(network: Network, conditions: Conditions) -> Network:
    """The network with the rates that its links have now."""
    links = list(network.links)
    for number, condition in conditions.items():
        link = links[number]
        links[number] = replace(
            link,
            rate_up_mbit_s=link.rate_up_mbit_s * condition.rate,
            rate_down_mbit_s=link.rate_down_mbit_s * condition.rate,
        )
    return replace(network, links=tuple(links))
