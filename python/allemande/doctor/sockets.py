"""Asks the kernel for what src/transport/io/udp_socket.cc asks for, on loopback."""

from __future__ import annotations

import socket

from allemande.doctor.facts import Sockets
from allemande.doctor.findings import RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES

# Numbers of Linux that the socket module does not name.
SOL_UDP = 17
UDP_SEGMENT = 103
UDP_GRO = 104
IP_RECVERR = 11
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
PIECE = 100
PIECES = 4
PATIENCE_S = 2


def probe() -> Sockets:
    try:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        ):
            return _probe(receiver, sender)
    except OSError as error:
        return Sockets(error=f"UDP sockets cannot be used: {error}")


def _probe(receiver: socket.socket, sender: socket.socket) -> Sockets:
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(PATIENCE_S)
    sender.connect(receiver.getsockname())
    coalescing = _refusal(receiver, SOL_UDP, UDP_GRO, 0)
    return Sockets(
        passes=_passes(receiver, sender),
        receive_buffer_bytes=_grow(
            receiver, socket.SO_RCVBUF, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES // 2
        ),
        send_buffer_bytes=_grow(sender, socket.SO_SNDBUF, SO_SNDBUFFORCE, SEND_BUFFER_BYTES // 2),
        segmentation=_segmentation(receiver, sender),
        coalescing=coalescing,
        error_queue=_refusal(receiver, socket.IPPROTO_IP, IP_RECVERR, 1),
    )


def _refusal(one: socket.socket, level: int, option: int, value: int) -> str:
    try:
        one.setsockopt(level, option, value)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _passes(receiver: socket.socket, sender: socket.socket) -> bool:
    sender.send(b"allemande")
    try:
        return receiver.recv(100) == b"allemande"
    except TimeoutError:
        return False


def _grow(one: socket.socket, option: int, force: int, wanted: int) -> int:
    if _refusal(one, socket.SOL_SOCKET, force, wanted):
        one.setsockopt(socket.SOL_SOCKET, option, wanted)
    return one.getsockopt(socket.SOL_SOCKET, option)


def _segmentation(receiver: socket.socket, sender: socket.socket) -> str:
    """A train of PIECES packets, sent as one and received one by one."""
    refused = _refusal(sender, SOL_UDP, UDP_SEGMENT, PIECE)
    if refused:
        return refused
    try:
        sender.send(bytes(PIECE * PIECES))
        lengths = [len(receiver.recv(PIECE * PIECES)) for _ in range(PIECES)]
    except OSError as error:
        return f"a train did not get through: {error}"
    return "" if lengths == [PIECE] * PIECES else f"a train came as packets of {lengths} bytes"
