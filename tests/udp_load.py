# Loopback datagrams in bursts for a while: every send runs a NET_RX softirq in the sender's own
# context, and the sleeps between bursts make timers, idle time and switches.

import socket
import sys
import time


def main(seconds: float) -> None:
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(8):
            sender.sendto(b"x" * 64, receiver.getsockname())
        for _ in range(8):
            receiver.recv(100)
        time.sleep(0.001)


if __name__ == "__main__":
    main(float(sys.argv[1]))
