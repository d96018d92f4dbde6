# A sender and a receiver on two CPUs.

from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, RCU, UDPSINK


# CPU 0  udpsink: own NET_RX, wakes openssl, a hundred times; CPU 1 runs openssl a while after each.
def talk(rounds: int = 20) -> tuple[Cpu, Cpu]:
    sender: list[h.Happening] = []
    receiver: list[h.Happening] = []
    for at in range(1_000, 1_000 * (rounds + 1), 1_000):
        sender += [
            h.BhDisable(at),
            h.SoftirqRaise(at + 5, NET_RX),
            h.BhEnable(at + 9),
            h.SoftirqEntry(at + 10, NET_RX),
            h.Waking(at + 50, OPENSSL, 1),
            h.NapiPoll(at + 100, "(no_device)", 1),
            h.SoftirqExit(at + 110, NET_RX),
        ]
        receiver += [
            h.Wakeup(at + 60, OPENSSL, 1),
            h.Switch(at + 80, OPENSSL),
            h.Switch(at + 280, h.idle(1), 1),
        ]
    end = 1_000 * (rounds + 1)
    sender.append(h.Waking(end, UDPSINK))
    receiver.append(h.SoftirqRaise(end, RCU))
    return cpu(0, *sender, task=UDPSINK), cpu(1, *receiver)
