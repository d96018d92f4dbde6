# A sender that drains its own loopback socket: every datagram is one raise, NET_RX softirq and
# backlog poll. `flood.py SECONDS [CPU[:SHARE]...]`: one on each of these CPUs, for this share of
# the time.

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
            flood(seconds, pinned(cpu))
            return
    if cpus:
        signal.signal(signal.SIGTERM, lambda *_: end(others))
    flood(seconds, pinned(cpus[0]) if cpus else 1)


# The share of the time that is meant for this CPU.
def pinned(cpu: str) -> float:
    number, _, share = cpu.partition(":")
    os.sched_setaffinity(0, {int(number)})
    return float(share or 1)


def end(others: list[int]) -> None:
    for other in others:
        os.kill(other, signal.SIGTERM)
    os._exit(128 + signal.SIGTERM)


def flood(seconds: float, share: float) -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.setblocking(False)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    until = time.monotonic() + seconds
    payload = b"x" * 64
    while (begin := time.monotonic()) < until:
        for _ in range(64):
            sender.send(payload)
        for _ in range(64):
            receiver.recv(100)
        if share < 1:
            time.sleep((time.monotonic() - begin) * (1 / share - 1))


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
