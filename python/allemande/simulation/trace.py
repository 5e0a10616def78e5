"""A simulation as a Perfetto trace: per port, packets as slices and the queue as a counter.

The file opens in https://ui.perfetto.dev or with `trace_processor`. Format: TrackEvent protobuf.
Slices bear the packet's source, destination and number; an instant marks a packet that was dropped
or lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (  # type: ignore[import-untyped]
    CounterDescriptor,
    Trace,
    TracePacket,
    TrackEvent,
)

from allemande.output_files import writing
from allemande.simulation.case import Case, Result
from allemande.topology import Cluster

# alm::sim::TraceRecord as it lies in memory; times in picoseconds.
RECORD = np.dtype(
    {
        "names": [
            "queued",
            "start",
            "end",
            "port",
            "source",
            "destination",
            "bytes",
            "label",
            "depth",
            "kind",
        ],
        "formats": ["<i8", "<i8", "<i8", "<u4", "<u4", "<u4", "<u4", "<u4", "<u4", "u1"],
        "offsets": [0, 8, 16, 24, 28, 32, 36, 40, 44, 48],
        "itemsize": 56,
    }
)
SENT, DROPPED, LOST = 0, 1, 2
PICOS_PER_NANO = 1000
SEQUENCE = 1
BATCH_PACKETS = 4096
# alm::harness: labels of packets that are no first transmission of data.
LABEL_SHIFT = 28
LABEL_KINDS = {1: "again ", 2: "ack ", 3: "probe "}

Records = NDArray[Any]


def read_records(data: bytes) -> Records:
    return np.frombuffer(data, dtype=RECORD)


def _node_of(port_name: str) -> str:
    """The sending end of "leaf0 -> core"."""
    return port_name.split(" -> ")[0]


class TraceWriter:
    """Writes batches, so that a long trace is never in memory as protobuf objects."""

    def __init__(self, file: BinaryIO, hosts: list[str]) -> None:
        self._file = file
        self._hosts = hosts
        self._batch = Trace()
        self._names: dict[str, int] = {}
        self._next_uuid = 1

    def _add(self) -> TracePacket:
        if len(self._batch.packet) >= BATCH_PACKETS:
            self.flush()
        packet = self._batch.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet

    def flush(self) -> None:
        # Messages of one type may be concatenated: the reader sees one Trace.
        self._file.write(self._batch.SerializeToString())
        self._batch = Trace()

    def describe_track(self, name: str, parent: int = 0, counter: bool = False) -> int:
        uuid = self._next_uuid
        self._next_uuid += 1
        packet = self._add()
        if uuid == 1:
            packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
        if counter:
            packet.track_descriptor.counter.unit_name = "packets"
            packet.track_descriptor.counter.unit = CounterDescriptor.UNIT_COUNT
        return uuid

    def _name_id(self, packet: TracePacket, name: str) -> int:
        """Names are written once and then by number."""
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = len(self._names) + 1
            entry = packet.interned_data.event_names.add()
            entry.iid = known
            entry.name = name
        return known

    def _event(self, time_ps: int, track: int, kind: int) -> TracePacket:
        packet = self._add()
        packet.timestamp = int(time_ps) // PICOS_PER_NANO
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def _name_of(self, record: Any) -> str:
        source, destination = self._hosts[record["source"]], self._hosts[record["destination"]]
        kind = LABEL_KINDS.get(int(record["label"]) >> LABEL_SHIFT, "")
        return f"{kind}{source} -> {destination}"

    def _annotate(self, packet: TracePacket, record: Any) -> None:
        for name, value in (
            ("packet", int(record["label"]) & ((1 << LABEL_SHIFT) - 1)),
            ("bytes", int(record["bytes"])),
        ):
            note = packet.track_event.debug_annotations.add()
            note.name = name
            note.uint_value = value

    def slices(self, records: Records, track: int) -> None:
        for record in records[np.argsort(records["start"], kind="stable")]:
            if record["kind"] == SENT:
                begin = self._event(record["start"], track, TrackEvent.TYPE_SLICE_BEGIN)
                begin.track_event.name_iid = self._name_id(begin, self._name_of(record))
                self._annotate(begin, record)
                self._event(record["end"], track, TrackEvent.TYPE_SLICE_END)
                continue
            word = "dropped" if record["kind"] == DROPPED else "lost"
            instant = self._event(record["end"], track, TrackEvent.TYPE_INSTANT)
            name = f"{word} {self._name_of(record)}"
            instant.track_event.name_iid = self._name_id(instant, name)
            self._annotate(instant, record)

    def counter(self, records: Records, track: int) -> None:
        for time_ps, value in zip(*queue_lengths(records), strict=True):
            event = self._event(time_ps, track, TrackEvent.TYPE_COUNTER)
            event.track_event.counter_value = int(value)


def queue_lengths(records: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When the number of packets that wait at a port changes, and to what."""
    waited = records[(records["kind"] == SENT) & (records["start"] > records["queued"])]
    times = np.concatenate([waited["queued"], waited["start"]])
    steps = np.concatenate([np.ones(len(waited), np.int64), -np.ones(len(waited), np.int64)])
    order = np.argsort(times, kind="stable")
    times, lengths = times[order], np.cumsum(steps[order])
    last = np.append(times[1:] != times[:-1], True)[: len(times)]  # of all changes at one time
    return times[last], lengths[last]


def _port_names(cluster: Cluster) -> list[str]:
    """By port number: 2 l is link l from its first end to its second, 2 l + 1 back."""
    ends = [(link.from_, link.to) for link in cluster.links]
    return [name for a, b in ends for name in (f"{a} -> {b}", f"{b} -> {a}")]


def _write_trace(path: Path, data: bytes, cluster: Cluster) -> int:
    """Writes a trace file; returns how many records it holds."""
    records = read_records(data)
    names = _port_names(cluster)
    order = np.argsort(records["port"], kind="stable")
    ports, first = np.unique(records["port"][order], return_index=True)
    with writing(path), path.open("wb") as file:
        writer = TraceWriter(file, [host.name for host in cluster.hosts])
        nodes: dict[str, int] = {}
        for port, mine in zip(ports, np.split(records[order], first)[1:], strict=True):
            name = names[int(port)]
            node = _node_of(name)
            if node not in nodes:
                nodes[node] = writer.describe_track(node)
            writer.slices(mine, writer.describe_track(name, nodes[node]))
            waited = (mine["kind"] == SENT) & (mine["start"] > mine["queued"])
            if waited.any():
                track = writer.describe_track(f"queue {name}", nodes[node], counter=True)
                writer.counter(mine, track)
        writer.flush()
    return len(records)


def write_result_trace(path: Path, case: Case, result: Result) -> int:
    """Writes the trace of a result whose case asked for one."""
    return _write_trace(path, result.raw["trace"], case.cluster)
