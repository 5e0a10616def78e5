"""Reads every counter of a lab, from inside: the lab's state as one line of JSON on
standard input, the counters as one line on standard output.

Hosts' ports are counted by the kernel, those of switches by the emulator, all since the boot;
whoever wants those of a run subtracts.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

from . import emulator, qdisc
from . import system_calls as calls

# Columns of /proc/net/softnet_stat, hexadecimal.
SOFTNET_PROCESSED, SOFTNET_DROPPED, SOFTNET_SQUEEZED, SOFTNET_CPU = 0, 1, 2, 12


def softnet() -> list[dict[str, int]]:
    """Per processor, of the whole machine: the kernel keeps no other."""
    rows = []
    for number, line in enumerate(Path("/proc/net/softnet_stat").read_text().splitlines()):
        values = [int(value, 16) for value in line.split()]
        rows.append(
            {
                "cpu": values[SOFTNET_CPU] if len(values) > SOFTNET_CPU else number,
                "softnet_processed": values[SOFTNET_PROCESSED],
                "softnet_dropped": values[SOFTNET_DROPPED],
                "softnet_squeezed": values[SOFTNET_SQUEEZED],
            }
        )
    return rows


def _protocol_table(path: str) -> dict[str, int]:
    """/proc/net/snmp and netstat: a line of names, then a line of values, per protocol."""
    found: dict[str, int] = {}
    lines = Path(path).read_text().splitlines()
    for names, values in zip(lines[0::2], lines[1::2], strict=True):
        protocol, _, rest = names.partition(":")
        for name, value in zip(rest.split(), values.split()[1:], strict=True):
            found[f"{protocol}.{name}"] = int(value)
    return found


def _host_counters() -> dict[str, int]:
    snmp = _protocol_table("/proc/self/net/snmp")
    netstat = _protocol_table("/proc/self/net/netstat")
    snmp6 = dict(line.split() for line in Path("/proc/self/net/snmp6").read_text().splitlines())
    return {
        "udp_received": snmp["Udp.InDatagrams"] + int(snmp6.get("Udp6InDatagrams", 0)),
        "udp_sent": snmp["Udp.OutDatagrams"] + int(snmp6.get("Udp6OutDatagrams", 0)),
        "receive_buffer_drops": snmp["Udp.RcvbufErrors"] + int(snmp6.get("Udp6RcvbufErrors", 0)),
        "send_buffer_drops": snmp["Udp.SndbufErrors"] + int(snmp6.get("Udp6SndbufErrors", 0)),
        "tcp_retransmitted": snmp["Tcp.RetransSegs"],
        "tcp_timeouts": netstat["TcpExt.TCPTimeouts"],
    }


def _device_counters() -> dict[str, tuple[int, int, int]]:
    """device -> bytes, packets and drops on the way out."""
    counters = {}
    for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        device, _, values = line.partition(":")
        columns = [int(value) for value in values.split()]
        counters[device.strip()] = (columns[8], columns[9], columns[11])
    return counters


def _port_counters(ports: list[list[Any]]) -> dict[int, dict[str, int]]:
    """What the kernel counted at devices of the namespace that this process is in."""
    devices = _device_counters()
    with qdisc.open_socket() as netlink:
        queues = qdisc.dump(netlink)
    rows = {}
    for index, device in ports:
        sent_bytes, sent_packets, dropped = devices[device]
        queued = 0
        queue = queues.get(socket.if_nametoindex(device))
        if queue is not None:
            sent_bytes, sent_packets = queue.sent_bytes, queue.sent_packets
            dropped, queued = queue.dropped_packets, queue.queued_packets
        rows[index] = {
            "sent_packets": sent_packets,
            "sent_bytes": sent_bytes,
            "dropped_packets": dropped,
            "queued_packets": queued,
            "queue_high_water": queued,
        }
    return rows


def _observe(state: dict[str, Any]) -> dict[str, Any]:
    counted: dict[int, dict[str, int]] = {}
    hosts: dict[str, dict[str, int]] = {}
    for holder in state["holders"]:
        calls.setns(f"/proc/{holder['pid']}/ns/net", calls.CLONE_NEWNET)
        counted |= _port_counters(holder["ports"])
        if holder["host"] is not None:
            hosts[holder["host"]] = _host_counters()
    ports = [dict.fromkeys(emulator.PORT_NAMES, 0) for _ in range(state["port_count"])]
    totals = None
    if state["shaped"]:
        content = emulator.Counters(Path(state["directory"])).read()
        ports = emulator.decode_ports(content)
        totals = emulator.decode_totals(content)
        for index, wakes in enumerate(emulator.decode_wakes_dropped(content)):
            if index in counted:
                dropped = counted[index]["dropped_packets"] - wakes
                counted[index]["dropped_packets"] = max(0, dropped)  # read one after the other
    for index, row in counted.items():
        ports[index] |= row
    return {"ports": ports, "hosts": hosts, "cpus": softnet(), "emulator": totals}


def main() -> None:
    print(json.dumps(_observe(json.loads(sys.stdin.readline()))))
