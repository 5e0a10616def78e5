"""What happens to a host's incoming UDP datagrams: classic BPF in the kernel's traffic control.

Programs see the frame from its Ethernet header. The answers are traffic control's: 2 drops, -1
lets pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from allemande.lab import Lab
from allemande.lab.network import HOST_DEVICE

Instruction = tuple[int, int, int, int]

LOAD_HALF, LOAD_BYTE, LOAD_WORD = 0x28, 0x30, 0x20
IF_EQUAL, IF_GREATER_EQUAL, RETURN = 0x15, 0x35, 0x06
DROP, PASS = 2, 0xFFFFFFFF
RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM: a random word
IPV4, IPV6, UDP = 0x0800, 0x86DD, 17


def _udp_and(*rest: Instruction) -> list[Instruction]:
    """Runs `rest` on UDP over either IP; anything else passes."""
    return [
        (LOAD_HALF, 0, 0, 12),
        (IF_EQUAL, 0, 2, IPV4),
        (LOAD_BYTE, 0, 0, 23),
        (IF_EQUAL, 3, 2, UDP),
        (LOAD_BYTE, 0, 0, 20),  # IPv6, or not IP at all and then hardly 17 here
        (IF_EQUAL, 1, 0, UDP),
        (RETURN, 0, 0, PASS),
        *rest,
    ]


def _attach(lab: Lab, host: str, program: Sequence[Instruction], device: str = HOST_DEVICE) -> None:
    code = ",".join([str(len(program)), *(" ".join(map(str, one)) for one in program)])
    where = ["dev", device]
    lab.exec(host, ["tc", "qdisc", "add", *where, "clsact"], check=True)
    filter_ = ["tc", "filter", "add", *where, "ingress", "bpf", "direct-action", "bytecode", code]
    lab.exec(host, filter_, check=True)


def drop_udp(lab: Lab, host: str, device: str = HOST_DEVICE) -> None:
    _attach(lab, host, _udp_and((RETURN, 0, 0, DROP)), device)


def drop_large_udp(lab: Lab, host: str, frame_bytes: int) -> None:
    length = 0x80  # loads the frame's length
    _attach(
        lab,
        host,
        _udp_and(
            (length, 0, 0, 0),
            (IF_GREATER_EQUAL, 0, 1, frame_bytes),
            (RETURN, 0, 0, DROP),
            (RETURN, 0, 0, PASS),
        ),
    )


def lose_udp(lab: Lab, host: str, fraction: float) -> None:
    _attach(
        lab,
        host,
        _udp_and(
            (LOAD_WORD, 0, 0, RANDOM),
            (IF_GREATER_EQUAL, 1, 0, int(fraction * 2**32)),
            (RETURN, 0, 0, DROP),
            (RETURN, 0, 0, PASS),
        ),
    )
