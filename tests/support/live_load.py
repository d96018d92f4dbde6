# Loopback datagrams in bursts for a while: every send runs a NET_RX softirq in the sender's own
# context, and the sleeps between bursts make timers, idle time and switches. Beside it, on every
# CPU, two processes pass a byte to and fro: switches from task to task with no idle task between,
# for hosts on which perf records nothing while an idle task is current.

import os
import socket
import sys
import time

ROUNDS = 100


def ping_pong(cpu: int) -> list[int]:
    there, back = os.pipe(), os.pipe()
    pids = []
    for first in (True, False):
        pid = os.fork()
        if pid == 0:
            os.sched_setaffinity(0, {cpu})
            taken, given = (back[0], there[1]) if first else (there[0], back[1])
            for _ in range(ROUNDS):
                if first:
                    os.write(given, b"x")
                os.read(taken, 1)
                if not first:
                    os.write(given, b"x")
            os._exit(0)
        pids.append(pid)
    for end in (*there, *back):
        os.close(end)
    return pids


def main(seconds: float) -> None:
    children = [pid for cpu in sorted(os.sched_getaffinity(0)) for pid in ping_pong(cpu)]
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
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]))
