"""Links that get worse while the lab runs: slower, losing packets, or dead.

The emulator is told what becomes of a link, and it does the same to both directions. Packets are
lost at the receiving end, after their time on the link. A dead link loses all of them: nobody is
told, as with a broken cable whose ends stay lit. Routers learn of it when it is withdrawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.lab import boot_plan, registry
from allemande.lab.network import Network

FILE = "degraded.json"

LEAST_RATE = 1e-4  # of a link's own: below, the kernel's shapers count bytes per second in ones


@dataclass(frozen=True)
class Condition:
    """The condition of one link, both ways. The defaults are as built."""

    rate: float = 1.0  # of what the cluster file says, times the lab's scale
    loss: float = 0.0  # part of the packets; 1: the link is dead
    withdrawn: bool = False  # routers know that it is dead


Conditions = Mapping[int, Condition]  # by the link's place in the file; others are as built

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


def messages(before: Conditions, after: Conditions) -> list[str]:
    """What the emulator is told, for links that were so and are to be so."""
    lines = []
    for link in sorted({*before, *after}):
        was, becomes = before.get(link, AS_BUILT), after.get(link, AS_BUILT)
        if (was.rate, was.loss) != (becomes.rate, becomes.loss):
            lines.append(f"link {link} {becomes.rate:.12g} {becomes.loss:.12g}")
    if (gone := _withdrawn_links(after)) != _withdrawn_links(before):
        lines.append("withdrawn " + (",".join(map(str, gone)) or "-"))
    return lines


def _withdrawn_links(conditions: Conditions) -> list[int]:
    return sorted(link for link, condition in conditions.items() if condition.withdrawn)


def shapers(network: Network, before: Conditions, after: Conditions) -> dict[str, list[str]]:
    """host -> lines for `tc -batch`: a host's own end of a link is shaped in its namespace."""
    lines: dict[str, list[str]] = {}
    for interface in network.interfaces():
        link = interface.egress.index // 2
        was, becomes = before.get(link, AS_BUILT), after.get(link, AS_BUILT)
        if was.rate != becomes.rate:
            line = boot_plan.reshaping(network, interface.egress, becomes.rate)
            lines.setdefault(interface.host, []).append(line)
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
