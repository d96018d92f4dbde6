# A sender that drains its own loopback socket: every datagram is one raise, NET_RX softirq and
# backlog poll. `flood.py SECONDS [CPU...]`: one on each of these CPUs.

import os
import signal
import socket
import sys
import time


def main(seconds: float, *cpus: str) -> None:
    # The parent is the first; the others end with it.
    others = []
    for cpu in cpus[1:]:
        others.append(os.fork())
        if others[-1] == 0:
            os.sched_setaffinity(0, {int(cpu)})
            flood(seconds)
            return
    if cpus:
        os.sched_setaffinity(0, {int(cpus[0])})
        signal.signal(signal.SIGTERM, lambda *_: end(others))
    flood(seconds)


def end(others: list[int]) -> None:
    for other in others:
        os.kill(other, signal.SIGTERM)
    os._exit(128 + signal.SIGTERM)


def flood(seconds: float) -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.setblocking(False)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    until = time.monotonic() + seconds
    payload = b"x" * 64
    while time.monotonic() < until:
        for _ in range(64):
            sender.send(payload)
        for _ in range(64):
            receiver.recv(100)


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
