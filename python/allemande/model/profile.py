"""The profile of a network, format 1 (docs/profile.md): what a prober measured, with its samples.

`allemande._core.parse_profile` checks every key, here as in the preloaded library; this module
turns the file into values and back.

>>> profile = load_profile("net.toml")
>>> [sample.candidate for sample in profile.samples]
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from allemande import _core
from allemande.errors import BadInput
from allemande.text_files import parse_toml, read_text, shown
from allemande.topology import Cluster, compress_hostlist, expand_hostlist

FORMAT = 1
UNITS = {"beta": "s/B"}  # of parameters; all others are in seconds
MEASURED = "measured"
NOT_OVERLOADABLE = "not overloadable"
NOT_TRIED = "not tried"
UNDETERMINED = "undetermined"
SIGNATURE = "signature"
STRUCTURAL = "structural"


@dataclass(frozen=True)
class Network:
    """What was measured, when and with what."""

    hosts: tuple[str, ...]  # in rank order, one rank each
    version: str  # of allemande
    date: datetime | None = None
    mpi: str = ""  # library and version, as decision files write it
    mtu_bytes: int = 1500
    time_scale: float = 1.0  # 1 on a real network, 1 / scale in a lab
    simulated: bool = False


@dataclass(frozen=True)
class Parameter:
    """A quantity of the LogP kind between two hosts, in seconds (beta: seconds per byte)."""

    name: str
    value: float
    level: str = "leaf"  # or "across": on one leaf, or on two
    carrier: str = "udp"  # or "mpi"
    bytes: int = 0  # where it depends on the size
    low: float | None = None  # 90 % interval
    high: float | None = None
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class LinkRate:
    """What a link carries from one end to the other, frames and all, in Mbit/s."""

    from_: str
    to: str
    rate_mbit_s: float
    low: float | None = None
    high: float | None = None
    lower_bound: bool = False  # the hosts could not fill it
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class PortBuffer:
    """B_L at a port; None unless the state is `measured`."""

    from_: str
    to: str
    state: str = NOT_TRIED
    buffer_packets: float | None = None
    low: float | None = None
    high: float | None = None
    pool: str = ""  # ports that share one have the same name
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Sample:
    """One way, timed: the slowest rank's seconds of each call, `bytes` per pair."""

    candidate: str  # as `allemande bench` names it
    bytes: int
    times_s: tuple[float, ...]
    members: tuple[str, ...]  # hosts in rank order, of Network.hosts
    way: str = ""  # as decision files name it: "udp grid:8x4", "library"
    timeouts: int | None = None  # of TCP, where known

    @property
    def ranks(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class Fit:
    """What was fitted to the samples of one way (kinds and coefficients: docs/profile.md).

    `sigma` is the standard deviation of ln(measured / fitted). The bounds say what it rests on.
    """

    candidate: str
    kind: str
    coefficients: tuple[float, ...]
    sigma: float
    hosts_least: int
    hosts_most: int
    bytes_least: int
    bytes_most: int
    way: str = ""


@dataclass(frozen=True)
class Profile:
    """A network as it was found. `cluster` is None where even its hosts' links are unknown."""

    network: Network
    cluster: Cluster | None = None
    found: Mapping[str, Any] = field(default_factory=dict)  # per question an answer
    parameters: tuple[Parameter, ...] = ()
    links: tuple[LinkRate, ...] = ()
    ports: tuple[PortBuffer, ...] = ()
    samples: tuple[Sample, ...] = ()
    fits: tuple[Fit, ...] = ()

    @property
    def leaves_unknown(self) -> bool:
        """Whether a prober looked for the hosts that share a leaf and could not tell."""
        return self.found.get("leaf_groups") == UNDETERMINED

    def first_hosts(self, count: int) -> tuple[str, ...]:
        """The hosts of an exchange of so many; raises BadInput where there are fewer."""
        if not 2 <= count <= len(self.network.hosts):
            raise BadInput(
                f"{count} hosts; the profile has {len(self.network.hosts)} "
                f"({compress_hostlist(self.network.hosts)}); expected 2 to that many"
            )
        return self.network.hosts[:count]


def _tuple(table: Mapping[str, Any], key: str) -> tuple[float, ...]:
    return tuple(float(value) for value in table.get(key, ()))


def _optional(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: table[key] for key in keys if key in table}


def _read_sample(table: Mapping[str, Any], hosts: Sequence[str]) -> Sample:
    members = table.get("members")
    return Sample(
        candidate=table["candidate"],
        bytes=table["bytes"],
        times_s=_tuple(table, "times_s"),
        members=tuple(expand_hostlist(members)) if members else tuple(hosts[: table["hosts"]]),
        **_optional(table, "way", "timeouts"),
    )


def _read(tables: Mapping[str, Any], cluster: Cluster | None) -> Profile:
    """From tables that have been checked."""
    network = tables["network"]
    hosts = tuple(expand_hostlist(network["hosts"]))
    keys = ("date", "mpi", "mtu_bytes", "time_scale", "simulated")
    return Profile(
        network=Network(hosts=hosts, version=network["version"], **_optional(network, *keys)),
        cluster=cluster,
        found=dict(tables.get("found", {})),
        parameters=tuple(
            Parameter(
                name=one["name"],
                value=float(one["value"]),
                samples=_tuple(one, "samples"),
                **_optional(one, "level", "carrier", "bytes", "low", "high"),
            )
            for one in tables.get("parameter", ())
        ),
        links=tuple(
            LinkRate(
                from_=one["from"],
                to=one["to"],
                rate_mbit_s=float(one["rate_mbit_s"]),
                samples=_tuple(one, "samples"),
                **_optional(one, "low", "high", "lower_bound"),
            )
            for one in tables.get("link", ())
        ),
        ports=tuple(
            PortBuffer(
                from_=one["from"],
                to=one["to"],
                state=one["state"],
                samples=_tuple(one, "samples"),
                **_optional(one, "buffer_packets", "low", "high", "pool"),
            )
            for one in tables.get("port", ())
        ),
        samples=tuple(_read_sample(one, hosts) for one in tables.get("sample", ())),
        fits=tuple(
            Fit(**{**one, "coefficients": _tuple(one, "coefficients")})
            for one in tables.get("fit", ())
        ),
    )


def parse_profile(text: str, name: str) -> Profile:
    """Reads a profile called `name`; raises BadInput with line, key and what was expected."""
    checked = _core.parse_profile(text, name)
    return _read(parse_toml(text, name), checked.cluster)


def load_profile(path: str | Path) -> Profile:
    """Reads the file; raises BadInput where there is none, or for anything else in it."""
    text = read_text(path, "a profile, as `allemande probe -o FILE` writes it")
    return parse_profile(text, shown(path))


# ---- writing -----------------------------------------------------------------------------------


def _text(text: str) -> str:
    """In quotes. JSON escapes what TOML escapes, but has two escapes for letters beyond U+FFFF."""
    return '"' + "".join(_letter(one) for one in text) + '"'


def _letter(letter: str) -> str:
    return json.dumps(letter)[1:-1] if letter <= "\uffff" else f"\\U{ord(letter):08X}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadInput(f"a profile cannot hold {value}; expected a finite number")
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_text(key)} = {_value(one)}" for key, one in value.items())
        return "{ " + inner + " }"
    return str(int(value))


