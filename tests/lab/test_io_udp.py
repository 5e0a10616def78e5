"""The UDP endpoint between two network namespaces: back-pressure, full queues, MTUs, trains.

Needs root, or unprivileged user namespaces. Nothing outside the namespaces is touched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TBF = "tc qdisc add dev va root handle 1: tbf rate {rate} burst {burst} limit 3000000; "
CHILD = "tc qdisc add dev va parent 1: pfifo limit {limit}; "
V4 = ("198.18.0.1", "198.18.0.2")
V6 = ("fd00::1", "fd00::2")

# Two namespaces joined by a veth pair, in a mount and PID namespace that dies with its init.
# Neighbours are static, so that nothing waits for discovery.
SCRIPT = """
set -e
mount -t tmpfs none /run
mkdir /run/netns
ip netns add peer
ip link add va mtu {mtu} type veth peer name vb mtu {mtu} netns peer
ip addr add 198.18.0.1/24 dev va
ip -6 addr add fd00::1/64 dev va nodad
ip -n peer addr add 198.18.0.2/24 dev vb
ip -n peer -6 addr add fd00::2/64 dev vb nodad
ip link set va address 02:00:00:00:00:01 up
ip -n peer link set vb address 02:00:00:00:00:02 up
ip neigh replace 198.18.0.2 dev va lladdr 02:00:00:00:00:02
ip neigh replace fd00::2 dev va lladdr 02:00:00:00:00:02
{setup}
exec 3< <(timeout 20 ip netns exec peer {flow} receive {to} {receive})
read -r port <&3
timeout 20 {flow} send {local} {to} "$port" {count} {size} {send}
cat <&3
"""


@dataclass(frozen=True)
class Figures:
    seconds: float
    bytes: int
    datagram_bytes: int
    sent: int
    received: int
    trains: int
    would_block: int
    no_buffers: int
    paced: int
    overflow: int
    gso_fallbacks: int


@dataclass(frozen=True)
class Flow:
    sender: Figures
    receiver: Figures


def figures(line: str) -> Figures:
    record = json.loads(line)
    return Figures(**{name: record[name] for name in Figures.__dataclass_fields__})


def undisturbed() -> list[str]:
    """Runs a command before all others of the machine, where that is allowed: a sender that others
    hold up finds the queue empty, and then it is the pacer that clocks it."""
    first = ["chrt", "--fifo", "1"]
    if shutil.which("chrt") is None:
        return []
    allowed = subprocess.run([*first, "true"], capture_output=True, check=False).returncode == 0
    return first if allowed else []


def find_flow() -> Path:
    path = ROOT / "build" / "release" / "src" / "transport" / "io" / "udp_flow"
    if not path.exists():
        pytest.skip("udp_flow is not built: run `make build`")
    return path


def run_flow(
    *,
    count: int,
    size: int = 0,
    mtu: int = 1500,
    addresses: tuple[str, str] = V4,
    setup: str = "",
    send: str = "",
    receive: str = "",
) -> Flow:
    if shutil.which("unshare") is None or shutil.which("tc") is None:
        pytest.skip("util-linux and iproute2 are needed")
    script = SCRIPT.format(
        mtu=mtu,
        setup=setup,
        flow=find_flow(),
        local=addresses[0],
        to=addresses[1],
        count=count,
        size=size,
        send=send,
        receive=receive,
    )
    command = [*undisturbed(), "unshare", "--user", "--map-root-user", "--net", "--mount", "--pid"]
    command += ["--fork", "--kill-child", "--mount-proc", "bash", "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "unshare failed" in result.stderr:
        pytest.skip(f"no namespaces here: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    sender, receiver = result.stdout.splitlines()
    return Flow(figures(sender), figures(receiver))


def test_kernel_blocks_the_sender_at_a_shaped_port() -> None:
    setup = TBF.format(rate="50mbit", burst=1600) + CHILD.format(limit=30)
    flow = run_flow(count=2000, setup=setup, send="pace=50")
    assert flow.receiver.received == 2000
    assert flow.sender.would_block > 0  # POLLOUT clocked it,
    assert flow.sender.no_buffers == 0  # below the queue's limit,
    assert flow.sender.paced < 20  # and the pacer stood aside


def test_full_queue_is_local_not_network_loss() -> None:
    setup = TBF.format(rate="50mbit", burst=1600) + CHILD.format(limit=20)
    flow = run_flow(count=2000, setup=setup, send="sndbuf=64")
    assert flow.sender.no_buffers > 0
    assert flow.receiver.received == 2000


@pytest.mark.parametrize("addresses", [V4, V6], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_packets_fill_the_mtu(mtu: int, addresses: tuple[str, str]) -> None:
    setup = TBF.format(rate="200mbit", burst=mtu + 100) + CHILD.format(limit=100)
    flow = run_flow(count=1000, mtu=mtu, addresses=addresses, setup=setup, send="pace=200")
    assert flow.sender.datagram_bytes == mtu - (28 if addresses is V4 else 48)
    assert flow.receiver.received == 1000
    assert flow.receiver.bytes == 1000 * flow.sender.datagram_bytes


def test_pacer_takes_over_without_a_shaper() -> None:
    flow = run_flow(count=500, send="pace=20")
    assert flow.sender.paced > 0
    assert flow.sender.would_block == 0
    assert flow.receiver.received == 500
    # 500 frames of 1514 bytes at 20.2 Mbit/s, less the first burst.
    assert flow.sender.seconds > 0.28


def test_trains_arrive_as_single_datagrams() -> None:
    for receive in ("gro=1", "gro=0"):
        flow = run_flow(count=2000, size=1000, send="grain=16 pace=200", receive=receive)
        assert flow.sender.trains > 0
        assert flow.receiver.received + flow.receiver.overflow == 2000
        assert flow.receiver.bytes == 1000 * flow.receiver.received


def test_interface_without_checksum_offload_still_delivers() -> None:
    if shutil.which("ethtool") is None:
        pytest.skip("ethtool is needed")
    flow = run_flow(count=500, setup="ethtool -K va tx off >/dev/null", send="grain=8 pace=100")
    # Linux before 6.11 refuses trains there (EIO): asked once, then single datagrams.
    assert flow.sender.gso_fallbacks == (0 if flow.sender.trains else 1)
    assert flow.receiver.received == 500
