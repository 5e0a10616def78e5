"""Sends what does not belong there: send_noise.py ADDRESS PORT... Prints how many answers came."""

import random
import socket
import struct
import sys
import time

DATAGRAMS = 3000
VERSION = 3

target, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
chance = random.Random(1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setblocking(False)
for number in range(DATAGRAMS):
    kind = number % 4
    data = chance.randbytes(chance.randrange(1472))
    if kind > 0:  # a header as it should be, but for the key
        first = VERSION << 4 | chance.randrange(4)
        second = chance.randrange(32) << 3  # a path, no flags
        fields = chance.randrange(4), chance.randrange(6), chance.randrange(40)
        head = struct.pack(
            "<BBHHHIIQ", first, second, *fields, chance.randrange(20), 0, chance.getrandbits(64)
        )
        data = head + data
    if kind == 2:
        data = data[: chance.randrange(len(data))]
    out.sendto(data, (target, ports[number % len(ports)]))
    time.sleep(0.0002)
time.sleep(0.3)
answers = 0
try:
    while True:
        out.recv(65536)
        answers += 1
except BlockingIOError:
    pass
print("answers:", answers)
