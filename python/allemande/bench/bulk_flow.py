"""One end of a bulk TCP flow, run on a host of the lab with the standard library alone.

`receive ADDRESS LOG` prints the port it listens on, then appends a line `SECONDS BYTES` (monotonic
clock, bytes so far) to LOG every SAMPLE_S. `send ADDRESS PORT BYTES_PER_S` sends until the other
end closes; 0 is as fast as TCP can. Both end with their standard input: nothing outlives whoever
started them.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

SAMPLE_S = 0.01
CHUNK = 64 * 1024
CONNECT_S = 20
SO_MAX_PACING_RATE = 47  # socket(7); TCP paces by itself, whatever the queueing discipline


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


def _receive(address: str, log: str) -> None:
    listener = socket.create_server((address, 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    total, last = 0, 0.0
    with open(log, "a", encoding="ascii", buffering=1) as file:
        while True:
            count = len(connection.recv(CHUNK))
            now = time.monotonic()
            total += count
            if now - last >= SAMPLE_S or not count:
                file.write(f"{now:.6f} {total}\n")
                last = now
            if not count:
                return


def _send(address: str, port: int, bytes_per_s: int) -> None:
    connection = socket.create_connection((address, port), CONNECT_S)
    connection.settimeout(None)
    if bytes_per_s:
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, bytes_per_s)
    chunk = bytes(CHUNK)
    while True:
        connection.sendall(chunk)


def main() -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    role, *words = sys.argv[1:]
    if role == "receive":
        _receive(words[0], words[1])
    else:
        _send(words[0], int(words[1]), int(words[2]))


if __name__ == "__main__":
    main()
