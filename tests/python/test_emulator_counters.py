"""What the emulator of a lab says and hears: its counters, its control socket."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest

from allemande.lab import degrade
from allemande.lab.degrade import Condition
from allemande.lab.inside import emulator

TOTALS = dict(zip(emulator.TOTAL_NAMES, range(100, 113), strict=True))
# The counters of the two ports of one link.
UP = (10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 30)
DOWN = (20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31)


def content(sequence: int = 8, magic: int = emulator.MAGIC) -> bytes:
    head = emulator.HEADER.pack(magic, emulator.VERSION, 2, sequence, *TOTALS.values())
    return head + emulator.PORT.pack(*UP) + emulator.PORT.pack(*DOWN)


def counters(folder: Path, text: bytes) -> emulator.Counters:
    (folder / emulator.COUNTERS_FILE).write_bytes(text)
    return emulator.Counters(folder)


def test_the_layout_is_that_of_the_emulator() -> None:
    """As src/emulate/counters.h has it."""
    assert emulator.HEADER.size == 128 and emulator.PORT.size == 96
    assert struct.pack("<Q", emulator.MAGIC) == b"MULATOR1"


def test_totals_and_ports_are_read_in_their_order(tmp_path: Path) -> None:
    read = counters(tmp_path, content()).read()
    assert emulator.decode_totals(read) == TOTALS
    up, down = emulator.decode_ports(read)
    assert (up["sent_packets"], up["sent_bytes"], up["lost_packets"]) == (10, 11, 13)
    assert (down["sent_packets"], down["sent_bytes"], down["marked_packets"]) == (20, 21, 25)
    # At the upper end of the link wait what goes down, and what came up into its input.
    assert (down["queued_packets"], down["dropped_packets"]) == (26 + 18, 22 + 14)
    assert (up["queued_packets"], up["dropped_packets"]) == (16 + 28, 12 + 24)
    assert (up["queue_high_water"], down["queue_high_water"]) == (29, 27)
    assert emulator.decode_wakes_dropped(read) == [30, 31]


def test_what_is_being_written_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counters(tmp_path, content(sequence=7))
    path = tmp_path / emulator.COUNTERS_FILE

    def finish(_: float) -> None:
        with path.open("r+b") as file:
            file.seek(emulator.SEQUENCE_AT)
            file.write(struct.pack("<Q", 8))

    monkeypatch.setattr("allemande.lab.inside.emulator.time.sleep", finish)
    assert made.read() == content(sequence=8)


def test_an_emulator_that_ended_while_it_wrote_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator, "STILL_WITHIN_S", 0.01)
    with pytest.raises(OSError, match="ended while it wrote"):
        counters(tmp_path, content(sequence=7)).read()


def test_counters_of_another_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="not of this version"):
        counters(tmp_path, content(magic=1))


@pytest.mark.parametrize("answer", ["ok", "error no such link", ""])
def test_messages_go_to_a_folder_with_a_long_name(
    tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    monkeypatch.chdir(folder)
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(emulator.CONTROL_SOCKET)
        listening.listen()

        def listen() -> None:
            peer, _ = listening.accept()
            with peer:
                heard.append(peer.recv(1000).decode())
                if answer:
                    peer.send(answer.encode())

        thread = threading.Thread(target=listen)
        thread.start()
        if answer == "ok":
            emulator.tell(folder, "withdrawn 1,2")
        else:
            with pytest.raises(OSError, match=answer.removeprefix("error ") or "without an answer"):
                emulator.tell(folder, "withdrawn 1,2")
        thread.join()
    assert heard == ["withdrawn 1,2"]


def test_messages_say_what_changes_and_nothing_else() -> None:
    slow, dead = Condition(rate=0.25), Condition(loss=1.0)
    assert degrade.messages({}, {3: slow, 1: dead}) == ["link 1 1 1", "link 3 0.25 0"]
    gone = degrade.withdrawn({3: slow, 1: dead}, [1])
    assert degrade.messages({3: slow, 1: dead}, gone) == ["withdrawn 1"]
    assert degrade.messages(gone, {3: slow}) == ["link 1 1 0", "withdrawn -"]
    assert degrade.messages(gone, gone) == []
