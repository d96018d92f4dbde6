# A sender that drains its own loopback socket: every datagram is one raise, NET_RX softirq and
# backlog poll.

import socket
import sys
import time


def main(seconds: float) -> None:
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
    main(float(sys.argv[1]))
