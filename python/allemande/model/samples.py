"""Samples out of what `allemande bench --json` and `allemande simulate --json` wrote.

A profile made of them serves models, tests and `allemande plan --measured` as a probed one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from allemande import __version__
from allemande.errors import BadInput
from allemande.figure_rows import is_sound
from allemande.model.profile import Network, Profile, Sample
from allemande.model.ways import our_candidate
from allemande.quantities import format_seconds, format_size
from allemande.text_files import MIB, parse_json, read_text
from allemande.topology import Cluster

# What the simulator carries out is our own protocol over UDP, whatever library would preload it.
SIMULATED_LIBRARY = "openmpi"
LIMITS_ALIKE = 0.1  # of two measurements of one network
LIMITS_SIZE_MIN = 1000  # bytes
FIGURES_BYTES_MAX = 64 * MIB
SECONDS_MAX = 1e9
SIZE_MAX = 2**60


def _entries(text: str, name: str) -> list[dict[str, Any]]:
    entries = parse_json(text, name, "what --json wrote")
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise BadInput(f"{name} is no array of objects; expected what --json wrote")
    return entries


def _field(entry: Mapping[str, Any], key: str, kind: type | tuple[type, ...], name: str) -> Any:
    value = entry.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadInput(f"{name}: an entry has no valid `{key}`; expected what --json wrote")
    return value


def _times(values: Sequence[Any], name: str) -> tuple[float, ...]:
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        raise BadInput(f"{name}: `times_s` of an entry are no numbers; expected what --json wrote")
    if not all(abs(one) < SECONDS_MAX for one in values):
        raise BadInput(f"{name}: `times_s` of an entry are out of range; expected seconds")
    return tuple(float(one) for one in values)


def _plain_entries(text: str, name: str) -> Iterator[dict[str, Any]]:
    """What counts of a plain exchange, checked."""
    for entry in _entries(text, name):
        _field(entry, "candidate", str, name)
        times = _field(entry, "times_s", list, name)
        if not 1 <= _field(entry, "size", int, name) <= SIZE_MAX:
            raise BadInput(f"{name}: `size` is {entry['size']!r:.40}; expected bytes, 1 or more")
        plain = (
            entry.get("collective", "alltoall") == "alltoall"
            and entry.get("matrix") is None
            and entry.get("ranks_per_host", 1) == 1
        )
        if plain and times and is_sound(entry):
            yield entry


def bench_samples(text: str, name: str, members: Sequence[str]) -> list[Sample]:
    """What `allemande bench --json` measured among `members`, one rank each.

    Void figures and those with wrong bytes, uneven blocks, several ranks per host, several jobs or
    background flows say nothing of a plain exchange and are left out. Raises BadInput for what is
    no such file, and for figures of another number of ranks.
    """
    return _samples(_plain_entries(text, name), name, members)


def _samples(
    entries: Iterable[Mapping[str, Any]], name: str, members: Sequence[str]
) -> list[Sample]:
    samples = []
    for entry in entries:
        ranks = entry.get("ranks", len(members))
        if ranks != len(members):
            raise BadInput(f"{name}: measured among {ranks} ranks; expected {len(members)}")
        samples.append(
            Sample(
                candidate=entry["candidate"],
                bytes=entry["size"],
                times_s=_times(entry["times_s"], name),
                members=tuple(members),
                timeouts=entry.get("tcp_timeouts"),
            )
        )
    return samples


def simulated_candidate(algorithm: str) -> str:
    """What `bench` would call this algorithm of ours: allemande+openmpi:algorithm=pairwise."""
    return our_candidate(SIMULATED_LIBRARY, algorithm)


def simulated_samples(text: str, name: str, members: Sequence[str]) -> list[Sample]:
    """What `allemande simulate --json` computed among `members`."""
    samples = []
    for entry in _entries(text, name):
        if entry.get("matrix") is not None or entry.get("ranks_per_host", 1) != 1:
            continue
        if _field(entry, "hosts", int, name) != len(members):
            raise BadInput(
                f"{name}: simulated among {entry['hosts']} hosts; expected {len(members)}"
            )
        samples.append(
            Sample(
                candidate=simulated_candidate(_field(entry, "algorithm", str, name)),
                bytes=_field(entry, "size", int, name),
                times_s=(float(_field(entry, "time_s", (int, float), name)),),
                members=tuple(members),
            )
        )
    return samples


def profile_of(
    cluster: Cluster, samples: Iterable[Sample] = (), *, mpi: str = "", simulated: bool = False
) -> Profile:
    """A profile of a network that is known, with samples of it; its hosts in file order."""
    network = Network(
        hosts=tuple(host.name for host in cluster.hosts),
        version=__version__,
        mpi=mpi,
        mtu_bytes=cluster.mtu_bytes,
        simulated=simulated,
    )
    return Profile(network=network, cluster=cluster, samples=tuple(samples))


def _check_network(
    entries: Iterable[Mapping[str, Any]], path: str, profile: Profile, members: Sequence[str]
) -> None:
    """Raises BadInput where the links allow something else there: it is another network.

    Nothing is said where the profile knows its network in part, or where it is no tree, whose limit
    is that of a flow. Of small blocks headers count, which files may give otherwise.
    """
    cluster = profile.cluster
    if cluster is None or profile.leaves_unknown or not cluster.is_tree():
        return
    for entry in entries:
        limit_s, size = entry.get("limit_s"), entry["size"]
        if not isinstance(limit_s, int | float) or size < LIMITS_SIZE_MIN:
            continue
        expected_s = cluster.limit_seconds(list(members), size)
        if abs(limit_s / expected_s - 1) > LIMITS_ALIKE:
            raise BadInput(
                f"{path}: measured on another network, whose links allow "
                f"{format_seconds(limit_s)} for {format_size(size)}; those of the profile allow "
                f"{format_seconds(expected_s)}: expected times of the network that was probed"
            )


def with_measured(profile: Profile, path: str, members: Sequence[str]) -> Profile:
    """The profile and what `bench` measured: its samples take the place of those of the profile.

    Raises BadInput for a file that cannot be read, of another number of ranks or another network.
    """
    text = read_text(path, "what bench --json wrote", FIGURES_BYTES_MAX)
    entries = list(_plain_entries(text, path))
    measured = _samples(entries, path, members)
    _check_network(entries, path, profile, members)
    if not measured:
        raise BadInput(
            f"{path} holds no figure of a plain MPI_Alltoall that counts; expected what `allemande "
            "bench --json` wrote"
        )
    keys = {(one.candidate, one.bytes, one.members) for one in measured}
    kept = [s for s in profile.samples if (s.candidate, s.bytes, s.members) not in keys]
    return replace(profile, samples=(*kept, *measured))