def _table(heading: str, values: Mapping[str, Any]) -> str:
    """Without what is None or empty."""
    lines = [heading]
    for key, value in values.items():
        if value is None or (isinstance(value, (str, tuple)) and not value):
            continue
        name = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _text(key)
        lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _cluster_tables(cluster: Cluster) -> str:
    """A cluster file's tables, below `cluster`."""
    text = "[cluster]\n" + cluster.to_toml()
    return re.sub(r"^(\[+)(framing|switch|host|link)(\]+)$", r"\1cluster.\2\3", text, flags=re.M)


def _members(sample: Sample, hosts: tuple[str, ...]) -> dict[str, Any]:
    if sample.members == hosts[: sample.ranks]:
        return {"hosts": sample.ranks}
    return {"members": compress_hostlist(sample.members)}


def _renamed(one: LinkRate | PortBuffer) -> dict[str, Any]:
    values = dict(vars(one))
    return {"from": values.pop("from_"), **values}


def format_profile(profile: Profile) -> str:
    """The file that reads back as this profile; raises BadInput for what no profile may hold."""
    network = profile.network
    parts = [
        f"# Measured by allemande; docs/profile.md explains every key.\nformat = {FORMAT}\n",
        _table("[network]", {**vars(network), "hosts": compress_hostlist(network.hosts)}),
    ]
    if profile.cluster is not None:
        parts.append(_cluster_tables(profile.cluster))
    if profile.found:
        parts.append(_table("[found]", profile.found))
    for parameter in profile.parameters:
        unit = UNITS.get(parameter.name, "s")
        parts.append(_table("[[parameter]]", {**vars(parameter), "unit": unit}))
    parts += [_table("[[link]]", _renamed(link)) for link in profile.links]
    parts += [_table("[[port]]", _renamed(port)) for port in profile.ports]
    for sample in profile.samples:
        values = {**vars(sample), **_members(sample, network.hosts)}
        if "hosts" in values:
            del values["members"]
        parts.append(_table("[[sample]]", values))
    parts += [_table("[[fit]]", vars(fit)) for fit in profile.fits]
    text = "\n".join(parts)
    _core.parse_profile(text, "profile")
    return text


def save_profile(profile: Profile, path: str | Path) -> None:
    Path(path).write_text(format_profile(profile), encoding="utf-8")
